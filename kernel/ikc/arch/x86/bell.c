// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell on x86: a vector of its own, taken from the kernel's vector
 * domain like any device interrupt, raised by a write to the sender's ICR.
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

#include "../../bell.h"

static struct fwnode_handle *bell_fwnode;
static struct irq_domain *bell_domain;
static int bell_irq;

static int bell_set_affinity(struct irq_data *data, const struct cpumask *mask,
			     bool force)
{
	int ret = irq_chip_set_affinity_parent(data, mask, force);

	if (ret >= 0 && irqd_is_activated(data))
		ikc_bell_moved();
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
	unsigned int i;
	int ret;

	ret = irq_domain_alloc_irqs_parent(domain, virq, count, arg);
	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		irq_domain_set_info(domain, virq + i, i, &bell_chip, NULL,
				    handle_edge_irq, NULL, "edge");
		/* else the first move waits for an interrupt to happen */
		irq_set_status_flags(virq + i, IRQ_MOVE_PCNTXT);
	}
	return 0;
}

static const struct irq_domain_ops bell_domain_ops = {
	.alloc	= bell_domain_alloc,
	.free	= irq_domain_free_irqs_common,
};

static irqreturn_t bell_interrupt(int irq, void *data)
{
	ikc_bell_rang();
	return IRQ_HANDLED;
}

void ikc_arch_bell_get(struct shimos_bell *bell)
{
	struct irq_data *data = irq_get_irq_data(bell_irq);
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

int ikc_arch_bell_init(void)
{
	struct irq_alloc_info info = {};
	int ret;

	bell_fwnode = irq_domain_alloc_named_fwnode("shimos-ikc");
	if (!bell_fwnode)
		return -ENOMEM;
	bell_domain = irq_domain_create_hierarchy(x86_vector_domain, 0, 1,
						  bell_fwnode, &bell_domain_ops,
						  NULL);
	if (!bell_domain) {
		ret = -ENOMEM;
		goto free_fwnode;
	}
	bell_irq = irq_domain_alloc_irqs(bell_domain, 1, NUMA_NO_NODE, &info);
	if (bell_irq < 0) {
		ret = bell_irq;
		goto remove_domain;
	}
	ret = request_irq(bell_irq, bell_interrupt, 0, "shimos-ikc", NULL);
	if (ret)
		goto free_irq;
	return 0;

free_irq:
	irq_dispose_mapping(bell_irq);
remove_domain:
	irq_domain_remove(bell_domain);
free_fwnode:
	irq_domain_free_fwnode(bell_fwnode);
	return ret;
}

void ikc_arch_bell_exit(void)
{
	free_irq(bell_irq, NULL);
	irq_dispose_mapping(bell_irq);
	irq_domain_remove(bell_domain);
	irq_domain_free_fwnode(bell_fwnode);
}
