// SPDX-License-Identifier: GPL-2.0
/* CPUs of Linux's that share a core: who comes, who goes, and whose turn it is. */
#include "test.h"

#define DEVICE		0x80	/* a vector of this core's own */
#define OWN		CORE_NUMBER
#define SLICE		1000
#define own_page	(layer_host_pages[OWN].shared)
#define BELL(core)	(0x40f0ull | (u64)(core) << 56)

static void hosts_begin(void)
{
	unsigned int i;

	core_reset();
	for (i = 0; i < LAYER_HOSTS; i++) {
		*core_host(i) = (struct layer_host) { .home = i, .core = i };
		layer_host_pages[i] = (struct layer_host_page) { 0 };
		layer_host_pages[i].shared.bell = BELL(i);
		layer_host_pages[i].shared.move.slice = SLICE;
		core_host_pending[i] = false;
		core_host_goes[i] = false;
		core_host_ticked[i] = 0;
	}
}

/* One of another core's comes, as that core's layer would send it. */
static struct layer_host *comes(unsigned int number)
{
	core_host(OWN)->coming |= 1ull << number;
	layer_hosts_receive();
	MUST(!core_host(OWN)->coming);
	return core_host(number);
}

static void goes(struct layer_host *h)
{
	layer_hosts_leaves(h, h->home);
	MUST(core_rang == BELL(h->home));
	core_host(h->home)->coming = 0;
}

/* Whose turn is it?  OWN, another number, or -1. */
static int turn(void)
{
	struct layer_host *h;

	if (!layer_hosts_choose())
		return -1;
	h = layer_hosts_turn();
	return h ? (int)h->home : OWN;
}

static void test_it_comes_and_goes(void)
{
	struct layer_host *h;

	hosts_begin();
	MUST(layer_hosts_alone());
	core_host(1)->sent = core_now;
	core_now += 50;
	h = comes(1);
	MUST(!layer_hosts_alone() && h->visits && h->core == OWN);
	MUST(layer_host_pages[1].shared.core == OWN);
	MUST(layer_host_pages[1].shared.counts.moves == 1);
	MUST(layer_host_pages[1].shared.counts.moved_last == 50);
	goes(h);
	MUST(layer_hosts_alone() && !h->visits);
}

static void test_the_own_one_goes(void)
{
	struct layer_host *own = core_host(OWN);

	hosts_begin();
	layer_hosts_leaves(own, 1);
	MUST(core_rang == BELL(1) && core_host(1)->coming == 1ull << OWN);
	MUST(layer_hosts_own_away() && !layer_hosts_own_visits() && turn() == -1);
	MUST(own_page.visits);
	/* it has arrived there, and gets what comes here */
	own->core = 1;
	layer_hosts_forward();
	MUST(core_rang == BELL(1) && own->rung && layer_counts()->forwarded == 1);
	layer_timer_own(1);
	core_first_shared.start = (struct layer_rt_start) { .priority = 1 };
	layer_guests_begin(0);
	layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, core_now + 500, 0);
	layer_timer_look();
	MUST(core_ticks);
	/* what is due for it is not raised here */
	core_shared.deadline = core_now - 1;
	layer_timer_look();
	MUST(!core_ticked && core_shared.deadline);
	/* home again, first as a visitor */
	comes(OWN);
	MUST(layer_hosts_own_visits() && layer_hosts_own_away() && turn() == OWN);
	MUST(own_page.visits);
	layer_hosts_settles(own);
	MUST(layer_hosts_alone() && !layer_hosts_own_away() && turn() == OWN);
	MUST(!own_page.visits);
}

static void test_turns(void)
{
	struct layer_host *one, *two;
	int seen[LAYER_HOSTS] = { 0 }, i;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	for (i = 0; i < 30; i++) {
		seen[turn()]++;
		core_now += SLICE;
	}
	MUST(seen[1] == 10 && seen[2] == 10 && seen[OWN] == 10);
	/* within a slice nothing changes, but for who can do nothing useful */
	i = turn();
	core_now += SLICE - 1;
	MUST(turn() == i);
	layer_hosts_yields();
	MUST(turn() != i);
	/* the timer fires when it is over */
	i = turn();
	core_now += SLICE - 10;
	MUST(layer_hosts_next() <= core_now + 10);
	goes(one);
	goes(two);
	MUST(turn() == OWN);
}

static void test_who_waits(void)
{
	struct layer_host *one, *two;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	layer_hosts_halts(one);
	layer_hosts_halts(two);
	MUST(turn() == OWN);
	core_now += 10 * SLICE;
	MUST(turn() == OWN);
	layer_hosts_halts(NULL);
	/* the timer is not set for a turn that nobody has */
	MUST(turn() == -1 && !layer_hosts_next());
	/* each wakes by its own interrupt, and goes first then */
	core_host_pending[2] = true;
	MUST(turn() == 2 && !two->halted);
	core_host_pending[2] = false;
	layer_interrupt(DEVICE, 0, 0);
	MUST(turn() == OWN);
	layer_vectors_put_back();
	core_now += SLICE;
	MUST(turn() == 2);
	/* one that is left alone goes on, and nobody has to wake it for its next turn */
	layer_hosts_halts(NULL);
	goes(one);
	goes(two);
	one = comes(1);
	layer_hosts_halts(one);
	MUST(turn() == OWN);
	goes(one);
}

static void test_interrupts_hurry(void)
{
	struct layer_host *one, *two;
	int had;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	turn();
	turn();
	turn();
	had = turn();
	/* one that has the turn gets no longer one */
	core_now += SLICE / 2;
	(had == 1 ? one : two)->rung = 1;
	layer_hosts_receive();
	MUST(turn() == had);
	core_now += SLICE / 2;
	MUST(turn() != had);
	had = turn();
	one->rung = had != 1;
	two->rung = had == 1;
	layer_hosts_receive();
	MUST(!one->rung && !two->rung);
	MUST(turn() == (had == 1 ? 2 : 1));
	goes(one);
	goes(two);
}

static void test_deadlines(void)
{
	struct layer_shared *shared = &layer_host_pages[1].shared;
	struct layer_host *one, *two;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	/* who comes goes first, once */
	MUST(turn() != turn());
	layer_hosts_halts(one);
	/* the others take turns, and one's turn has just begun */
	turn();
	core_now += SLICE;
	turn();
	shared->deadline = core_now + 300;
	MUST(layer_hosts_next() == core_now + 300 && !core_host_ticked[1]);
	core_now += 310;
	MUST(!layer_hosts_woken());
	layer_hosts_next();
	MUST(core_host_ticked[1] == 1 && !shared->deadline);
	/* whoever has looked at the time before that looks again whose turn it is */
	MUST(layer_hosts_woken() && !layer_hosts_woken());
	MUST(shared->counts.ticks == 1 && shared->counts.late_max == 10);
	MUST(turn() == 1);
	goes(one);
	goes(two);
}

static void test_it_flees(void)
{
	struct layer_host *own = core_host(OWN);

	hosts_begin();
	MUST(layer_hosts_refuge() == LAYER_HOSTS);
	core_shared.refuge = LAYER_HOSTS + 1;
	MUST(layer_hosts_refuge() == LAYER_HOSTS);
	core_shared.refuge = 1 + 2;
	MUST(layer_hosts_refuge() == 2);
	/* it went because it was told to: nobody calls it back */
	layer_hosts_leaves(own, 2);
	layer_hosts_call_home();
	MUST(!own->recalled);
	/* while it is away there is nobody who could flee */
	MUST(layer_hosts_refuge() == LAYER_HOSTS);
	comes(OWN);
	/* once more before it had the core: it is at home enough for that */
	MUST(layer_hosts_refuge() == 2);
	layer_hosts_leaves(own, 2);
	layer_hosts_fled();
	own->core = 2;
	core_rang = 0;
	layer_hosts_call_home();
	MUST(own->recalled && own->rung && core_rang == BELL(2));
	/* one call is enough */
	core_rang = 0;
	layer_hosts_call_home();
	MUST(!core_rang && core_shared.counts.fled == 1);
	/* it came by itself meanwhile, so the call is nothing any more */
	layer_hosts_halts(own);
	comes(OWN);
	layer_hosts_settles(own);
	MUST(!own->recalled && layer_hosts_alone());
	/* it has halted there, but not here since */
	layer_hosts_leaves(own, 2);
	MUST(!own->halted);
	comes(OWN);
	layer_hosts_settles(own);
}

static void test_it_is_recalled(void)
{
	struct layer_host *one, *two;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	MUST(!layer_hosts_recalled());
	two->recalled = 1;
	MUST(layer_hosts_recalled() == two && !two->recalled && !layer_hosts_recalled());
	core_host_goes[1] = true;
	MUST(layer_hosts_recalled() == one);
	/* that is looked at again before long, also when nobody else wants the core */
	layer_host_pages[1].shared.user_only = 1;
	layer_hosts_halts(NULL);
	layer_hosts_halts(two);
	turn();
	MUST(turn() == 1 && layer_hosts_next() == core_now + SLICE);
	layer_host_pages[1].shared.user_only = 0;
	goes(two);
	goes(one);
}

/* Whoever has had a triple fault has no turn any more, and others go on.  Nothing comes back: the last test. */
void test_lost(void)
{
	struct layer_host *one, *two;

	hosts_begin();
	one = comes(1);
	two = comes(2);
	layer_hosts_halts(two);
	layer_hosts_lost(one, 0x1234);
	MUST(layer_host_pages[1].shared.gone && layer_host_pages[1].shared.gone_at == 0x1234);
	MUST(turn() == OWN);
	/* while an RTOS has the core it cannot flee, and its deadline is nobody's business */
	core_shared.refuge = 1;
	core_shared.deadline = core_now + 100;
	layer_hosts_lost(NULL, 0x5678);
	MUST(core_shared.gone && core_shared.gone_at == 0x5678);
	MUST(layer_hosts_refuge() == LAYER_HOSTS);
	MUST(turn() == -1 && !layer_hosts_alone());
	layer_timer_own(1);
	layer_timer_look();
	MUST(!core_ticks);
	core_host_pending[2] = true;
	MUST(turn() == 2);
	goes(two);
	MUST(turn() == -1 && !layer_hosts_alone() && layer_hosts_own_gone());
}

void test_hosts(void)
{
	test_it_flees();
	test_it_is_recalled();
	test_it_comes_and_goes();
	test_the_own_one_goes();
	test_turns();
	test_who_waits();
	test_interrupts_hurry();
	test_deadlines();
}
