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

static u64 budget_since;		/* what came before is charged, or Linux's */
static struct layer_guest *budget_open;	/* whose is what comes after; NULL: not known yet, or Linux's */

/**
 * layer_budget_begin() - a new RTOS: its first period begins
 * @g: which
 * @start: what it may use; a copy
 */
void layer_budget_begin(struct layer_guest *g, const struct layer_rt_start *start)
{
	g->budget = (struct layer_budget) {
		.size = start->budget,
		.period = start->period,
		.unseen = start->unseen,
		.next = layer_arch_now(),
	};
}

/**
 * layer_budget_linux_left() - Linux was left; nobody knows yet for whom
 */
void layer_budget_linux_left(void)
{
	budget_since = layer_arch_now();
}

static void budget_charge(struct layer_guest *g, u64 now, u64 unseen)
{
	u64 cycles = now - budget_since + unseen;

	g->shared->rt.cycles += cycles;
	g->budget.left -= cycles;
	budget_since = now;
}

/**
 * layer_budget_opens() - from here on this RTOS pays
 * @g: what another one had until now is that one's
 */
void layer_budget_opens(struct layer_guest *g)
{
	if (budget_open && budget_open != g)
		budget_charge(budget_open, layer_arch_now(), budget_open->budget.unseen);
	budget_open = g;
}

/**
 * layer_budget_closes() - Linux goes on, now, and nobody pays
 */
void layer_budget_closes(void)
{
	if (budget_open)
		budget_charge(budget_open, layer_arch_now(), budget_open->budget.unseen);
	budget_open = NULL;
}

/*
 * A new period.  What the last one lacks is paid for, but no more than a period of it: a
 * clock that jumps, as under a machine that was halted, is not the RTOS's doing.
 */
static void budget_renew(struct layer_guest *g, u64 now)
{
	struct layer_budget *b = &g->budget;

	if (budget_open == g)
		budget_charge(g, now, 0);
	if ((s64)b->left > 0)
		b->left = 0;
	else if (-b->left > b->period)
		b->left = -b->period;
	b->left += b->size;
	b->next = now + b->period;
}

/**
 * layer_budget_look() - may it run now, as it wants to?
 * @g: while another one has the core, that one pays
 * @now: in cycles
 */
int layer_budget_look(struct layer_guest *g, u64 now)
{
	struct layer_budget *b = &g->budget;

	if (!b->size)
		return 1;
	if ((s64)(now - b->next) >= 0)
		budget_renew(g, now);
	if (budget_open && budget_open != g)
		return (s64)b->left > 0;
	return (s64)(budget_since + b->left - now) > 0;
}

/**
 * layer_budget_end() - when it has to stop, if it goes on until then
 * @g: has the core
 *
 * Return: in cycles; 0: never.
 */
u64 layer_budget_end(const struct layer_guest *g)
{
	return g->budget.size ? budget_since + g->budget.left : 0;
}
