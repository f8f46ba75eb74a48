// SPDX-License-Identifier: GPL-2.0
/* The core's timer: when Linux gets its tick, and the RTOS its interrupt. */
#include "test.h"

static const struct layer_rt_start unlimited;

/* Linux's half of it, as in kernel/spumone/clock.c. */
static void linux_wants(u64 deadline)
{
	core_shared.deadline = deadline;
	if (deadline && (!core_shared.armed || deadline < core_shared.armed))
		layer_timer_look();
}

/* Time goes on until the timer fires, if it is on. */
static void fire(void)
{
	core_now += core_ticks * CORE_CYCLES_PER_TICK;
	core_ticks = 0;
	layer_timer_fired();
	layer_timer_look();
}

static void test_ownership(void)
{
	core_reset();
	linux_wants(core_now + 1000);
	CHECK(!core_ticks && !core_shared.armed);	/* it is Linux's own */
	layer_timer_own(1);
	layer_timer_look();
	CHECK(core_ticks && core_shared.armed == core_shared.deadline);
	layer_timer_own(0);
	CHECK(!core_ticks && !core_shared.armed);
}

static void test_one_tick(void)
{
	u64 deadline;

	core_reset();
	layer_timer_own(1);
	deadline = core_now + 100000;
	CHECK(!layer_timer_due());
	linux_wants(deadline);
	CHECK(!layer_timer_due());
	core_now = deadline;
	CHECK(layer_timer_due());	/* it has fired, or is about to */
	core_now = deadline - 100000;
	fire();
	CHECK(!layer_timer_due());
	CHECK(core_ticked == 1 && core_now >= deadline && core_now < deadline + 2 * CORE_CYCLES_PER_TICK);
	CHECK(!core_shared.deadline && !core_shared.armed && !core_ticks);
	layer_timer_look();
	CHECK(core_ticked == 1);	/* once */
}

static void test_in_the_past(void)
{
	core_reset();
	layer_timer_own(1);
	linux_wants(core_now - 5);
	CHECK(core_ticked == 1 && core_shared.counts.late_max == 5);
	linux_wants(1);
	CHECK(core_ticked == 2);
}

/* Further away than any timer counts: it is set again on the way. */
static void test_far_away(void)
{
	unsigned int fired = 0;
	u64 deadline;

	core_reset();
	layer_timer_own(1);
	deadline = core_now + (5ull << 31);
	linux_wants(deadline);
	while (!core_ticked && fired++ < 100)
		fire();
	CHECK(core_ticked == 1 && core_now >= deadline);
	CHECK(fired > 3);
}

static void test_earlier_and_later(void)
{
	u64 armed;

	core_reset();
	layer_timer_own(1);
	linux_wants(core_now + 50000);
	armed = core_ticks;
	linux_wants(core_now + 20000);
	CHECK(core_ticks < armed);
	armed = core_ticks;
	linux_wants(core_now + 90000);	/* not worth a call: it fires for nothing, and is set again */
	CHECK(core_ticks == armed);
	fire();
	CHECK(!core_ticked && core_ticks);
	fire();
	CHECK(core_ticked == 1);
	linux_wants(0);
	layer_timer_look();
	CHECK(core_ticked == 1);
}

/* Two that have deadlines: the timer is set for the earlier one. */
static void test_beside_an_rtos(void)
{
	core_reset();
	layer_timer_own(1);
	core_begin(&unlimited);
	layer_rt_halt(core_first);
	linux_wants(core_now + 50000);
	layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, core_now + 20000, 0);
	layer_timer_look();
	CHECK(core_shared.armed == core_now + 20000);
	CHECK(!layer_guests_look());
	fire();
	CHECK(layer_guests_look() && !core_ticked);
	CHECK(layer_rt_take(core_first) == SHIMOS_RT_TIMER && layer_rt_take(core_first) == -1);

	/* while it runs, Linux's deadline waits */
	core_now += 100000;
	layer_timer_look_rtos(core_first);
	CHECK(!core_ticked);
	layer_timer_look();
	CHECK(core_ticked == 1);
}

static void test_rtos_calls(void)
{
	core_reset();
	CHECK(!layer_guests_look());
	layer_rt_raise(core_first, SHIMOS_RT_BELL);	/* for nobody */
	core_begin(&unlimited);
	CHECK(layer_guests_look() && layer_rt_take(core_first) == -1);
	CHECK(layer_rt_call(core_first, 99, 0, 0) == -1);
	CHECK(layer_rt_call(core_first, SHIMOS_RT_CALL_READY, 0, 0) == 0 && core_first_shared.rt.ready);
	CHECK(!core_rings);	/* Linux has no bell yet */
	core_first_shared.host_bell = 0x123456789;
	CHECK(layer_rt_call(core_first, SHIMOS_RT_CALL_READY, 0, 0) == 0 && core_rings == 1);
	CHECK(layer_rt_call(core_first, SHIMOS_RT_CALL_RING, 0, 0) == 0 && core_rings == 2);
	CHECK(core_rang == 0x123456789);

	/* a deadline in the past comes at once, and is counted; both are there, the timer first */
	CHECK(layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, core_now - 5, 0) == 0);
	CHECK(core_first_shared.rt.past == 1);
	layer_rt_halt(core_first);
	layer_rt_raise(core_first, SHIMOS_RT_BELL);
	layer_guests_look();
	CHECK(layer_rt_take(core_first) == SHIMOS_RT_TIMER && layer_rt_take(core_first) == SHIMOS_RT_BELL);
	layer_guests_look();
	CHECK(layer_rt_take(core_first) == -1);

	CHECK(layer_rt_call(core_first, SHIMOS_RT_CALL_END, SHIMOS_RT_END_FAILED, 7) == 0);
	CHECK(!layer_guests_look() && core_first_shared.rt.state == LAYER_RT_ENDED && core_rings == 3);
	CHECK(core_first_shared.rt.why == SHIMOS_RT_END_FAILED && core_first_shared.rt.at == 7);
}

void test_timer(void)
{
	test_beside_an_rtos();
	test_rtos_calls();
	test_ownership();
	test_one_tick();
	test_in_the_past();
	test_far_away();
	test_earlier_and_later();
}

/* Whatever Linux writes: an honest deadline is kept, and nothing else ticks. */
void fuzz_timer(u64 seed)
{
	unsigned int i, ticked;
	u64 deadline;

	random_seed(seed);
	core_reset();
	layer_timer_own(1);
	for (i = 0; i < 100000; i++) {
		ticked = core_ticked;
		if (random_below(4) == 0)
			core_shared.armed = random_u64();	/* its own page, too, it may spoil */
		deadline = random_below(8) ? core_now + random_below(1 << 20) : random_u64();
		core_shared.deadline = deadline;
		layer_timer_look();
		MUST(core_ticked == ticked + (deadline && (s64)(core_now - deadline) >= 0));
		core_now += random_below(1 << 16);
		while (core_shared.deadline && (s64)(core_now - core_shared.deadline) < 1 << 20 &&
		       core_ticks && (s64)(core_shared.deadline - core_now) < 1 << 22) {
			fire();
			if (core_ticked > ticked)
				break;
		}
	}
}
