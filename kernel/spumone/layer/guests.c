// SPDX-License-Identifier: GPL-2.0
/*
 * The RTOSes on this core: which of them goes next.  The highest priority first, and of two
 * with the same one who came first; Linux goes when none wants to (SPUMONE 2011, section 3).
 *
 * One goes to another core by two words: all of it is in memory that both cores see, and who
 * has it is alone there.  So it is put into the other core's word and that core is rung.
 */
#include "layer.h"

static struct layer_guest *guests_first;	/* the most urgent one */
static u64 guests_looked;		/* when it was seen what is due */

static u64 guests_here(void)
{
	return layer_params.core + 1;
}

static void guests_add(struct layer_guest *g)
{
	struct layer_guest **at = &guests_first;

	while (*at && (*at)->priority >= g->priority)
		at = &(*at)->next;
	g->next = *at;
	*at = g;
}

static void guests_remove(struct layer_guest *g)
{
	struct layer_guest **at = &guests_first;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
}

/* Linux named it; NULL if that one is not on this core. */
static struct layer_guest *guests_find(u64 number)
{
	struct layer_guest *g = guests_first;

	while (g && g->number != number)
		g = g->next;
	return g;
}

/**
 * layer_guests_begin() - a new RTOS, as Linux has said
 * @number: as Linux says it; nothing is done if it is none, or is on some core
 *
 * Of what Linux writes there from now on, only its priority is looked at, by
 * layer_guests_priority().
 */
void layer_guests_begin(u64 number)
{
	struct layer_rt_start start;
	struct layer_guest *g;
	u64 nowhere = 0;

	if (number >= LAYER_GUESTS)
		return;
	g = layer_arch_guest(number);
	/* pairs with layer_guests_end() of the core that had it before */
	if (!__atomic_compare_exchange_n(&g->core, &nowhere, guests_here(), 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	g->number = number;
	g->shared = &layer_guest_pages[number].shared;
	start = g->shared->start;
	layer_rt_begin(g, &start);
	layer_arch_guest_begin(g, &start);
	layer_arch_guest_comes(g);
	guests_add(g);
}

/**
 * layer_guests_end() - it runs no more, and can be begun anew on any core
 * @number: as Linux says it; nothing is done if it is not on this core
 */
void layer_guests_end(u64 number)
{
	struct layer_guest *g = guests_find(number);

	if (!g)
		return;
	layer_rt_end(g, LAYER_RT_NONE, 0, 0, 0);
	/* nothing is charged to it after this */
	layer_rt_leaves();
	guests_remove(g);
	/* pairs with layer_guests_begin() */
	__atomic_store_n(&g->core, 0, __ATOMIC_RELEASE);
}

/**
 * layer_guests_charge() - this exit is its own, though it is nowhere yet
 * @number: as Linux says it
 *
 * Linux wants to see how much of an exit it would be charged with.
 */
void layer_guests_charge(u64 number)
{
	struct layer_guest *g = number < LAYER_GUESTS ? layer_arch_guest(number) : NULL;

	if (!g || LAYER_READ(g->core))
		return;
	g->shared = &layer_guest_pages[number].shared;
	g->budget.unseen = 0;
	layer_budget_opens(g);
}

/**
 * layer_guests_send() - it goes to another core, which Linux has written down
 * @number: as Linux says it; nothing is done if it is not on this core
 *
 * Linux has the core, so nothing of it is in the processor.
 */
void layer_guests_send(u64 number)
{
	struct layer_guest *g = guests_find(number);
	struct layer_rt_move move;

	if (!g)
		return;
	move.core = LAYER_READ(g->shared->move.core);
	move.bell = LAYER_READ(g->shared->move.bell);
	if (move.core >= LAYER_CORES)
		return;
	guests_remove(g);
	g->core = LAYER_GUEST_AWAY;
	g->sent = layer_arch_now();
	/* pairs with layer_guests_receive(): all of it is there before its bit */
	__atomic_fetch_or(&layer_coming[move.core], 1ull << number, __ATOMIC_RELEASE);
	layer_arch_ring(move.bell);
}

static void guests_arrive(struct layer_guest *g)
{
	struct layer_rt *r = &g->shared->rt;
	u64 took = layer_arch_now() - g->sent;

	g->core = guests_here();
	r->moves++;
	r->moved_last = took;
	if (took > r->moved_max)
		r->moved_max = took;
	layer_arch_guest_comes(g);
	guests_add(g);
}

/**
 * layer_guests_receive() - whoever is on the way here is this core's
 */
void layer_guests_receive(void)
{
	u64 *word = &layer_coming[layer_params.core], coming = LAYER_READ(*word);

	if (!coming)
		return;
	/* pairs with layer_guests_send() */
	coming = __atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE);
	for (; coming; coming &= coming - 1)
		guests_arrive(layer_arch_guest(__builtin_ctzll(coming) % LAYER_GUESTS));
}

/**
 * layer_guests_priority() - Linux has said anew how urgent it is
 * @number: as Linux says it; nothing is done if it is not on this core
 *
 * Of those with the same priority it is the last.  Linux has the core, so it is only the order
 * that changes.
 */
void layer_guests_priority(u64 number)
{
	struct layer_guest *g = guests_find(number);

	if (!g)
		return;
	guests_remove(g);
	g->priority = LAYER_READ(g->shared->start.priority);
	guests_add(g);
}

/**
 * layer_guests_any() - does any run, on whichever core?
 */
int layer_guests_any(void)
{
	u64 number;

	for (number = 0; number < LAYER_GUESTS; number++)
		if (LAYER_READ(layer_arch_guest(number)->core) &&
		    LAYER_READ(layer_arch_guest(number)->on))
			return 1;
	return 0;
}

/**
 * layer_guests_several() - is there more than one on this core?
 */
int layer_guests_several(void)
{
	return guests_first && guests_first->next;
}

/**
 * layer_guests_look() - what is due, and then whose turn it is
 *
 * Of those after that one, nobody asks now whether their budgets let them run.
 * Return: NULL: it is Linux's
 */
struct layer_guest *layer_guests_look(void)
{
	struct layer_guest *g = guests_first;
	u64 now;

	if (!g)
		return NULL;
	now = layer_arch_now();
	guests_looked = now;
	for (; g; g = g->next)
		layer_rt_look(g, now);
	for (g = guests_first; g && !layer_rt_ready(g, now); g = g->next)
		;
	return g;
}

/**
 * layer_guests_next() - when to look again, if nothing else happens; 0: never
 * @next: who gets the core now; NULL: Linux.  Who would have to wait for it can do so now
 */
u64 layer_guests_next(const struct layer_guest *next)
{
	/* one less, so that never is later than all else */
	u64 when = (next ? layer_rt_runs_until(next) : 0) - 1, wakes;
	const struct layer_guest *g;

	for (g = guests_first; g != next; g = g->next) {
		wakes = layer_rt_wakes(g) - 1;
		if (wakes < when)
			when = wakes;
	}
	return when + 1;
}

/**
 * layer_guests_came() - has this deadline come since layer_guests_look()?
 * @when: of layer_guests_next()
 *
 * Then it is quicker to look again than to set the timer.  One that had come before is not asked
 * about again, so whoever looks again does not do so without end.
 */
int layer_guests_came(u64 when)
{
	return when > guests_looked && (s64)(layer_arch_now() - when) >= 0;
}

/**
 * layer_guests_before() - is there a more urgent one than this?
 * @g: on this core
 */
int layer_guests_before(const struct layer_guest *g)
{
	return guests_first != g;
}

/**
 * layer_guests_ring() - somebody wants something of one of them, and the bell does not say of which
 */
void layer_guests_ring(void)
{
	struct layer_guest *g;

	layer_counts()->rung++;
	for (g = guests_first; g; g = g->next)
		layer_rt_rung(g);
}
