// SPDX-License-Identifier: GPL-2.0
/*
 * The core's timer, which Linux and the RTOS share.
 *
 * Linux writes its deadline into the shared page and calls only if that is earlier
 * than what the timer is set for.  We look at the page at each exit; Linux cannot
 * run in between, so nothing is missed.
 */
#include "layer.h"

/*
 * A deadline further away than this is set again when it fires: no local timer
 * counts longer, whatever its divider.
 */
#define LAYER_TIMER_FURTHEST	(1ull << 31)

static int layer_timer_owned;
static u64 layer_timer_armed;	/* the deadline it is set for; 0: not */

static void layer_timer_tell(u64 armed)
{
	layer_timer_armed = armed;
	LAYER_WRITE(layer_shared()->armed, armed);
}

/**
 * layer_timer_own() - whose is the timer?
 * @own: the layer's; 0: Linux's
 */
void layer_timer_own(int own)
{
	layer_timer_owned = own;
	if (!own && layer_timer_armed)
		layer_arch_disarm();
	layer_timer_tell(0);
}

/**
 * layer_timer_fired() - it has fired
 */
void layer_timer_fired(void)
{
	layer_counts()->fired++;
	layer_timer_tell(0);
}

/**
 * layer_timer_due() - has it fired, or is about to, and nobody has seen that?
 */
int layer_timer_due(void)
{
	return layer_timer_armed && (s64)(layer_arch_now() - layer_timer_armed) >= 0;
}

/* What Linux wants, and it is due: raise it, and forget it. */
static void layer_timer_tick(u64 deadline, u64 now)
{
	u64 late = now - deadline;

	layer_counts()->ticks++;
	if (late > layer_counts()->late_max)
		layer_counts()->late_max = late;
	LAYER_WRITE(layer_shared()->deadline, 0);
	layer_arch_tick();
}

static void layer_timer_arm(u64 deadline, u64 now)
{
	/* 64 by 32 bits, with the point in the middle: no division here */
	u64 cycles = (s64)(deadline - now) > 0 ? deadline - now : 0, scale = layer_params.timer_scale, ticks;

	if (cycles >= LAYER_TIMER_FURTHEST)
		cycles = LAYER_TIMER_FURTHEST;
	ticks = (cycles * scale >> 32) + 1;
	layer_counts()->armed++;
	layer_arch_arm(ticks);
	layer_timer_tell(deadline);
}

/* Linux's deadline if it is still to come, 0 if there is none. */
static u64 layer_timer_linux(void)
{
	u64 deadline = LAYER_READ(layer_shared()->deadline), now;

	if (!deadline || layer_hosts_own_away() || layer_hosts_own_gone())
		return 0;
	now = layer_arch_now();
	if ((s64)(now - deadline) < 0)
		return deadline;
	layer_timer_tick(deadline, now);
	return 0;
}

static u64 layer_timer_earlier(u64 one, u64 other)
{
	return one && (!other || one < other) ? one : other;
}

/* Of all CPUs of Linux's that are here. */
static u64 layer_timer_hosts(void)
{
	u64 own = layer_timer_earlier(layer_timer_linux(), layer_tasks_next());

	return layer_hosts_alone() ? own : layer_timer_earlier(own, layer_hosts_next());
}

static void layer_timer_set(u64 deadline)
{
	/* a timer that is still set fires for nothing */
	if (deadline && deadline != layer_timer_armed)
		layer_timer_arm(deadline, layer_arch_now());
}

/**
 * layer_timer_look() - do what is due, and set the timer for what comes next; Linux gets the core
 *
 * At each exit: a deadline may have changed, or have come.
 *
 * Return: 0: an RTOS's has come since all were looked at.  Nothing is set; look again.
 */
int layer_timer_look(void)
{
	u64 rt = layer_guests_next(NULL);

	if (!layer_timer_owned)
		return 1;
	if (layer_guests_came(rt))
		return 0;
	layer_timer_set(layer_timer_earlier(rt, layer_timer_hosts()));
	return 1;
}

/**
 * layer_timer_look_rtos() - the same, for an RTOS that gets the core
 * @next: gets the core
 *
 * Linux's deadline is nobody's business, unless that may wake a task that is more urgent.
 *
 * Return: 0: as layer_timer_look(), a more urgent one's or the end of its budget.
 */
int layer_timer_look_rtos(struct layer_guest *next)
{
	u64 rt = layer_guests_next(next);

	if (!layer_timer_owned)
		return 1;
	if (layer_guests_before(next) && layer_guests_came(rt))
		return 0;
	if (layer_tasks_heard(next))
		rt = layer_timer_earlier(rt, layer_timer_hosts());
	layer_timer_set(rt);
	return 1;
}
