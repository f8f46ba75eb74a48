// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells on x86: vectors of their own, taken from the kernel's vector domain
 * like any device's interrupts, raised by a write to the sender's ICR.
 *
 * The vector domain is hierarchical: ours is its child.  An interrupt that is
 * activated has a vector on one CPU; the kernel moves it like any other when
 * that CPU goes offline, and we publish the new place.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <asm/apic.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>
#include <asm/smp.h>

#include "../../local.h"

static struct fwnode_handle *bell_fwnode;
static struct irq_domain *bell_domain;
static unsigned int bell_count;
static int bell_irqs[1 + IKC_MAX_BELLS];	/* by number */

static int bell_set_affinity(struct irq_data *data, const struct cpumask *mask,
			     bool force)
{
	int ret = irq_chip_set_affinity_parent(data, mask, force);

	if (ret >= 0 && irqd_is_activated(data))
		ikc_bell_moved(irqd_to_hwirq(data));
	return ret;
}

static struct irq_chip bell_chip = {
	.name			= "IKC",
	.irq_ack		= irq_chip_ack_parent,
	.irq_set_affinity	= bell_set_affinity,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.flags			= IRQCHIP_SKIP_SET_WAKE,
};

static int bell_domain_alloc(struct irq_domain *domain, unsigned int virq,
			     unsigned int count, void *arg)
{
	int ret;

	ret = irq_domain_alloc_irqs_parent(domain, virq, count, arg);
	if (ret)
		return ret;
	/* one at a time: add_bell() */
	irq_domain_set_info(domain, virq, bell_count, &bell_chip, NULL,
			    handle_edge_irq, NULL, "edge");
	/* else the first move waits for an interrupt to happen */
	irq_set_status_flags(virq, IRQ_MOVE_PCNTXT);
	return 0;
}

static const struct irq_domain_ops bell_domain_ops = {
	.alloc	= bell_domain_alloc,
	.free	= irq_domain_free_irqs_common,
};

static irqreturn_t bell_interrupt(int irq, void *data)
{
	ikc_bell_rang((unsigned long)data);
	return IRQ_HANDLED;
}

void ikc_arch_bell_get(unsigned int number, struct shimos_bell *bell)
{
	struct irq_data *data = irq_get_irq_data(bell_irqs[number]);
	const struct cpumask *mask = irq_data_get_effective_affinity_mask(data);
	unsigned int cpu = cpumask_first(mask);

	*bell = (struct shimos_bell){};
	if (cpu >= nr_cpu_ids)
		return;
	/* irq_cfg's destination is a logical mask on a flat APIC: not that */
	bell->cpu = per_cpu(x86_cpu_to_apicid, cpu);
	bell->vector = irqd_cfg(data)->vector;
	bell->ready = bell->vector >= FIRST_EXTERNAL_VECTOR;
}

bool ikc_arch_bell_valid(const struct shimos_bell *bell)
{
	/* never a vector that the CPU or Linux uses for itself */
	return bell->vector >= FIRST_EXTERNAL_VECTOR &&
	       bell->vector < LOCAL_TIMER_VECTOR && bell->cpu < 0xff;
}

void ikc_arch_bell_ring(const struct shimos_bell *bell)
{
	/* what the peer wrote before must be visible before the interrupt */
	wmb();
	apic->icr_write(APIC_DM_FIXED | APIC_DEST_PHYSICAL | bell->vector,
			bell->cpu);
}

/* The next bell, on the next CPU: the kernel would put all on the first. */
static int add_bell(void)
{
	unsigned int cpu = cpumask_local_spread(bell_count, NUMA_NO_NODE);
	struct irq_alloc_info info = {};
	int irq, ret;

	irq = irq_domain_alloc_irqs(bell_domain, 1, NUMA_NO_NODE, &info);
	if (irq < 0)
		return irq;
	bell_irqs[bell_count] = irq;
	/* a wish, before it has a vector, so that nothing has to move */
	irq_set_affinity(irq, cpumask_of(cpu));
	ret = request_irq(irq, bell_interrupt, 0,
			  bell_count == IKC_CONTROL_BELL ? "shimos-control" : "shimos-ikc",
			  (void *)(unsigned long)bell_count);
	if (ret) {
		irq_dispose_mapping(irq);
		return ret;
	}
	bell_count++;
	return 0;
}

int ikc_arch_bells_init(unsigned int count)
{
	int ret = -ENOMEM;

	bell_fwnode = irq_domain_alloc_named_fwnode("shimos-ikc");
	if (!bell_fwnode)
		return ret;
	bell_domain = irq_domain_create_hierarchy(x86_vector_domain, 0, count,
						  bell_fwnode, &bell_domain_ops,
						  NULL);
	if (!bell_domain)
		goto free_fwnode;
	while (bell_count < count) {
		ret = add_bell();
		if (ret) {
			ikc_arch_bells_exit();
			return ret;
		}
	}
	return 0;

free_fwnode:
	irq_domain_free_fwnode(bell_fwnode);
	return ret;
}

void ikc_arch_bells_exit(void)
{
	while (bell_count) {
		bell_count--;
		free_irq(bell_irqs[bell_count], (void *)(unsigned long)bell_count);
		irq_dispose_mapping(bell_irqs[bell_count]);
	}
	irq_domain_remove(bell_domain);
	irq_domain_free_fwnode(bell_fwnode);
}
