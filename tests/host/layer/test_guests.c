// SPDX-License-Identifier: GPL-2.0
/* Several RTOSes on a core: who goes first, who pays, and how one goes to another core. */
#include "test.h"

static void begin(unsigned int number, u64 priority, u64 budget, u64 period)
{
	layer_guest_pages[number].shared.start = (struct layer_rt_start) {
		.priority = priority, .budget = budget, .period = period,
	};
	turns_exit();
	layer_guests_begin(number);
	turns_go_on();
}

static void ring_all(void)
{
	turns_exit();
	layer_guests_ring();
	turns_go_on();
}

static void look(void)
{
	turns_exit();
	turns_go_on();
}

static bool has(unsigned int number)
{
	return turns_rtos && turns_guest == core_guest(number);
}

static void halt(void)
{
	MUST(turns_rtos);
	turns_exit();
	layer_rt_halt(turns_guest);
	turns_go_on();
}

static void ask(u64 deadline)
{
	MUST(turns_rtos);
	turns_exit();
	layer_rt_call(turns_guest, SHIMOS_RT_CALL_TIMER, deadline, 0);
	turns_go_on();
}

static void fire(void)
{
	MUST(core_ticks);
	core_now = core_fires;
	core_ticks = 0;
	turns_exit();
	layer_timer_fired();
	turns_go_on();
}

static bool fires_at(u64 when)
{
	return core_ticks && core_fires >= when && core_fires <= when + CORE_CYCLES_PER_TICK;
}

static struct layer_rt *rt(unsigned int number)
{
	return &layer_guest_pages[number].shared.rt;
}

/* It fires, and nobody looks yet. */
static void forget_timer(void)
{
	core_ticks = 0;
	layer_timer_fired();
}

/* A deadline comes while somebody else is about to get the core: the timer is not set for that first. */
static void test_at_the_last_moment(void)
{
	u64 soon;

	turns_reset();
	soon = core_now + 1000;
	begin(0, 90, 0, 0);
	ask(soon);
	halt();
	begin(1, 10, 0, 0);
	CHECK(has(1) && fires_at(soon));

	turns_exit();
	forget_timer();
	CHECK(layer_guests_look() == core_guest(1));
	core_now = soon;
	CHECK(!layer_timer_look_rtos(core_guest(1)) && !core_ticks);
	/* it is seen now, and the other one is not kept away by it again */
	CHECK(layer_guests_look() == core_guest(0));
	CHECK(layer_timer_look_rtos(core_guest(1)));
	turns_go_on();
	CHECK(has(0));

	/* and if it is Linux */
	soon = core_now + 1000;
	ask(soon);
	halt();
	halt();
	CHECK(!turns_rtos && fires_at(soon));
	turns_exit();
	forget_timer();
	CHECK(!layer_guests_look() && layer_timer_look() && core_ticks);
	forget_timer();
	core_now = soon;
	CHECK(!layer_timer_look() && !core_ticks);
	turns_go_on();
	CHECK(has(0));
}

static void test_priorities(void)
{
	turns_reset();
	begin(2, 50, 0, 0);
	CHECK(has(2));
	begin(0, 50, 0, 0);
	CHECK(has(2));		/* who came first */
	begin(1, 60, 0, 0);
	CHECK(has(1));
	begin(3, 40, 0, 0);
	CHECK(has(1));
	halt();
	CHECK(has(2));
	halt();
	CHECK(has(0));
	halt();
	CHECK(has(3));
	halt();
	CHECK(!turns_rtos && !core_shared.counts.rung);
	ring_all();
	CHECK(has(1) && rt(1)->entered == 2);
	/* it does not say for whom: all but those that have ended have heard it */
	CHECK(core_shared.counts.rung == 1 && rt(1)->bells == 1 && rt(3)->bells == 1);
	turns_exit();
	layer_rt_call(turns_guest, SHIMOS_RT_CALL_END, 0, 0);
	turns_go_on();
	ring_all();
	CHECK(core_shared.counts.rung == 2 && rt(1)->bells == 1 && rt(3)->bells == 2);
	turns_exit();
	layer_guests_end(1);
	turns_go_on();
	begin(1, 60, 0, 0);
	CHECK(has(1) && !rt(1)->bells);
	halt();
	CHECK(has(2));
}

/* One with a higher priority takes the core at its deadline; one with a lower one waits for it. */
static void test_deadlines(void)
{
	u64 high, low;

	turns_reset();
	begin(0, 60, 0, 0);
	high = core_now + 5000;
	ask(high);
	CHECK(fires_at(high));
	halt();
	CHECK(!turns_rtos && fires_at(high));
	begin(1, 40, 0, 0);
	CHECK(has(1) && fires_at(high));
	low = core_now + 3000;
	ask(low);
	CHECK(fires_at(low));
	halt();
	CHECK(!turns_rtos && fires_at(low));
	fire();
	CHECK(has(1) && rt(1)->timers == 1 && fires_at(high));
	fire();
	CHECK(has(0) && rt(0)->timers == 1);

	/* while it runs, the other one's deadline is nobody's business */
	begin(2, 40, 0, 0);
	CHECK(has(0) && !core_ticks);
	halt();
	CHECK(has(1));
	ask(core_now + 100);
	halt();
	CHECK(has(2));
	ask(core_now + 5000);
	core_now += 50;
	ring_all();
	CHECK(has(0));
	fire();
	CHECK(has(0) && rt(1)->timers == 2 && !core_ticks);
	core_now += 1000;
	halt();
	CHECK(has(1) && layer_guest_pages[1].shared.late.count == 1);
	look();
	CHECK(layer_guest_pages[1].shared.late.count == 2 && layer_guest_pages[1].shared.late.max >= 950);
}

/* Each pays for what it has itself. */
static void test_budgets(void)
{
	u64 start;

	turns_reset();
	start = core_now;
	begin(0, 60, 10000, 100000);
	begin(1, 50, 20000, 100000);
	CHECK(has(0) && fires_at(start + 10000));
	fire();
	CHECK(has(1) && rt(0)->throttled == 1);
	/* for the budget that it has left, or until the first one has a new one */
	CHECK(fires_at(core_now + 20000));
	fire();
	CHECK(!turns_rtos && rt(1)->throttled == 1);
	CHECK(rt(0)->cycles >= 10000 && rt(0)->cycles <= 10000 + CORE_CYCLES_PER_TICK);
	CHECK(rt(1)->cycles >= 20000 && rt(1)->cycles <= 20000 + CORE_CYCLES_PER_TICK);
	CHECK(fires_at(start + 100000));
	fire();
	CHECK(has(0));
	fire();
	CHECK(has(1));
	core_now += 5000;
	halt();
	CHECK(!turns_rtos && rt(1)->cycles <= 25000 + 2 * CORE_CYCLES_PER_TICK);

	/* the first one's new budget takes the core from the second */
	turns_reset();
	start = core_now;
	begin(0, 60, 10000, 40000);
	begin(1, 50, 90000, 100000);
	fire();
	CHECK(has(1) && fires_at(start + 40000));
	fire();
	CHECK(has(0) && rt(1)->throttled == 0);
	fire();
	CHECK(has(1));
	CHECK(rt(1)->cycles >= 30000 - CORE_CYCLES_PER_TICK && rt(1)->cycles <= 30000);
}

/* Before it runs, Linux measures what the layer sees of an exit: nothing of an earlier run is in it. */
static void test_charge(void)
{
	turns_reset();
	layer_guest_pages[1].shared.start = (struct layer_rt_start) { .unseen = 500 };
	turns_exit();
	layer_guests_begin(1);
	layer_guests_end(1);
	turns_go_on();
	rt(1)->cycles = 0;
	turns_exit();
	layer_guests_charge(1);
	core_now += 70;
	turns_go_on();
	CHECK(!turns_rtos && rt(1)->cycles == 70);
}

/* What Linux has written is not believed. */
static void test_who_is_there(void)
{
	turns_reset();
	begin(LAYER_GUESTS - 1, 50, 0, 0);
	CHECK(has(LAYER_GUESTS - 1));
	turns_exit();
	layer_guests_begin(LAYER_GUESTS);	/* there is no such one */
	layer_guests_begin(~0ull);
	layer_guests_end(LAYER_GUESTS);
	layer_guests_end(1);			/* never begun */
	layer_guests_send(1);
	layer_guests_charge(~0ull);
	layer_guests_charge(LAYER_GUESTS - 1);	/* it runs, and pays for itself */
	rt(LAYER_GUESTS - 1)->timers = 77;
	layer_guests_begin(LAYER_GUESTS - 1);	/* twice */
	CHECK(rt(LAYER_GUESTS - 1)->timers == 77 && core_came == 1);
	layer_guest_pages[LAYER_GUESTS - 1].shared.move.core = LAYER_CORES;
	layer_guests_send(LAYER_GUESTS - 1);
	turns_go_on();
	CHECK(has(LAYER_GUESTS - 1) && !core_rings);
	turns_exit();
	layer_guests_end(LAYER_GUESTS - 1);
	turns_rtos = false;
	turns_go_on();
	CHECK(!turns_rtos && rt(LAYER_GUESTS - 1)->state == LAYER_RT_NONE);
	begin(LAYER_GUESTS - 1, 50, 0, 0);
	CHECK(has(LAYER_GUESTS - 1) && !rt(LAYER_GUESTS - 1)->timers);
}

#define OTHER	500

/* Off to another core: its word has it, its bell rings, and here it is gone. */
static void leave_for(unsigned int number, u64 core)
{
	layer_guest_pages[number].shared.move = (struct layer_rt_move) { .core = core, .bell = 99 };
	turns_exit();
	layer_guests_send(number);
	turns_go_on();
}

static void test_moves(void)
{
	u64 deadline;

	turns_reset();
	begin(0, 60, 0, 0);
	begin(1, 50, 10000, 100000);
	halt();
	CHECK(has(1));
	core_now += 4000;
	deadline = core_now + 50000;
	ask(deadline);
	halt();
	CHECK(!turns_rtos && fires_at(deadline));
	leave_for(1, OTHER);
	CHECK(layer_coming[OTHER] == 1 << 1 && core_rang == 99 && core_rings == 1);
	CHECK(core_guest(1)->core == LAYER_GUEST_AWAY && !layer_coming[CORE_NUMBER]);
	/* nobody has it: no call of Linux's reaches it */
	layer_guests_begin(1);
	layer_guests_end(1);
	layer_guests_send(1);
	CHECK(core_guest(1)->core == LAYER_GUEST_AWAY && core_rings == 1);
	turns_exit();
	layer_guests_charge(1);
	core_now += 100;
	turns_go_on();
	CHECK(rt(1)->cycles == 4000);
	ring_all();
	CHECK(has(0));
	halt();
	CHECK(!turns_rtos);

	/* the other core, where nobody was */
	leave_for(0, OTHER + 1);
	layer_params.core = OTHER;
	layer_guests_receive();
	CHECK(core_guest(1)->core == OTHER + 1 && !layer_coming[OTHER] && rt(1)->moves == 1);
	CHECK(core_came == 3);
	look();
	CHECK(!turns_rtos);
	/* a deadline that came on the way */
	leave_for(1, OTHER);
	core_now = deadline + 300;
	layer_guests_receive();
	CHECK(rt(1)->moves == 2 && rt(1)->moved_last >= 300 && rt(1)->moved_max == rt(1)->moved_last);
	look();
	CHECK(has(1) && rt(1)->timers == 1);
	turns_exit();
	CHECK(layer_guest_pages[1].shared.late.max == 300);
	turns_go_on();
	/* and what it had used of its budget is used */
	CHECK(fires_at(core_now + 6000));
	layer_guests_receive();		/* nobody comes */
	CHECK(rt(1)->moves == 2);
}

static void urgent(unsigned int number, u64 priority)
{
	layer_guest_pages[number].shared.start.priority = priority;
	turns_exit();
	layer_guests_priority(number);
	turns_go_on();
}

/* How urgent one is can change while it waits; nothing else of it does. */
static void test_other_priorities(void)
{
	u64 deadline;

	turns_reset();
	begin(0, 50, 10000, 100000);
	deadline = core_now + 5000;
	ask(deadline);
	halt();
	begin(1, 60, 0, 0);
	begin(2, 60, 0, 0);
	CHECK(has(1));
	halt();
	halt();
	CHECK(!turns_rtos);
	ring_all();
	CHECK(has(1));
	halt();
	halt();
	halt();
	CHECK(!turns_rtos && fires_at(deadline));
	/* to the top, with its deadline */
	urgent(0, 99);
	CHECK(!turns_rtos && fires_at(deadline));
	ring_all();
	CHECK(has(0));
	halt();
	CHECK(has(1));
	halt();
	halt();
	CHECK(!turns_rtos);
	/* beside those that have it already, behind them */
	urgent(0, 60);
	urgent(1, 60);
	ring_all();
	CHECK(has(2));
	halt();
	CHECK(has(0));
	halt();
	CHECK(has(1));
	halt();
	CHECK(!turns_rtos && fires_at(deadline));
	/* to the bottom, and what has come for it is not lost */
	urgent(0, 1);
	ring_all();
	CHECK(has(2));
	halt();
	CHECK(has(1));
	core_now = deadline + 100;
	look();
	CHECK(has(1) && rt(0)->timers == 1);
	halt();
	CHECK(has(0) && rt(0)->timers == 1 && rt(0)->exits >= 3);
	/* what it reads is what Linux said when it called; who is not here has no order */
	halt();
	halt();
	CHECK(!turns_rtos);
	layer_guest_pages[0].shared.start.priority = 99;
	ring_all();
	CHECK(has(2));
	urgent(3, 99);
	turns_exit();
	layer_guests_priority(LAYER_GUESTS);
	layer_guests_priority(~0ull);
	turns_go_on();
	CHECK(has(2) && !core_guest(3)->core);
}

void test_guests(void)
{
	test_at_the_last_moment();
	test_priorities();
	test_deadlines();
	test_budgets();
	test_charge();
	test_who_is_there();
	test_moves();
	test_other_priorities();
}
