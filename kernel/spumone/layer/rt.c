// SPDX-License-Identifier: GPL-2.0
/*
 * An RTOS: whether it wants to run, what is on its way to it, and what it asks for.  It goes
 * before Linux whenever it wants to (SPUMONE 2011, section 3), as far as its budget goes.
 */
#include "layer.h"

/* In what an RTOS wants, beside a bit for each interrupt: it does not wait for one. */
#define RT_RUNS		(1ull << 63)

/* Linux looks at it when it hears. */
static void rt_ring_host(struct layer_guest *g)
{
	u64 bell = LAYER_READ(g->shared->host_bell);

	if (bell)
		layer_arch_ring(bell);
}

/**
 * layer_rt_begin() - make an RTOS as new
 * @g: on no core
 * @start: its priority and budget; a copy
 */
void layer_rt_begin(struct layer_guest *g, const struct layer_rt_start *start)
{
	g->shared->rt = (struct layer_rt) { .state = LAYER_RT_RUNS };
	g->on = 1;
	g->wants = RT_RUNS;
	g->throttled = 0;
	g->deadline = 0;
	g->priority = start->priority;
	layer_budget_begin(g, start);
	layer_late_begin(g);
}

/**
 * layer_rt_end() - it runs no more
 * @g: it stays on its core until layer_guests_end()
 * @state: an enum layer_rt_state
 * @why: and what for; see struct layer_rt
 * @at: where it was
 * @info: what it touched
 */
void layer_rt_end(struct layer_guest *g, u64 state, u64 why, u64 at, u64 info)
{
	struct layer_rt *r = &g->shared->rt;

	g->on = 0;
	/* for good: nothing is raised for it any more */
	g->wants = 0;
	g->deadline = 0;
	g->throttled = 0;
	r->why = why;
	r->at = at;
	r->info = info;
	/* pairs with spumone_rt_state() */
	__atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
	if (state != LAYER_RT_NONE)
		rt_ring_host(g);
}

/**
 * layer_rt_enters() - it has the core from now on, until another one or Linux gets it
 * @g: gets the core
 * @masked: Linux, which had it, has interrupts disabled
 */
void layer_rt_enters(struct layer_guest *g, int masked)
{
	g->shared->rt.entered++;
	g->shared->rt.masked += masked;
	layer_budget_opens(g);
}

/**
 * layer_rt_leaves() - Linux goes on, whether or not it was away
 */
void layer_rt_leaves(void)
{
	layer_budget_closes();
}

/**
 * layer_rt_exited() - it was left
 * @g: had the core
 */
void layer_rt_exited(struct layer_guest *g)
{
	g->shared->rt.exits++;
	layer_late_exited(g);
}

/**
 * layer_rt_look() - its deadline may have come
 * @g: which
 * @now: in cycles
 *
 * Most of several have one that has not, so that is asked first.
 */
void layer_rt_look(struct layer_guest *g, u64 now)
{
	if ((s64)(now - g->deadline) >= 0 && g->deadline) {
		layer_late_due(g);
		g->deadline = 0;
		g->shared->rt.timers++;
		layer_rt_raise(g, SHIMOS_RT_TIMER);
	}
}

/**
 * layer_rt_ready() - could it have the core now?
 * @g: its budget may have come to its end, or be a new one
 * @now: in cycles
 */
int layer_rt_ready(struct layer_guest *g, u64 now)
{
	int throttled;

	if (!g->wants)
		return 0;
	throttled = !layer_budget_look(g, now);
	if (throttled && !g->throttled)
		g->shared->rt.throttled++;
	g->throttled = throttled;
	return !throttled;
}

/**
 * layer_rt_wakes() - while it does not have the core: when it may want it, if nothing else happens
 * @g: which
 *
 * Return: in cycles; 0: never.
 */
u64 layer_rt_wakes(const struct layer_guest *g)
{
	return g->throttled ? g->budget.next : g->deadline;
}

/**
 * layer_rt_runs_until() - while it has the core: when to look at it again
 * @g: which
 *
 * Return: in cycles; 0: never.
 */
u64 layer_rt_runs_until(const struct layer_guest *g)
{
	u64 end = layer_budget_end(g);

	return end && (!g->deadline || end < g->deadline) ? end : g->deadline;
}

/**
 * layer_rt_raise() - an interrupt is on its way to it, if it has not ended
 * @g: which
 * @vector: SHIMOS_RT_*, below 64
 */
void layer_rt_raise(struct layer_guest *g, unsigned int vector)
{
	if (g->on)
		g->wants |= 1ull << vector;
}

/**
 * layer_rt_rung() - its bell was rung, or that of another one here
 * @g: which
 */
void layer_rt_rung(struct layer_guest *g)
{
	g->shared->rt.bells += g->on;
	layer_rt_raise(g, SHIMOS_RT_BELL);
}

/**
 * layer_rt_take() - the most urgent interrupt that is on its way
 * @g: gets the core
 *
 * Return: its vector; it is not on its way any more.  -1: there is none.
 */
int layer_rt_take(struct layer_guest *g)
{
	u64 pending = g->wants & ~RT_RUNS;
	int vector;

	if (!pending)
		return -1;
	vector = __builtin_ctzll(pending);
	g->wants = (g->wants & ~(1ull << vector)) | RT_RUNS;
	layer_late_given(g);
	return vector;
}

/**
 * layer_rt_halt() - it waits for an interrupt
 * @g: had the core
 */
void layer_rt_halt(struct layer_guest *g)
{
	g->wants &= ~RT_RUNS;
}

/* One that is over already is late from now on: what was before is its own doing. */
static void rt_ask(struct layer_guest *g, u64 deadline)
{
	u64 now = layer_arch_now();

	g->deadline = deadline;
	if (deadline && (s64)(now - deadline) >= 0) {
		g->deadline = now;
		g->shared->rt.past++;
	}
}

/**
 * layer_rt_call() - what it asks the layer for
 * @g: has called
 * @number: an enum shimos_rt_call
 * @argument: of the call
 * @at: the address of its call
 *
 * Return: 0 or -1, for it.
 */
s64 layer_rt_call(struct layer_guest *g, u64 number, u64 argument, u64 at)
{
	switch (number) {
	case SHIMOS_RT_CALL_TIMER:
		rt_ask(g, argument);
		return 0;
	case SHIMOS_RT_CALL_READY:
		LAYER_WRITE(g->shared->rt.ready, 1);
		rt_ring_host(g);
		return 0;
	case SHIMOS_RT_CALL_RING:
		rt_ring_host(g);
		return 0;
	case SHIMOS_RT_CALL_END:
		layer_rt_end(g, LAYER_RT_ENDED, argument, at, 0);
		return 0;
	default:
		return -1;
	}
}
