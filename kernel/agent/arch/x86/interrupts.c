// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of given devices on a host that remaps interrupts.
 *
 * The host has made them: each is a message, a CPU and a vector, see KLoader's remap.c.  Here
 * the vectors are taken first, before anybody else can have them.  Then the kernel is told of
 * the devices' buses.  Drivers get their interrupts from a domain of ours, which has their
 * devices send those messages; when a vector comes, it is handed on.
 *
 * A vector cannot move to another CPU, for the host would not know.  Its CPU stays online as
 * long as a driver uses it.
 */
#include <linux/acpi.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <asm/apic.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>
#include <shimos/compat_x86_msi.h>

#include "../../agent.h"

/**
 * struct x86_interrupt - one that the host has made
 * @its: a copy of what the host says of it
 * @cpu: Linux's number of the CPU
 * @irq: Linux's number of the vector; 0: not taken; changed in hot-plug steps of that CPU only
 * @open: drivers can have it; x86_interrupts_lock
 * @user: Linux's number of the device's interrupt; 0: no driver has it; x86_interrupts_lock
 */
struct x86_interrupt {
	struct shimos_interrupt its;
	unsigned int cpu;
	int irq;
	bool open;
	unsigned int user;
};

static struct x86_interrupt *x86_interrupts;
static unsigned int x86_interrupt_count;
static struct irq_domain *x86_interrupt_domain;
static DEFINE_RAW_SPINLOCK(x86_interrupts_lock);	/* guards who uses which; see above */

/* ---- the vectors ---- */

static irqreturn_t x86_interrupt_came(int irq, void *data)
{
	unsigned int user = READ_ONCE(((struct x86_interrupt *)data)->user);

	if (user)
		generic_handle_irq(user);
	return IRQ_HANDLED;
}

static int x86_interrupt_alloc_vector(unsigned int cpu)
{
	struct irq_alloc_info info = { .mask = cpumask_of(cpu) };

	return irq_domain_alloc_irqs(x86_vector_domain, 1, NUMA_NO_NODE, &info);
}

/* The host's choice for this CPU with this vector, which is not taken yet, or NULL. */
static struct x86_interrupt *x86_interrupt_find(unsigned int cpu, u32 vector)
{
	struct x86_interrupt *i;

	for (i = x86_interrupts; i < x86_interrupts + x86_interrupt_count; i++)
		if (i->cpu == cpu && i->its.vector == vector && !i->irq)
			return i;
	return NULL;
}

static int x86_interrupt_take(struct x86_interrupt *i, int irq)
{
	int ret;

	irq_set_handler(irq, handle_edge_irq);
	irq_set_affinity(irq, cpumask_of(i->cpu));
	ret = request_irq(irq, x86_interrupt_came, IRQF_NOBALANCING | IRQF_NO_THREAD,
			  "shimos-message", i);
	if (ret)
		return ret;
	i->irq = irq;
	raw_spin_lock_irq(&x86_interrupts_lock);
	i->open = true;
	raw_spin_unlock_irq(&x86_interrupts_lock);
	return 0;
}

static unsigned int x86_interrupts_left(unsigned int cpu)
{
	unsigned int n, left = 0;

	for (n = 0; n < x86_interrupt_count; n++)
		left += x86_interrupts[n].cpu == cpu && !x86_interrupts[n].irq;
	return left;
}

/*
 * The vector domain chooses vectors by itself: have it give away all that are free, one after
 * the other, and keep those that the host has chosen.
 */
static int x86_interrupts_online(unsigned int cpu)
{
	unsigned int left = x86_interrupts_left(cpu), others = 0;
	struct x86_interrupt *i;
	int *other, irq;

	if (!left)
		return 0;
	other = kcalloc(NR_VECTORS, sizeof(*other), GFP_KERNEL);
	while (other && left && others < NR_VECTORS) {
		irq = x86_interrupt_alloc_vector(cpu);
		if (irq < 0)
			break;
		i = x86_interrupt_find(cpu, irqd_cfg(irq_get_irq_data(irq))->vector);
		if (i && !x86_interrupt_take(i, irq))
			left--;
		else
			other[others++] = irq;
	}
	while (others)
		irq_dispose_mapping(other[--others]);
	kfree(other);
	if (left)
		pr_err("CPU %u has other uses for %u of the vectors that the host has chosen for given devices\n",
		       cpu, left);
	return 0;
}

static bool x86_interrupts_close(unsigned int cpu)
{
	unsigned int n;
	bool used = false;

	raw_spin_lock_irq(&x86_interrupts_lock);
	for (n = 0; n < x86_interrupt_count; n++)
		used |= x86_interrupts[n].cpu == cpu && x86_interrupts[n].user;
	for (n = 0; n < x86_interrupt_count; n++)
		if (x86_interrupts[n].cpu == cpu && !used)
			x86_interrupts[n].open = false;
	raw_spin_unlock_irq(&x86_interrupts_lock);
	return !used;
}

static int x86_interrupts_offline(unsigned int cpu)
{
	struct x86_interrupt *i;

	if (!x86_interrupts_close(cpu)) {
		pr_notice("CPU %u stays: a given device interrupts it, and the host's remapping hardware leads its interrupts to no other CPU\n",
			  cpu);
		return -EBUSY;
	}
	for (i = x86_interrupts; i < x86_interrupts + x86_interrupt_count; i++) {
		if (i->cpu != cpu || !i->irq)
			continue;
		free_irq(i->irq, i);
		irq_dispose_mapping(i->irq);
		i->irq = 0;
	}
	return 0;
}

/* ---- the devices ---- */

static struct x86_interrupt *x86_interrupt_of(const struct pci_dev *pdev, unsigned int index)
{
	struct x86_interrupt *i;

	for (i = x86_interrupts; i < x86_interrupts + x86_interrupt_count; i++)
		if (i->its.segment == pci_domain_nr(pdev->bus) &&
		    i->its.bus == pdev->bus->number && i->its.devfn == pdev->devfn &&
		    i->its.index == index)
			return i;
	return NULL;
}

/* A driver that asks for more than there are is content with fewer. */
static int x86_interrupt_use(struct x86_interrupt *i, unsigned int user)
{
	int ret = -ENOSPC;

	raw_spin_lock_irq(&x86_interrupts_lock);
	if (i && i->open && !i->user) {
		WRITE_ONCE(i->user, user);
		ret = 0;
	}
	raw_spin_unlock_irq(&x86_interrupts_lock);
	return ret;
}

static void x86_interrupt_compose(struct irq_data *data, struct msi_msg *message)
{
	const struct x86_interrupt *i = irq_data_get_irq_chip_data(data);

	message->address_hi = upper_32_bits(i->its.address);
	message->address_lo = lower_32_bits(i->its.address);
	message->data = i->its.data;
}

/* Content with its CPU, and with no other. */
static int x86_interrupt_set_affinity(struct irq_data *data, const struct cpumask *mask,
				      bool force)
{
	const struct x86_interrupt *i = irq_data_get_irq_chip_data(data);

	if (!cpumask_test_cpu(i->cpu, mask))
		return -EINVAL;
	irq_data_update_effective_affinity(data, cpumask_of(i->cpu));
	return IRQ_SET_MASK_OK_NOCOPY;
}

/* That of the vector did. */
static void x86_interrupt_ack(struct irq_data *data)
{
}

static struct irq_chip x86_interrupt_chip = {
	.name			= "SHIMOS",
	.irq_ack		= x86_interrupt_ack,
	.irq_set_affinity	= x86_interrupt_set_affinity,
	.irq_compose_msi_msg	= x86_interrupt_compose,
	.flags			= IRQCHIP_SKIP_SET_WAKE,
};

static int x86_interrupt_alloc(struct irq_domain *domain, unsigned int virq,
			       unsigned int count, void *arg)
{
	const struct irq_alloc_info *info = arg;
	struct x86_interrupt *i;
	int ret;

	if (count != 1 || !info->desc)
		return -EINVAL;
	i = x86_interrupt_of(msi_desc_to_pci_dev(info->desc), info->desc->msi_index);
	ret = x86_interrupt_use(i, virq);
	if (ret)
		return ret;
	irq_domain_set_info(domain, virq, i - x86_interrupts, &x86_interrupt_chip, i,
			    handle_edge_irq, NULL, NULL);
	irq_data_update_effective_affinity(irq_domain_get_irq_data(domain, virq),
					   cpumask_of(i->cpu));
	return 0;
}

static void x86_interrupt_free(struct irq_domain *domain, unsigned int virq,
			       unsigned int count)
{
	struct irq_data *data = irq_domain_get_irq_data(domain, virq);
	struct x86_interrupt *i = irq_data_get_irq_chip_data(data);

	raw_spin_lock_irq(&x86_interrupts_lock);
	WRITE_ONCE(i->user, 0);
	raw_spin_unlock_irq(&x86_interrupts_lock);
	irq_domain_reset_irq_data(data);
}

static const struct irq_domain_ops x86_interrupt_domain_ops = {
	.alloc	= x86_interrupt_alloc,
	.free	= x86_interrupt_free,
};

/* Each device that is found, before it has a driver. */
static int x86_interrupts_on_device(struct notifier_block *block, unsigned long event, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (event == BUS_NOTIFY_ADD_DEVICE && x86_interrupt_of(pdev, 0))
		dev_set_msi_domain(&pdev->dev, x86_interrupt_domain);
	return NOTIFY_DONE;
}

static struct notifier_block x86_interrupts_block = {
	.notifier_call	= x86_interrupts_on_device,
};

/*
 * Have the kernel find the devices' buses, as if they had been plugged in.  The table stays
 * mapped, for it is used as long as they are there.
 */
static int x86_interrupts_load_buses(u64 addr)
{
	struct acpi_table_header *table = memremap(addr, sizeof(*table), MEMREMAP_WB);
	u32 len;
	int ret;

	if (!table)
		return -ENOMEM;
	len = table->length;
	memunmap(table);
	if (len < sizeof(*table) || len > SZ_64K)
		return -EPROTO;
	table = memremap(addr, len, MEMREMAP_WB);
	if (!table)
		return -ENOMEM;
	if (ACPI_FAILURE(acpi_load_table(table, NULL))) {
		memunmap(table);
		return -EPROTO;
	}
	acpi_scan_lock_acquire();
	ret = acpi_bus_scan(ACPI_ROOT_OBJECT);
	acpi_scan_lock_release();
	return ret;
}

/* ---- */

/* What the host says is read once. */
static int x86_interrupts_read(void)
{
	struct shimos_interrupts *all = (void *)agent_shared + SHIMOS_INTERRUPTS;
	unsigned int count = READ_ONCE(all->count), n;
	int cpu;

	if (count > SHIMOS_MAX_INTERRUPTS)
		return -EPROTO;
	if (!count)
		return 0;
	x86_interrupts = kcalloc(count, sizeof(*x86_interrupts), GFP_KERNEL);
	if (!x86_interrupts)
		return -ENOMEM;
	for (n = 0; n < count; n++) {
		x86_interrupts[n].its = all->list[n];
		cpu = agent_cpus_find(x86_interrupts[n].its.cpu);
		/* of a CPU that never comes online nothing is ever opened */
		x86_interrupts[n].cpu = cpu < 0 ? nr_cpu_ids : cpu;
	}
	x86_interrupt_count = count;
	return 0;
}

int agent_arch_take_interrupts(void)
{
	struct shimos_interrupts *all = (void *)agent_shared + SHIMOS_INTERRUPTS;
	struct fwnode_handle *fwnode;
	int ret = x86_interrupts_read(), state;

	if (ret || !x86_interrupt_count)
		return ret;
	ret = -ENOMEM;
	fwnode = irq_domain_alloc_named_fwnode("shimos-pci");
	if (!fwnode)
		goto free;
	x86_interrupt_domain = compat_create_msi_domain(fwnode, x86_interrupt_count,
							&x86_interrupt_domain_ops);
	if (!x86_interrupt_domain)
		goto free_fwnode;
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "shimos:interrupts", x86_interrupts_online,
				  x86_interrupts_offline);
	ret = state;
	if (ret < 0)
		goto remove_domain;
	ret = bus_register_notifier(&pci_bus_type, &x86_interrupts_block);
	if (ret)
		goto remove_state;
	ret = x86_interrupts_load_buses(READ_ONCE(all->buses));
	if (!ret)
		return 0;
	bus_unregister_notifier(&pci_bus_type, &x86_interrupts_block);
remove_state:
	cpuhp_remove_state(state);
remove_domain:
	compat_remove_msi_domain(x86_interrupt_domain);
free_fwnode:
	irq_domain_free_fwnode(fwnode);
free:
	x86_interrupt_count = 0;
	kfree(x86_interrupts);
	return ret;
}
