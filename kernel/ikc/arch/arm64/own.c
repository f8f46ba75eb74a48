// SPDX-License-Identifier: GPL-2.0
/* Doorbells by two SGIs that Linux does not use: one for control, one for all queues. */
#include <linux/interrupt.h>
#include <linux/irqdomain.h>
#include <linux/percpu.h>
#include <shimos/arm64_sgi.h>

#include "sgi.h"

static unsigned int own_irqs[ARM64_BELL_KINDS];
static DEFINE_PER_CPU(char, own_cpu);	/* a handler has to have something of each CPU's */

static irqreturn_t own_rang(int irq, void *cpu)
{
	arm64_bell_rang(irq == own_irqs[ARM64_BELL_CONTROL] ? ARM64_BELL_CONTROL :
							      ARM64_BELL_QUEUE);
	return IRQ_HANDLED;
}

static int own_request_kind(enum arm64_bell_kind kind, const char *name)
{
	int irq = shimos_sgi_map(arm64_own_sgis.sgi[kind]), ret;

	if (irq < 0)
		return irq;
	own_irqs[kind] = irq;
	ret = request_percpu_irq(irq, own_rang, name, &own_cpu);
	if (ret)
		irq_dispose_mapping(irq);
	return ret;
}

static void own_release_kind(enum arm64_bell_kind kind)
{
	free_percpu_irq(own_irqs[kind], &own_cpu);
	irq_dispose_mapping(own_irqs[kind]);
}

static int own_request(void)
{
	int ret = own_request_kind(ARM64_BELL_CONTROL, "shimos-control");

	if (ret)
		return ret;
	ret = own_request_kind(ARM64_BELL_QUEUE, "shimos-ikc");
	if (ret)
		own_release_kind(ARM64_BELL_CONTROL);
	return ret;
}

static void own_release(void)
{
	own_release_kind(ARM64_BELL_QUEUE);
	own_release_kind(ARM64_BELL_CONTROL);
}

static bool own_enable(void)
{
	if (!shimos_sgi_enable(own_irqs[ARM64_BELL_CONTROL]))
		return false;
	if (shimos_sgi_enable(own_irqs[ARM64_BELL_QUEUE]))
		return true;
	disable_percpu_irq(own_irqs[ARM64_BELL_CONTROL]);
	return false;
}

static void own_disable(void)
{
	disable_percpu_irq(own_irqs[ARM64_BELL_QUEUE]);
	disable_percpu_irq(own_irqs[ARM64_BELL_CONTROL]);
}

const struct arm64_bell_sgis arm64_own_sgis = {
	.sgi		= {
		[ARM64_BELL_CONTROL]	= SHIMOS_SGI_FIRST,
		[ARM64_BELL_QUEUE]	= SHIMOS_SGI_FIRST + 1,
	},
	.request	= own_request,
	.release	= own_release,
	.enable		= own_enable,
	.disable	= own_disable,
};
