// SPDX-License-Identifier: GPL-2.0
/*
 * Real-time tasks of Linux's that go before an RTOS (SPUMONE 2011, section 4.3).
 *
 * A CPU of Linux's has the priority of its most urgent task, up to a limit that its user has
 * set.  Linux says which task runs, and which one has been woken and will run soon.  That
 * one may also go elsewhere, so it counts for a moment only: of Linux's own time, for while an
 * RTOS has the core Linux cannot switch to it.
 */
#include "layer.h"

static u64 tasks_waits;		/* as in what Linux sees */
static u64 tasks_left;		/* when an RTOS got the core; 0: Linux has it */
static u64 tasks_until;		/* what Linux said then of the one that was woken, */
static u64 tasks_away;		/* and how long Linux has not had the core since it said so */

static struct layer_tasks *tasks_here(void)
{
	return &layer_shared()->tasks;
}

/**
 * layer_tasks_any() - could a task of Linux's be more urgent than any RTOS?
 */
int layer_tasks_any(void)
{
	return !!LAYER_READ(tasks_here()->limit);
}

/**
 * layer_tasks_heard() - could a task of this core's own be more urgent than this one?
 * @g: which
 */
int layer_tasks_heard(const struct layer_guest *g)
{
	return LAYER_READ(tasks_here()->limit) > g->priority && layer_hosts_alone();
}

/* Until when the one that was woken counts; 0: there is none. */
static u64 tasks_woken_until(void)
{
	u64 now = tasks_left ? tasks_left : layer_arch_now();
	u64 until = LAYER_READ(tasks_here()->woken_until);

	if (until == tasks_until)
		until += tasks_away;
	if (!LAYER_READ(tasks_here()->woken) || (s64)(now - until) >= 0)
		return 0;
	return until;
}

/**
 * layer_tasks_stop() - an RTOS gets the core, which Linux has
 */
void layer_tasks_stop(void)
{
	u64 until = LAYER_READ(tasks_here()->woken_until);

	if (until != tasks_until) {
		tasks_until = until;
		tasks_away = 0;
	}
	tasks_left = layer_arch_now();
}

/**
 * layer_tasks_go_on() - Linux gets the core, if it has not
 */
void layer_tasks_go_on(void)
{
	if (!tasks_left)
		return;
	tasks_away += layer_arch_now() - tasks_left;
	tasks_left = 0;
}

/**
 * layer_tasks_first() - is one, as far as Linux has said?
 * @g: it is heard
 */
int layer_tasks_first(const struct layer_guest *g)
{
	if (LAYER_READ(tasks_here()->runs) > g->priority)
		return 1;
	return LAYER_READ(tasks_here()->woken) > g->priority && tasks_woken_until();
}

/**
 * layer_tasks_interrupted() - Linux gets an interrupt, and may switch tasks because of it
 */
void layer_tasks_interrupted(void)
{
	LAYER_WRITE(tasks_here()->switched, 0);
}

/**
 * layer_tasks_switched() - has it since?  Whom it has woken runs by then, if that one is urgent
 */
int layer_tasks_switched(void)
{
	return !!LAYER_READ(tasks_here()->switched);
}

/**
 * layer_tasks_wait() - this one wants the core, and Linux has it
 * @g: NULL: nobody else wants it
 */
void layer_tasks_wait(const struct layer_guest *g)
{
	u64 waits = g ? g->priority : 0;

	if (waits == tasks_waits)
		return;
	tasks_waits = waits;
	LAYER_WRITE(tasks_here()->waits, waits);
}

/**
 * layer_tasks_were_first() - has Linux had the core, though an RTOS wanted it?
 */
int layer_tasks_were_first(void)
{
	return !!tasks_waits;
}

/**
 * layer_tasks_next() - when to look again, while an RTOS waits for Linux
 *
 * Return: in cycles; 0: never.
 */
u64 layer_tasks_next(void)
{
	return tasks_waits ? tasks_woken_until() : 0;
}
