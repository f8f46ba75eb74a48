// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells where the firmware keeps SGIs 8 to 15 for itself, as Trusted Firmware does: all of
 * them by the last of Linux's own eight.
 *
 * Older kernels do not use that one, so it is requested as any other.  Newer ones have it for their
 * debugger, to stop the other CPUs, and look whether it wants that whenever it comes; nothing
 * else happens.  A tracepoint tells of each interrupt whose handler is about to run.
 */
#include <linux/interrupt.h>
#include <linux/irqdomain.h>
#include <linux/percpu.h>
#include <shimos/arm64_sgi.h>
#include <shimos/tracepoints.h>

#include "sgi.h"

static unsigned int spare_irq;
static bool spare_ours;			/* requested; else it is the debugger's */
static DEFINE_PER_CPU(char, spare_cpu);	/* a handler has to have something of each CPU's */

/* What a bell is for is said elsewhere, so that one rings for nothing does no harm. */
static void spare_rang_all(void)
{
	arm64_bell_rang(ARM64_BELL_CONTROL);
	arm64_bell_rang(ARM64_BELL_QUEUE);
}

static irqreturn_t spare_rang(int irq, void *cpu)
{
	spare_rang_all();
	return IRQ_HANDLED;
}

static void spare_event(void *data, int irq, struct irqaction *action)
{
	if (irq == spare_irq)
		spare_rang_all();
}

static struct shimos_tracepoint spare_events[] = {
	{ "irq_handler_entry", spare_event },
};

static int spare_request(void)
{
	int irq = shimos_sgi_map(SHIMOS_SGI_SPARE), ret;
	const char *missing;

	if (irq < 0)
		return irq;
	spare_irq = irq;
	ret = request_percpu_irq(irq, spare_rang, "shimos-spare", &spare_cpu);
	spare_ours = !ret;
	if (spare_ours)
		return 0;
	return shimos_tracepoints_hear(spare_events, ARRAY_SIZE(spare_events), &missing);
}

/* Linux has mapped it, and keeps it. */
static void spare_release(void)
{
	if (spare_ours)
		free_percpu_irq(spare_irq, &spare_cpu);
	else
		shimos_tracepoints_leave(spare_events, ARRAY_SIZE(spare_events));
}

static bool spare_enable(void)
{
	return spare_ours ? shimos_sgi_enable(spare_irq) : shimos_sgi_heard(spare_irq);
}

static void spare_disable(void)
{
	if (spare_ours)
		disable_percpu_irq(spare_irq);
}

const struct arm64_bell_sgis arm64_spare_sgi = {
	.sgi		= {
		[ARM64_BELL_CONTROL]	= SHIMOS_SGI_SPARE,
		[ARM64_BELL_QUEUE]	= SHIMOS_SGI_SPARE,
	},
	.request	= spare_request,
	.release	= spare_release,
	.enable		= spare_enable,
	.disable	= spare_disable,
};
