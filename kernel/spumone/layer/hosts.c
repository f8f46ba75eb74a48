// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs of Linux's on this core: its own, unless that has gone to another core, and those of
 * other cores that are here (SPUMONE 2011, section 3.2.4).
 *
 * A CPU of Linux's keeps its home: the core that it was launched on, whose hardware it
 * owns.  Interrupts for it still arrive there, and are sent after it.
 *
 * Where there are several they take turns, a slice each.  One that waits for an interrupt has
 * no turn, and one that gets an interrupt has the next.
 */
#include "layer.h"

static struct layer_host *hosts_here;	/* those that are visiting, in no order */
static struct layer_host *hosts_turn;	/* who has the core when no RTOS wants it; NULL: its own */
static u64 hosts_turn_end;
static int hosts_own_away;
static int hosts_own_urgent, hosts_own_halted;
static int hosts_woken;		/* a visitor has got its tick since somebody has asked */
static int hosts_own_gone;	/* it never runs again */
static int hosts_special;	/* there is more here than this core's own that its hardware runs by itself */
static int hosts_own_fled;	/* it is away because an RTOS wants the core, and has not been called back */

/**
 * layer_hosts_alone() - is this core's own CPU of Linux's the only one, and here?
 */
int layer_hosts_alone(void)
{
	return !hosts_special;
}

/* After any of these has changed.  Each pass asks, more than once. */
static void hosts_count(void)
{
	hosts_special = hosts_own_away || hosts_own_gone || hosts_here;
}

/**
 * layer_hosts_own_away() - is this core's own on another core, or not settled here yet?
 */
int layer_hosts_own_away(void)
{
	return hosts_own_away;
}

/**
 * layer_hosts_own_gone() - has this core's own shut down?
 */
int layer_hosts_own_gone(void)
{
	return hosts_own_gone;
}

/**
 * layer_hosts_turn() - whose turn it is among Linux's
 *
 * Return: one that visits; NULL: this core's own, or nobody.
 */
struct layer_host *layer_hosts_turn(void)
{
	return hosts_turn;
}

static struct layer_host *hosts_own(void)
{
	return layer_arch_host(layer_params.core);
}

static void hosts_remove(struct layer_host *h)
{
	struct layer_host **at = &hosts_here;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	hosts_count();
	if (hosts_turn == h)
		hosts_turn = NULL;
	hosts_turn_end = 0;
	/* alone it halts by itself, and nobody is told */
	if (!hosts_here)
		hosts_own_halted = 0;
}

/* ---- from core to core ---- */

/**
 * layer_hosts_leaves() - a CPU of Linux's goes to another core
 * @h: nothing of it is in the processor any more
 * @core: below LAYER_HOSTS; the layer is under it
 */
void layer_hosts_leaves(struct layer_host *h, u64 core)
{
	if (h->visits) {
		hosts_remove(h);
	} else {
		hosts_own_away = 1;
		hosts_count();
		/* alone it halts by itself, and looks anew */
		h->halted = hosts_own_halted;
	}
	LAYER_WRITE(layer_host_pages[h->home].shared.visits, 1);
	h->visits = 0;
	h->sent = layer_arch_now();
	/* pairs with layer_hosts_receive(): all of it is there before its bit */
	__atomic_fetch_or(&layer_arch_host(core)->coming, 1ull << h->home, __ATOMIC_RELEASE);
	layer_arch_ring(LAYER_READ(layer_host_pages[core].shared.bell));
}

static void hosts_arrive(struct layer_host *h)
{
	struct layer_counts *c = &layer_host_pages[h->home].shared.counts;
	u64 took = layer_arch_now() - h->sent;

	c->moves++;
	c->moved_last = took;
	if (took > c->moved_max)
		c->moved_max = took;
	/* pairs with hosts_ring_where(): what comes from now on is rung for here */
	__atomic_store_n(&h->core, layer_params.core, __ATOMIC_SEQ_CST);
	LAYER_WRITE(layer_host_pages[h->home].shared.core, layer_params.core);
	h->visits = 1;
	h->urgent = 1;
	h->next = hosts_here;
	hosts_here = h;
	hosts_count();
	layer_arch_host_comes(h);
}

/**
 * layer_hosts_own_visits() - is this core's own here, but not yet what its hardware runs by itself?
 */
int layer_hosts_own_visits(void)
{
	const struct layer_host *h;

	for (h = hosts_here; h && h->home != layer_params.core; h = h->next)
		;
	return !!h;
}

/**
 * layer_hosts_settles() - it is home, and its own hardware is what it sees
 * @h: this core's own
 *
 * Nothing more is to be done for it here.
 */
void layer_hosts_settles(struct layer_host *h)
{
	hosts_remove(h);
	LAYER_WRITE(layer_host_pages[h->home].shared.visits, 0);
	h->visits = 0;
	hosts_own_away = 0;
	hosts_own_fled = 0;
	hosts_count();
	LAYER_WRITE(h->recalled, 0);
	hosts_own_halted = hosts_here && h->halted;
	hosts_own_urgent = 1;
}

/**
 * layer_hosts_receive() - somebody has rung
 *
 * For one that comes, or one that is here, or one that was.
 */
void layer_hosts_receive(void)
{
	struct layer_host *h;
	u64 coming;

	if (layer_params.core >= LAYER_HOSTS)
		return;
	/* pairs with layer_hosts_leaves() */
	coming = __atomic_exchange_n(&hosts_own()->coming, 0, __ATOMIC_ACQUIRE);
	for (; coming; coming &= coming - 1)
		hosts_arrive(layer_arch_host(__builtin_ctzll(coming) % LAYER_HOSTS));
	for (h = hosts_here; h; h = h->next)
		if (__atomic_exchange_n(&h->rung, 0, __ATOMIC_ACQUIRE))
			h->urgent = 1;
	if (hosts_own_away)
		layer_arch_host_ends(hosts_own());
}

/**
 * layer_hosts_lost() - a CPU of Linux's never runs again
 * @h: NULL: this core's own, which is what its hardware runs by itself
 * @at: where it was
 */
void layer_hosts_lost(struct layer_host *h, u64 at)
{
	struct layer_shared *shared = h ? &layer_host_pages[h->home].shared : layer_shared();

	if (h)
		hosts_remove(h);	/* its home goes on taking it for away */
	else
		hosts_own_gone = 1;
	hosts_count();
	LAYER_WRITE(shared->gone_at, at);
	/* pairs with launch_lost() */
	__atomic_store_n(&shared->gone, 1, __ATOMIC_RELEASE);
}

/* ---- interrupts ---- */

/* Where it is, or where it will be when it looks. */
static void hosts_ring_where(struct layer_host *h)
{
	/* pairs with layer_hosts_receive(), and with hosts_arrive(): it is rung where it is, or sees it as it comes */
	__atomic_store_n(&h->rung, 1, __ATOMIC_SEQ_CST);
	layer_arch_ring(LAYER_READ(layer_host_pages[__atomic_load_n(&h->core, __ATOMIC_SEQ_CST)].shared.bell));
}

/**
 * layer_hosts_forward() - an interrupt of this core's own CPU of Linux's, which is away
 *
 * It is in its pending ones already.
 */
void layer_hosts_forward(void)
{
	layer_counts()->forwarded++;
	hosts_ring_where(hosts_own());
}

/**
 * layer_hosts_ring_home() - home has to do something for it
 * @h: visits
 */
void layer_hosts_ring_home(struct layer_host *h)
{
	layer_arch_ring(LAYER_READ(layer_host_pages[h->home].shared.bell));
}

/* ---- from an RTOS, and back ---- */

/**
 * layer_hosts_refuge() - where this core's own, if it is here, goes while an RTOS has the core
 *
 * Return: a core's number; LAYER_HOSTS: it stays.
 */
u64 layer_hosts_refuge(void)
{
	u64 refuge;

	if (layer_params.core >= LAYER_HOSTS || hosts_own_gone ||
	    (hosts_own_away && !layer_hosts_own_visits()))
		return LAYER_HOSTS;
	refuge = LAYER_READ(layer_shared()->refuge);
	return refuge && refuge <= LAYER_HOSTS ? refuge - 1 : LAYER_HOSTS;
}

/**
 * layer_hosts_fled() - this core's own has gone there by itself
 */
void layer_hosts_fled(void)
{
	layer_counts()->fled++;
	hosts_own_fled = 1;
}

/**
 * layer_hosts_call_home() - no RTOS wants the core: its own CPU of Linux's shall come back
 *
 * Only if an RTOS was why it went.
 */
void layer_hosts_call_home(void)
{
	struct layer_host *own;

	if (!hosts_own_fled)
		return;
	hosts_own_fled = 0;
	own = hosts_own();
	/* pairs with layer_hosts_recalled() */
	__atomic_store_n(&own->recalled, 1, __ATOMIC_SEQ_CST);
	hosts_ring_where(own);
}

/**
 * layer_hosts_recalled() - one that is here, and its home wants it back, or it can go there again
 *
 * Return: the next one; NULL: none.
 */
struct layer_host *layer_hosts_recalled(void)
{
	struct layer_host *h;

	for (h = hosts_here; h; h = h->next) {
		if (h->home == layer_params.core)
			continue;
		/* pairs with layer_hosts_call_home() */
		if (LAYER_READ(h->recalled) &&
		    __atomic_exchange_n(&h->recalled, 0, __ATOMIC_ACQUIRE))
			return h;
		if (layer_arch_host_goes(h))
			return h;
	}
	return NULL;
}

/**
 * layer_hosts_own_wakes() - this core's own has got an interrupt while it did not have the core
 */
void layer_hosts_own_wakes(void)
{
	hosts_own_urgent = 1;
}

/* ---- time ---- */

/* Its deadline if that is still to come, 0 if there is none. */
static u64 hosts_deadline(struct layer_host *h, u64 now)
{
	struct layer_shared *shared = &layer_host_pages[h->home].shared;
	u64 deadline = LAYER_READ(shared->deadline);

	if (!deadline || (s64)(now - deadline) < 0)
		return deadline;
	shared->counts.ticks++;
	if (now - deadline > shared->counts.late_max)
		shared->counts.late_max = now - deadline;
	LAYER_WRITE(shared->deadline, 0);
	layer_arch_host_tick(h);
	h->urgent = 1;
	hosts_woken = 1;
	return 0;
}

/**
 * layer_hosts_next() - when to look again, for those that visit
 *
 * What is due is done.
 *
 * Return: in cycles; 0: never.
 */
u64 layer_hosts_next(void)
{
	u64 now = layer_arch_now(), when = hosts_turn_end, deadline;
	struct layer_host *h;

	for (h = hosts_here; h; h = h->next) {
		deadline = hosts_deadline(h, now);
		if (deadline && (!when || deadline < when))
			when = deadline;
	}
	return when;
}

/**
 * layer_hosts_woken() - has one got its tick since this was asked last?
 *
 * No interrupt tells, so it is looked again whose turn it is.
 */
int layer_hosts_woken(void)
{
	int woken = hosts_woken;

	hosts_woken = 0;
	return woken;
}

/* ---- turns ---- */

/**
 * layer_hosts_halts() - it waits for an interrupt
 * @h: NULL: this core's own
 */
void layer_hosts_halts(struct layer_host *h)
{
	if (h)
		h->halted = 1;
	else
		hosts_own_halted = 1;
}

/**
 * layer_hosts_yields() - whose turn it is can do nothing useful just now
 */
void layer_hosts_yields(void)
{
	hosts_turn_end = 0;
}

static int hosts_is_ready(struct layer_host *h)
{
	if (h->halted && layer_arch_host_pending(h))
		h->halted = 0;
	return !h->halted;
}

static int hosts_own_is_ready(void)
{
	if (hosts_own_halted && layer_arch_own_pending())
		hosts_own_halted = 0;
	return !hosts_own_away && !hosts_own_gone && !hosts_own_halted;
}

static int hosts_count_ready(void)
{
	int count = hosts_own_is_ready();
	struct layer_host *h;

	for (h = hosts_here; h; h = h->next)
		count += hosts_is_ready(h);
	return count;
}

/* Somebody who has got an interrupt goes first, once. */
static int hosts_choose_urgent(struct layer_host **to)
{
	struct layer_host *h;

	/* who has the turn gets no longer one by interrupts */
	if (hosts_turn)
		hosts_turn->urgent = 0;
	else
		hosts_own_urgent = 0;
	if (hosts_own_urgent && hosts_own_is_ready()) {
		hosts_own_urgent = 0;
		*to = NULL;
		return 1;
	}
	for (h = hosts_here; h; h = h->next) {
		if (!h->urgent || !hosts_is_ready(h))
			continue;
		h->urgent = 0;
		*to = h;
		return 1;
	}
	return 0;
}

/* The next one after whose turn it was; the own one comes last. */
static struct layer_host *hosts_after(struct layer_host *turn)
{
	struct layer_host *h;

	for (h = turn ? turn->next : hosts_here; h; h = h->next)
		if (hosts_is_ready(h))
			return h;
	if (hosts_own_is_ready())
		return NULL;
	for (h = hosts_here; h && !hosts_is_ready(h); h = h->next)
		;
	return h;
}

static u64 hosts_slice(void)
{
	u64 slice = 0;
	struct layer_host *h;

	for (h = hosts_here; h; h = h->next)
		slice = LAYER_READ(layer_host_pages[h->home].shared.move.slice);
	return slice;
}

/* Does somebody else wait for the core, or might who has it go home? */
static int hosts_is_slice(int count)
{
	return count > 1 || (hosts_turn && LAYER_READ(layer_host_pages[hosts_turn->home].shared.user_only));
}

/* Is it still the turn of who has it? */
static int hosts_goes_on(u64 now)
{
	int ready = hosts_turn ? hosts_is_ready(hosts_turn) : hosts_own_is_ready();

	return ready && hosts_turn_end && (s64)(now - hosts_turn_end) < 0;
}

/**
 * layer_hosts_choose() - whose turn it is
 *
 * Return: how many want it; with none of them there is no turn.
 */
int layer_hosts_choose(void)
{
	int count = hosts_count_ready();
	struct layer_host *to = hosts_turn;
	u64 now = layer_arch_now();

	if (!count) {
		hosts_turn_end = 0;
		return 0;
	}
	if (!hosts_choose_urgent(&to) && hosts_goes_on(now))
		return count;
	if (to == hosts_turn)
		to = hosts_after(to);
	hosts_turn = to;
	hosts_turn_end = hosts_is_slice(count) ? now + hosts_slice() : 0;
	return count;
}
