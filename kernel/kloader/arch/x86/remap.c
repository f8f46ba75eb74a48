// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of given devices on a host that remaps interrupts.
 *
 * There a device's message names an entry of the host's table, and the entry says
 * which CPU gets which vector.  A partition knows of no such table.  So the host has an
 * entry made for each interrupt that the device may want, has it lead to a CPU of the
 * partition, and tells the partition by which message the device asks for it.
 * The hardware takes the message for an entry from one device only: a device reaches
 * CPUs of its partition, and no others.
 *
 * An entry is that of an ordinary interrupt of the host, which is never started there,
 * so that the host does not move it.
 */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <asm/apic.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>

#include "arch.h"
#include "pci.h"

/*
 * The first vector of a given device's on each CPU.  A partition's kernel hands out vectors from
 * the lowest one on, and has its agent before it has drivers: there are enough below.
 */
#define X86_REMAP_VECTOR	0x50

/* With posted messages an entry names no vector, but where a CPU of the host keeps notes. */
#define X86_REMAP_POSTED	"INTEL-IR-POST"

/*
 * Do its messages go to the CPU that they name, or does a table decide?  What makes
 * messages hands them on, on kernels before 6.3 by a domain of its own for PCI, to
 * the vectors of the CPUs, or to the remapping hardware in between.
 */
static bool x86_remap_is_on(struct pci_dev *pdev)
{
	struct irq_domain *domain = dev_get_msi_domain(&pdev->dev);

	if (domain && domain->flags & IRQ_DOMAIN_FLAG_MSI)
		domain = domain->parent;
	return domain && domain != x86_vector_domain;
}

/**
 * x86_remap_check() - can this device's interrupts reach a partition?
 * @pdev: which
 * @c: why not
 *
 * A logical destination is what a CPU's own kernel has told its APIC, and an entry has the kind
 * that the host's kernel uses for all.
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP.
 */
int x86_remap_check(struct pci_dev *pdev, struct complaint *c)
{
	if (!x86_remap_is_on(pdev) || !apic->dest_mode_logical)
		return 0;
	return shimos_refuse(c, -EOPNOTSUPP,
			     "the host remaps interrupts to logical destinations, which those of %s cannot have in a partition: add %s to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and restart the machine",
			     pci_name(pdev), x2apic_enabled() ? "x2apic_phys" : "intremap=off");
}

/* The device stands still and its interrupts are not started. */
static irqreturn_t x86_remap_interrupt(int irq, void *data)
{
	return IRQ_NONE;
}

/* How many there are on a CPU already. */
static u32 x86_remap_count_on(const struct passthrough *d, u64 cpu)
{
	const struct passthrough *other;
	unsigned int i;
	u32 count = 0;

	list_for_each_entry(other, &d->p->passthrough, link)
		for (i = 0; i < other->interrupt_count; i++)
			count += other->interrupts[i].cpu == cpu;
	for (i = 0; i < d->interrupt_count; i++)
		count += d->interrupts[i].cpu == cpu;
	return count;
}

/*
 * Drivers have the first for the device as a whole and the others for queues, of which each
 * CPU gets one in its turn.
 */
static u64 x86_remap_cpu(const struct partition *p, unsigned int index)
{
	return p->hardware_ids[index ? (index - 1) % p->cpu_count : 0];
}

/*
 * Linux has no call by which an entry would get a destination that is no CPU of its own.
 * It makes entries of what irqd_cfg() points to, which anybody may read: it is written here,
 * and the entry is made anew for the CPU that the interrupt has already.
 */
static int x86_remap_aim(unsigned int irq, const struct shimos_interrupt *to)
{
	struct irq_data *data = irq_get_irq_data(irq);
	struct irq_cfg *cfg = irqd_cfg(data);
	unsigned int cpu;
	int ret;

	if (!cfg || !data->parent_data || !strcmp(data->parent_data->chip->name, X86_REMAP_POSTED))
		return -EOPNOTSUPP;
	cpus_read_lock();	/* else it could have to leave that CPU */
	cpu = cpumask_first(irq_data_get_effective_affinity_mask(data));
	cfg->dest_apicid = to->cpu;
	cfg->vector = to->vector;
	ret = irq_set_affinity(irq, cpumask_of(cpu));
	if (!ret && (cfg->dest_apicid != to->cpu || cfg->vector != to->vector))
		ret = -EOPNOTSUPP;
	cpus_read_unlock();
	return ret;
}

static int x86_remap_add(struct passthrough *d)
{
	unsigned int index = d->interrupt_count;
	struct shimos_interrupt *its = &d->interrupts[index];
	unsigned int irq = pci_irq_vector(d->pdev, index);
	struct msi_msg message;
	int ret;

	/* users and their programs do not move it either */
	ret = request_irq(irq, x86_remap_interrupt, IRQF_NO_AUTOEN | IRQF_NOBALANCING,
			  "shimos-message", d);
	if (ret)
		return ret;
	*its = (struct shimos_interrupt) {
		.cpu = x86_remap_cpu(d->p, index),
		.segment = x86_pci_segment_of(d->pdev->bus),
		.bus = d->pdev->bus->number,
		.devfn = d->pdev->devfn,
		.index = index,
	};
	its->vector = X86_REMAP_VECTOR + x86_remap_count_on(d, its->cpu);
	ret = x86_remap_aim(irq, its);
	if (ret) {
		free_irq(irq, d);
		return ret;
	}
	get_cached_msi_msg(irq, &message);
	its->address = (u64)message.address_hi << 32 | message.address_lo;
	its->data = message.data;
	d->interrupt_count++;
	return 0;
}

int kloader_arch_open_interrupts(struct passthrough *d, struct complaint *c)
{
	unsigned int wanted = min(1 + d->p->cpu_count, (u32)SHIMOS_DEVICE_INTERRUPTS);
	int count, ret = 0;

	if (!x86_remap_is_on(d->pdev))
		return 0;
	count = pci_alloc_irq_vectors(d->pdev, 1, wanted, PCI_IRQ_MSI | PCI_IRQ_MSIX);
	if (count < 0)
		return shimos_refuse(c, count, "the host cannot make interrupts for %s (error %d)",
				     pci_name(d->pdev), count);
	d->has_messages = true;
	while (!ret && d->interrupt_count < count)
		ret = x86_remap_add(d);
	if (ret)
		return shimos_refuse(c, ret,
				     "the host's kernel cannot have its remapping hardware lead interrupts of %s to a partition (error %d): add intremap=off to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and restart the machine",
				     pci_name(d->pdev), ret);
	return 0;
}

void kloader_arch_close_interrupts(struct passthrough *d)
{
	/* of one that was unplugged they have gone already, and it may be somebody else's */
	if (!d->has_messages)
		return;
	while (d->interrupt_count)
		free_irq(pci_irq_vector(d->pdev, --d->interrupt_count), d);
	pci_free_irq_vectors(d->pdev);
	d->has_messages = false;
}

/**
 * x86_remap_has_any() - has a partition devices whose interrupts the host has made?
 * @p: whose
 *
 * Context: p->mutex is held.
 */
bool x86_remap_has_any(const struct partition *p)
{
	const struct passthrough *d;

	list_for_each_entry(d, &p->passthrough, link)
		if (d->interrupt_count)
			return true;
	return false;
}

/**
 * x86_remap_describe() - tell a partition of its devices' interrupts
 * @p: about to start, has some; its shared area says that there are none
 * @buses: physical address of the table with their buses
 *
 * Context: may sleep; p->mutex is held.
 */
void x86_remap_describe(struct partition *p, u64 buses)
{
	struct shimos_interrupts *all = (void *)p->shared + SHIMOS_INTERRUPTS;
	struct passthrough *d;
	u32 count = 0;

	list_for_each_entry(d, &p->passthrough, link) {
		memcpy(&all->list[count], d->interrupts, d->interrupt_count * sizeof(*d->interrupts));
		count += d->interrupt_count;
	}
	all->buses = buses;
	all->count = count;
}
