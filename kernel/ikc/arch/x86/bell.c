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
#include <asm/i8259.h>
#include <asm/irqdomain.h>
#include <asm/smp.h>
#include <shimos/compat.h>
#include <shimos/layer_abi.h>
#include <shimos/x86_icr.h>

#include "../../local.h"

/* What an APIC in xAPIC mode can name, but for the broadcast. */
#define X86_BELL_CPUS	0xff

static const struct ikc_arch_bell_user *x86_bell_user;
static struct fwnode_handle *x86_bell_fwnode;
static struct irq_domain *x86_bell_domain;
static unsigned int x86_bell_count;
static int x86_bell_irqs[1 + IKC_MAX_BELLS];	/* by number */

/* A partition's APICs are in xAPIC mode: it cannot ring a CPU whose id is longer. */
static bool x86_bell_can_be_on(unsigned int cpu)
{
	return per_cpu(x86_cpu_to_apicid, cpu) < X86_BELL_CPUS;
}

static unsigned int x86_bell_first_of(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu_and(cpu, mask, cpu_online_mask)
		if (x86_bell_can_be_on(cpu))
			break;
	return cpu;
}

static bool x86_bell_all_can(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu_and(cpu, mask, cpu_online_mask)
		if (!x86_bell_can_be_on(cpu))
			return false;
	return true;
}

/* Of CPUs that somebody has chosen one that all can ring, if some cannot; at worst another. */
static const struct cpumask *x86_bell_within(const struct cpumask *mask)
{
	unsigned int cpu;

	if (x86_bell_all_can(mask))
		return mask;
	cpu = x86_bell_first_of(mask);
	if (cpu >= nr_cpu_ids)
		cpu = x86_bell_first_of(cpu_online_mask);
	return cpu < nr_cpu_ids ? cpumask_of(cpu) : mask;
}

static int x86_bell_set_affinity(struct irq_data *data, const struct cpumask *mask,
				 bool force)
{
	int ret = irq_chip_set_affinity_parent(data, x86_bell_within(mask), force);

	if (ret >= 0 && irqd_is_activated(data))
		x86_bell_user->moved(irqd_to_hwirq(data));
	return ret;
}

static struct irq_chip x86_bell_chip = {
	.name			= "IKC",
	.irq_ack		= irq_chip_ack_parent,
	.irq_set_affinity	= x86_bell_set_affinity,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.flags			= IRQCHIP_SKIP_SET_WAKE,
};

static int x86_bell_alloc(struct irq_domain *domain, unsigned int virq,
			  unsigned int count, void *arg)
{
	int ret;

	ret = irq_domain_alloc_irqs_parent(domain, virq, count, arg);
	if (ret)
		return ret;
	/* one at a time: x86_bell_add() */
	irq_domain_set_info(domain, virq, x86_bell_count, &x86_bell_chip, NULL,
			    handle_edge_irq, NULL, "edge");
	compat_irq_move_at_once(virq);
	return 0;
}

static const struct irq_domain_ops x86_bell_domain_ops = {
	.alloc	= x86_bell_alloc,
	.free	= irq_domain_free_irqs_common,
};

static irqreturn_t x86_bell_interrupt(int irq, void *data)
{
	x86_bell_user->rang((unsigned long)data);
	return IRQ_HANDLED;
}

u64 ikc_arch_bell_get(unsigned int number)
{
	struct irq_data *data = irq_get_irq_data(x86_bell_irqs[number]);
	const struct cpumask *mask = irq_data_get_effective_affinity_mask(data);
	unsigned int cpu = cpumask_first(mask);
	u32 vector = irqd_cfg(data)->vector;

	if (cpu >= nr_cpu_ids || vector < FIRST_EXTERNAL_VECTOR)
		return 0;
	/* irq_cfg's destination is a logical mask on a flat APIC: not that */
	return SHIMOS_BELL(per_cpu(x86_cpu_to_apicid, cpu), vector);
}

/* Is it one, on a CPU that can be named? */
static bool x86_bell_is_placed(u64 bell)
{
	return bell & SHIMOS_BELL_READY && SHIMOS_BELL_CPU(bell) < X86_BELL_CPUS;
}

/*
 * Not the vector of system calls, at which 6.1 takes a CPU that runs in the kernel for
 * one that runs a program, nor those above the devices'.  Nor the one that Linux keeps on
 * every CPU for the PIC's cascade: its handler never ends the interrupt in the APIC, so
 * that all below wait for ever.  All others may be a bell's: even those of the other legacy
 * interrupts, which are given away on other CPUs than the first.  At one that is nobody's,
 * Linux says so in its log and goes on.
 */
bool ikc_arch_bell_valid(u64 bell)
{
	u32 vector = SHIMOS_BELL_VECTOR(bell);

	return x86_bell_is_placed(bell) &&
	       vector >= FIRST_EXTERNAL_VECTOR && vector < LOCAL_TIMER_VECTOR &&
	       vector != IA32_SYSCALL_VECTOR && vector != ISA_IRQ_VECTOR(PIC_CASCADE_IR);
}

/* On a CPU without a layer, Linux has a handler for it that does nothing. */
bool ikc_arch_bell_is_layers(u64 bell)
{
	return x86_bell_is_placed(bell) && SHIMOS_BELL_VECTOR(bell) == LAYER_BELL_VECTOR;
}

void ikc_arch_bell_ring(u64 bell)
{
	/* what the peer shall see must be visible before the interrupt */
	wmb();
	shimos_icr_send(SHIMOS_BELL_CPU(bell),
			APIC_DM_FIXED | APIC_DEST_PHYSICAL | SHIMOS_BELL_VECTOR(bell));
}

/*
 * The CPU of the next bell: the kernel would put all on the first.  The first queue bell
 * shares its CPU with the control bell, so that bell n + 1 is CPU n's.  That of a CPU
 * that cannot be rung is on the next one.
 */
static unsigned int x86_bell_place(void)
{
	unsigned int first = max(x86_bell_count, 1U) - 1, i, cpu;

	for (i = 0; i < num_online_cpus(); i++) {
		cpu = cpumask_local_spread(first + i, NUMA_NO_NODE);
		if (x86_bell_can_be_on(cpu))
			return cpu;
	}
	return cpumask_local_spread(first, NUMA_NO_NODE);
}

static int x86_bell_add(void)
{
	unsigned int cpu = x86_bell_place();
	struct irq_alloc_info info = {};
	int irq, ret;

	irq = irq_domain_alloc_irqs(x86_bell_domain, 1, NUMA_NO_NODE, &info);
	if (irq < 0)
		return irq;
	x86_bell_irqs[x86_bell_count] = irq;
	/* a wish, before it has a vector, so that nothing has to move */
	irq_set_affinity(irq, cpumask_of(cpu));
	ret = request_irq(irq, x86_bell_interrupt, 0,
			  x86_bell_count == IKC_CONTROL_BELL ? "shimos-control" : "shimos-ikc",
			  (void *)(unsigned long)x86_bell_count);
	if (ret) {
		irq_dispose_mapping(irq);
		return ret;
	}
	x86_bell_count++;
	return 0;
}

int ikc_arch_bells_init(unsigned int count, const struct ikc_arch_bell_user *user)
{
	int ret = -ENOMEM;

	x86_bell_user = user;
	x86_bell_fwnode = irq_domain_alloc_named_fwnode("shimos-ikc");
	if (!x86_bell_fwnode)
		return ret;
	x86_bell_domain = irq_domain_create_hierarchy(x86_vector_domain, 0, count,
						      x86_bell_fwnode, &x86_bell_domain_ops,
						      NULL);
	if (!x86_bell_domain)
		goto free_fwnode;
	while (x86_bell_count < count) {
		ret = x86_bell_add();
		if (ret) {
			ikc_arch_bells_exit();
			return ret;
		}
	}
	return 0;

free_fwnode:
	irq_domain_free_fwnode(x86_bell_fwnode);
	return ret;
}

void ikc_arch_bells_exit(void)
{
	while (x86_bell_count) {
		x86_bell_count--;
		free_irq(x86_bell_irqs[x86_bell_count], (void *)(unsigned long)x86_bell_count);
		irq_dispose_mapping(x86_bell_irqs[x86_bell_count]);
	}
	irq_domain_remove(x86_bell_domain);
	irq_domain_free_fwnode(x86_bell_fwnode);
}
