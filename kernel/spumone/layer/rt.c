// SPDX-License-Identifier: GPL-2.0
/*
 * The RTOS on this core: whether it wants to run, what is on its way to it, and what it
 * asks for.  It goes before Linux whenever it wants to (SPUMONE 2011, section 3), as far
 * as its budget goes.
 */
#include "layer.h"

static int rt_on;		/* there is one, and it has not ended */
static int rt_halted;		/* waits for an interrupt */
static u64 rt_deadline;		/* when it wants its timer interrupt, in cycles; 0: never */
static u64 rt_pending;		/* interrupts on their way: a bit a vector */
static int rt_throttled;	/* it wants to run, and its budget is used up */

static struct layer_rt *rt(void)
{
	return &layer_shared()->rt;
}

/* Linux looks at it when it hears. */
static void rt_ring_host(void)
{
	u64 bell = LAYER_READ(layer_shared()->host_bell);

	if (bell)
		layer_arch_ring(bell);
}

/* As new. */
void layer_rt_begin(const struct layer_rt_start *start)
{
	struct layer_rt *r = rt();

	*r = (struct layer_rt) { .state = LAYER_RT_RUNS };
	rt_on = 1;
	rt_halted = 0;
	rt_deadline = 0;
	rt_pending = 0;
	rt_throttled = 0;
	layer_budget_begin(start);
	layer_late_begin();
}

/**
 * layer_rt_end() - it runs no more
 * @state: an enum layer_rt_state
 * @why: and what for; see struct layer_rt
 * @at: where it was
 * @info: what it touched
 */
void layer_rt_end(u64 state, u64 why, u64 at, u64 info)
{
	struct layer_rt *r = rt();

	rt_on = 0;
	rt_deadline = 0;
	rt_pending = 0;
	rt_throttled = 0;
	r->why = why;
	r->at = at;
	r->info = info;
	/* pairs with spumone_rt_state() */
	__atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
	if (state != LAYER_RT_NONE)
		rt_ring_host();
}

static int rt_ready(void)
{
	return rt_on && (!rt_halted || rt_pending);
}

/* Its turn? */
int layer_rt_wants(void)
{
	return rt_ready() && !rt_throttled;
}

/**
 * layer_rt_enters() - the core is its own from now on, until layer_rt_leaves()
 * @masked: Linux, which had it, has interrupts disabled
 */
void layer_rt_enters(int masked)
{
	rt()->entered++;
	rt()->masked += masked;
	layer_budget_opens();
}

/* Linux goes on, whether or not it was away. */
void layer_rt_leaves(void)
{
	layer_budget_closes();
}

void layer_rt_exited(void)
{
	rt()->exits++;
	layer_late_exited();
}

static void rt_look_budget(u64 now)
{
	int throttled = !layer_budget_look(now);

	if (throttled && !rt_throttled)
		rt()->throttled++;
	rt_throttled = throttled;
}

/* Its deadline may have come, and its budget's end, or a new one. */
void layer_rt_look(void)
{
	u64 now;

	if (!rt_on)
		return;
	now = layer_arch_now();
	if (rt_deadline && (s64)(now - rt_deadline) >= 0) {
		layer_late_due(rt_deadline);
		rt_deadline = 0;
		rt()->timers++;
		layer_rt_raise(SHIMOS_RT_TIMER);
	}
	if (rt_ready())
		rt_look_budget(now);
}

/* When to look at it again, if nothing else happens; 0: never. */
u64 layer_rt_next(int linux_next)
{
	u64 end;

	if (linux_next)
		return rt_throttled ? layer_budget_next() : rt_deadline;
	end = layer_budget_end();
	return end && (!rt_deadline || end < rt_deadline) ? end : rt_deadline;
}

/* An interrupt is on its way to it, if there is somebody. */
void layer_rt_raise(unsigned int vector)
{
	if (rt_on)
		rt_pending |= 1ull << vector;
}

/* The most urgent one, or -1; it is not on its way any more. */
int layer_rt_take(void)
{
	int vector;

	if (!rt_pending)
		return -1;
	vector = __builtin_ctzll(rt_pending);
	rt_pending &= ~(1ull << vector);
	rt_halted = 0;
	layer_late_given();
	return vector;
}

void layer_rt_halt(void)
{
	rt_halted = 1;
}

void layer_rt_waited(void)
{
	rt()->waited++;
}

/* One that is over already is late from now on: what was before is its own doing. */
static void rt_ask(u64 deadline)
{
	u64 now = layer_arch_now();

	rt_deadline = deadline;
	if (deadline && (s64)(now - deadline) >= 0) {
		rt_deadline = now;
		rt()->past++;
	}
}

/**
 * layer_rt_call() - what it asks the layer for
 * @number: an enum shimos_rt_call
 * @at: the address of its call
 *
 * Return: 0 or -1, for it.
 */
s64 layer_rt_call(u64 number, u64 argument, u64 at)
{
	switch (number) {
	case SHIMOS_RT_CALL_TIMER:
		rt_ask(argument);
		return 0;
	case SHIMOS_RT_CALL_READY:
		LAYER_WRITE(rt()->ready, 1);
		rt_ring_host();
		return 0;
	case SHIMOS_RT_CALL_RING:
		rt_ring_host();
		return 0;
	case SHIMOS_RT_CALL_END:
		layer_rt_end(LAYER_RT_ENDED, argument, at, 0);
		return 0;
	default:
		return -1;
	}
}
