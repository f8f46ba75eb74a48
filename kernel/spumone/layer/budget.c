// SPDX-License-Identifier: GPL-2.0
/*
 * How long the RTOS may have the core: so many cycles of each period.  And how long it had it.
 *
 * A deferrable server (Strosnider, Lehoczky and Sha, IEEE Transactions on Computers 44(1),
 * 1995): what it has not used is still its own when it wants to run later in the period, so
 * within its budget it is as quick as without.  A period begins when it wants to run after the
 * end of the one before.  So nothing is to be done for one that waits, a clock that went on
 * by many periods needs neither a loop nor a division, and who wakes after a long time has
 * the whole budget.  The price is the deferrable server's: it can have two budgets in a row,
 * at the end of a period and at the beginning of the next, so n + 1 in n periods.
 *
 * It also pays for what the layer does for it: from the exit of Linux that leads to it, to
 * the moment when Linux goes on.  Else it could take the core by asking for things.  The
 * processor's own part in that Linux has measured.  What it took too much, for the timer is
 * not exact, the next period lacks.
 */
#include "layer.h"

static u64 budget_size;		/* cycles of each period; 0: as many as it wants */
static u64 budget_period;
static u64 budget_unseen;	/* of a turn, before the first look at the clock and after the last */
static u64 budget_next;		/* the period's end: from here on the next one can begin */
static u64 budget_left;		/* of this period, at budget_since; less than none is negative */
static u64 budget_since;	/* what came before is charged, or Linux's */
static int budget_open;		/* what comes after is its own */

void layer_budget_begin(const struct layer_rt_start *start)
{
	budget_size = start->budget;
	budget_period = start->period;
	budget_unseen = start->unseen;
	budget_next = layer_arch_now();
	budget_left = 0;
	budget_open = 0;
}

/* Linux was left; nobody knows yet for whom. */
void layer_budget_linux_left(void)
{
	budget_since = layer_arch_now();
}

/* For the RTOS. */
void layer_budget_opens(void)
{
	budget_open = 1;
}

static void budget_charge(u64 now, u64 unseen)
{
	u64 cycles = now - budget_since + unseen;

	layer_shared()->rt.cycles += cycles;
	budget_left -= cycles;
	budget_since = now;
}

/* Linux goes on, now. */
void layer_budget_closes(void)
{
	if (budget_open)
		budget_charge(layer_arch_now(), budget_unseen);
	budget_open = 0;
}

/*
 * A new period.  What the last one lacks is paid for, but no more than a period of it: a
 * clock that jumps, as under a machine that was halted, is not the RTOS's doing.
 */
static void budget_renew(u64 now)
{
	if (budget_open)
		budget_charge(now, 0);
	if ((s64)budget_left > 0)
		budget_left = 0;
	else if (-budget_left > budget_period)
		budget_left = -budget_period;
	budget_left += budget_size;
	budget_next = now + budget_period;
}

/* May it run now, as it wants to? */
int layer_budget_look(u64 now)
{
	if (!budget_size)
		return 1;
	if ((s64)(now - budget_next) >= 0)
		budget_renew(now);
	return (s64)(budget_since + budget_left - now) > 0;
}

/* When it has to stop, if it goes on until then; 0: never. */
u64 layer_budget_end(void)
{
	return budget_size ? budget_since + budget_left : 0;
}

/* When it may go on, having stopped. */
u64 layer_budget_next(void)
{
	return budget_next;
}
