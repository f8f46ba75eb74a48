/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software generated interrupts of a GICv3: from any CPU to any other, whatever kernel
 * either runs.  Linux uses the first eight between its own CPUs.  For KLoader, the agent
 * and IKC on arm64.
 */
#ifndef _SHIMOS_ARM64_SGI_H
#define _SHIMOS_ARM64_SGI_H

#include <linux/acpi.h>
#include <linux/bitfield.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqchip/arm-gic-v3.h>
#include <linux/irqdomain.h>
#include <linux/of.h>
#include <linux/string.h>
#include <asm/arch_gicv3.h>
#include <asm/cputype.h>

#define SHIMOS_SGI_FIRST	8	/* that is not Linux's own */
#define SHIMOS_SGI_LAST		15
#define SHIMOS_SGI_SPARE	7	/* the last of Linux's own: its debugger's, or nobody's */

/* The register has a bit for each CPU of a group of sixteen; not all can name a group. */
#define SHIMOS_SGI_GROUP	16

/**
 * shimos_sgi_this_cpu() - the number by which another CPU names this one
 *
 * Context: may not move to another CPU.
 */
static inline u64 shimos_sgi_this_cpu(void)
{
	return read_cpuid_mpidr() & MPIDR_HWID_BITMASK;
}

/**
 * shimos_sgi_reaches() - can a CPU be sent interrupts, if there is one that has this number?
 * @mpidr: anything
 *
 * Context: any.
 */
static inline bool shimos_sgi_reaches(u64 mpidr)
{
	return !(mpidr & ~MPIDR_HWID_BITMASK) &&
	       (MPIDR_AFFINITY_LEVEL(mpidr, 0) < SHIMOS_SGI_GROUP ||
		read_sysreg_s(SYS_ICC_CTLR_EL1) & ICC_CTLR_EL1_RSS);
}

/**
 * shimos_sgi_send() - interrupt a CPU
 * @mpidr: which, one that shimos_sgi_reaches()
 * @sgi: SHIMOS_SGI_SPARE to SHIMOS_SGI_LAST
 *
 * What was written before is visible first.
 *
 * Context: any, NMI included.
 */
static inline void shimos_sgi_send(u64 mpidr, u32 sgi)
{
	u64 cpu = MPIDR_AFFINITY_LEVEL(mpidr, 0);

	/* to all CPUs and devices; a write to this register waits for nothing else */
	wmb();
	gic_write_sgi1r(MPIDR_AFFINITY_LEVEL(mpidr, 3) << ICC_SGI1R_AFFINITY_3_SHIFT |
			cpu / SHIMOS_SGI_GROUP << ICC_SGI1R_RS_SHIFT |
			MPIDR_AFFINITY_LEVEL(mpidr, 2) << ICC_SGI1R_AFFINITY_2_SHIFT |
			(u64)sgi << ICC_SGI1R_SGI_ID_SHIFT |
			MPIDR_AFFINITY_LEVEL(mpidr, 1) << ICC_SGI1R_AFFINITY_1_SHIFT |
			BIT(cpu % SHIMOS_SGI_GROUP));
	isb();
}

static const struct irq_domain_ops shimos_sgi_no_ops __maybe_unused;

/**
 * shimos_sgi_acpi_gic() - the interrupt controller's name, with ACPI
 *
 * It is known to the kernel alone; but whoever makes a domain below it sees it.
 *
 * Context: may sleep.
 * Return: its name, or NULL.
 */
static inline struct fwnode_handle *shimos_sgi_acpi_gic(void)
{
	struct fwnode_handle *fwnode = irq_domain_alloc_named_fwnode("shimos-sgi"), *gic = NULL;
	struct irq_domain *below;

	if (!fwnode)
		return NULL;
	below = acpi_irq_create_hierarchy(0, 0, fwnode, &shimos_sgi_no_ops, NULL);
	if (below) {
		gic = below->parent->fwnode;
		irq_domain_remove(below);
	}
	irq_domain_free_fwnode(fwnode);
	return gic;
}

/**
 * shimos_sgi_gic() - the interrupt controller's name
 *
 * Context: may sleep.
 * Return: it, or NULL: there is none, or no memory.
 */
static inline struct fwnode_handle *shimos_sgi_gic(void)
{
	struct device_node *node;

	if (!acpi_disabled)
		return shimos_sgi_acpi_gic();
	node = of_find_compatible_node(NULL, NULL, "arm,gic-v3");
	of_node_put(node);	/* an interrupt controller's does not go away */
	return node ? of_fwnode_handle(node) : NULL;
}

/**
 * shimos_sgi_map() - what Linux calls an SGI
 * @sgi: SHIMOS_SGI_SPARE to SHIMOS_SGI_LAST
 *
 * It is one interrupt on all CPUs, for request_percpu_irq(); to be given back by
 * irq_dispose_mapping().
 *
 * Context: may sleep.
 * Return: the interrupt's number; -ENODEV: there is no GICv3; -ENOMEM
 */
static inline int shimos_sgi_map(u32 sgi)
{
	struct irq_fwspec fwspec = {
		.fwnode = shimos_sgi_gic(),
		.param_count = 1,
		.param = { sgi },
	};
	struct irq_data *data;
	const char *chip;
	unsigned int irq;

	if (!fwspec.fwnode)
		return -ENODEV;
	irq = irq_create_fwspec_mapping(&fwspec);
	if (!irq)
		return -ENOMEM;
	data = irq_get_irq_data(irq);
	chip = data ? irq_data_get_irq_chip(data)->name : NULL;
	/* an older one has SGIs, too, but no such register; it may have no name either */
	if (chip && !strcmp(chip, "GICv3"))
		return irq;
	irq_dispose_mapping(irq);
	return -ENODEV;
}

/**
 * shimos_sgi_heard() - does this CPU hear an SGI?
 * @irq: of shimos_sgi_map()
 *
 * Context: may not move to another CPU.
 */
static inline bool shimos_sgi_heard(unsigned int irq)
{
	bool masked;

	return !irq_get_irqchip_state(irq, IRQCHIP_STATE_MASKED, &masked) && !masked;
}

/**
 * shimos_sgi_enable() - let this CPU hear an SGI
 * @irq: of shimos_sgi_map(), requested
 *
 * Firmware may keep some for itself: to us they are always masked then.
 * Context: may not move to another CPU.
 * Return: whether it is heard
 */
static inline bool shimos_sgi_enable(unsigned int irq)
{
	enable_percpu_irq(irq, IRQ_TYPE_NONE);
	if (shimos_sgi_heard(irq))
		return true;
	disable_percpu_irq(irq);
	return false;
}

#endif
