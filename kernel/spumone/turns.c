// SPDX-License-Identifier: GPL-2.0
/*
 * Which RTOS is on which CPU.  The layer has them while they run; what is here says so to
 * it, on the CPU where it is to happen.
 *
 * All here runs under see launch_cpus.
 */
#include <linux/workqueue.h>
#include <asm/tsc.h>

#include "spumone.h"

#define TURNS_ROUNDS	8	/* of a measurement */

struct turns_call {
	enum layer_call call;
	u64 argument;
};

static long turns_call_work(void *arg)
{
	const struct turns_call *c = arg;

	spumone_arch_call(c->call, c->argument);
	return 0;
}

static void turns_call(unsigned int cpu, enum layer_call call, u64 argument)
{
	struct turns_call c = { call, argument };

	work_on_cpu(cpu, turns_call_work, &c);
}

/*
 * An exit costs more than the layer can see between its own first and last instruction.  The
 * quickest of some is the one that nothing else came into.
 */
static u64 turns_unseen(struct spumone_guest *g)
{
	u64 began, seen, took, least = U64_MAX;
	unsigned long flags;
	int i;

	local_irq_save(flags);
	for (i = 0; i < TURNS_ROUNDS; i++) {
		seen = READ_ONCE(g->shared->rt.cycles);
		began = rdtsc_ordered();
		spumone_arch_call(LAYER_CALL_RT_CHARGE, g->number);
		took = rdtsc_ordered() - began;
		seen = READ_ONCE(g->shared->rt.cycles) - seen;
		least = min(least, took - seen);
	}
	local_irq_restore(flags);
	return least;
}

static long turns_begin_work(void *arg)
{
	struct spumone_guest *g = arg;

	g->start.unseen = turns_unseen(g);
	g->shared->start = g->start;
	spumone_arch_call(LAYER_CALL_RT_START, g->number);
	return 0;
}

static void turns_forget(struct spumone_guest *g)
{
	g->runs = false;
	if (g->hidden)
		protect_shrink();
	guest_free(g);
}

/**
 * turns_begin() - an RTOS runs
 * @g: made by guest_make()
 * @c: why not; then it is as before guest_make()
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int turns_begin(struct spumone_guest *g, struct complaint *c)
{
	g->runs = true;
	if (g->hidden && protect_renew()) {
		turns_forget(g);
		return shimos_refuse(c, -ENOMEM, "the host has no memory left for page tables");
	}
	work_on_cpu(g->cpu, turns_begin_work, g);
	return 0;
}

/**
 * turns_end() - an RTOS runs no more, and nothing of it is the layer's
 * @g: it may have ended by itself
 *
 * Context: may sleep.
 */
void turns_end(struct spumone_guest *g)
{
	turns_call(g->cpu, LAYER_CALL_RT_STOP, g->number);
	turns_forget(g);
}

/**
 * turns_end_all() - turns_end() for all of a CPU's
 * @cpu: whose
 *
 * Context: may sleep.
 */
void turns_end_all(unsigned int cpu)
{
	struct spumone_guest *g;

	for (g = guest_table; g < guest_table + LAYER_GUESTS; g++)
		if (g->runs && g->cpu == cpu)
			turns_end(g);
}

/**
 * turns_any() - does any RTOS run on a CPU?
 * @cpu: which; may be about to come or go
 *
 * Context: may sleep.
 */
bool turns_any(unsigned int cpu)
{
	const struct spumone_guest *g;

	for (g = guest_table; g < guest_table + LAYER_GUESTS; g++)
		if (g->runs && g->cpu == cpu)
			return true;
	return false;
}

/**
 * turns_move() - an RTOS shares another CPU from now on
 * @g: it may have ended by itself
 * @cpu: the layer is under it, and has the timer; it may be where it is already
 *
 * Context: may sleep.
 */
void turns_move(struct spumone_guest *g, unsigned int cpu)
{
	unsigned int from = g->cpu;

	/* whoever rings it from now on does so there: if that is too early, it finds out by itself */
	WRITE_ONCE(g->cpu, cpu);
	if (!g->runs)
		return;
	WRITE_ONCE(g->shared->move.core, cpu);
	WRITE_ONCE(g->shared->move.bell, spumone_arch_bell(spumone_arch_rt_bell(cpu)));
	turns_call(from, LAYER_CALL_RT_SEND, g->number);
	/* it was told by the bell; after this it has arrived for sure */
	turns_call(cpu, LAYER_CALL_RT_RECEIVE, 0);
	/* and looks at whatever it was rung for meanwhile */
	spumone_arch_ring(cpu);
}

/**
 * turns_priority() - an RTOS goes before others as urgently as this from now on
 * @g: it may have ended by itself
 * @priority: it has been checked
 *
 * Context: may sleep.
 */
void turns_priority(struct spumone_guest *g, u32 priority)
{
	/* of its next start, too */
	g->share.priority = priority;
	if (!g->runs)
		return;
	WRITE_ONCE(g->shared->start.priority, priority);
	turns_call(g->cpu, LAYER_CALL_RT_PRIORITY, g->number);
}
