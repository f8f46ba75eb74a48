// SPDX-License-Identifier: GPL-2.0
/* The RTOS's budget, at times that are chosen. */
#include "test.h"

#define BUDGET	40000ull
#define PERIOD	100000ull

/* An exit for nothing. */
static void look(void)
{
	turns_exit();
	turns_go_on();
}

/* Whoever has the core has it until the timer fires, for which the layer needs a time. */
static void fire_slowly(u64 cycles)
{
	MUST(core_ticks);
	core_now = core_fires;
	core_ticks = 0;
	turns_exit();
	core_now += cycles;
	layer_timer_fired();
	turns_go_on();
}

static void fire(void)
{
	fire_slowly(0);
}

/* So much time goes by, the timer firing in it, if it has to. */
static void pass(u64 cycles)
{
	u64 until = core_now + cycles;

	while (core_ticks && core_fires < until)
		fire();
	core_now = until;
}

static void ask(u64 deadline)
{
	MUST(turns_rtos);
	turns_exit();
	layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, deadline, 0);
	turns_go_on();
}

static void halt(void)
{
	MUST(turns_rtos);
	turns_exit();
	layer_rt_halt(core_first);
	turns_go_on();
}

static void ring(void)
{
	turns_exit();
	layer_rt_raise(core_first, SHIMOS_RT_BELL);
	turns_go_on();
}

static void begin(u64 budget, u64 period)
{
	const struct layer_rt_start start = { .budget = budget, .period = period };

	turns_reset();
	turns_exit();
	core_begin(&start);
	turns_go_on();
	MUST(turns_rtos);
}

/* The timer fires at a time, but for its own inexactness. */
static bool fires_at(u64 when)
{
	return core_ticks && core_fires >= when && core_fires <= when + CORE_CYCLES_PER_TICK;
}

/* ---- tests ---- */

static void test_unlimited(void)
{
	begin(0, PERIOD);
	CHECK(!core_ticks);
	core_now += 1000 * PERIOD;
	look();
	CHECK(turns_rtos && !core_ticks && !core_first_shared.rt.throttled);
	halt();
	CHECK(core_first_shared.rt.cycles == 1000 * PERIOD);
}

/* It never yields: stopped at its budget's end, and back when the period is over. */
static void test_endless(void)
{
	u64 start;
	int i;

	begin(BUDGET, PERIOD);
	start = core_now;
	CHECK(fires_at(start + BUDGET));
	core_now += BUDGET / 2;
	look();		/* an exit in between changes nothing */
	CHECK(turns_rtos && fires_at(start + BUDGET));
	fire();
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 1);
	CHECK(fires_at(start + PERIOD));
	core_now += 100;
	look();
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 1);
	fire();
	CHECK(turns_rtos);
	for (i = 1; i < 1000; i++) {
		fire();
		CHECK(!turns_rtos);
		fire();
		CHECK(turns_rtos);
	}
	CHECK(core_first_shared.rt.throttled == 1000);
	CHECK(core_first_shared.rt.cycles <= 1000 * BUDGET + CORE_CYCLES_PER_TICK);
	CHECK(core_first_shared.rt.cycles >= 1000 * (BUDGET - CORE_CYCLES_PER_TICK));
	CHECK(core_now <= start + 1000 * (PERIOD + CORE_CYCLES_PER_TICK));
}

/* What it has not used is there later in the period, and gone with the period. */
static void test_halted(void)
{
	u64 start;

	begin(BUDGET, PERIOD);
	start = core_now;
	core_now += 10000;
	halt();
	CHECK(!turns_rtos && core_first_shared.rt.cycles == 10000);
	pass(20000);
	ring();
	CHECK(turns_rtos && fires_at(core_now + 30000));
	pass(10000);
	halt();
	/* many periods later: a new one begins here */
	pass(start + 77 * PERIOD + 5 - core_now);
	ring();
	CHECK(turns_rtos && fires_at(core_now + BUDGET));
	fire();
	CHECK(!turns_rtos && fires_at(start + 78 * PERIOD + 5));
	CHECK(core_first_shared.rt.throttled == 1);
}

/* The end of a period may find it at work: it goes on with the new budget. */
static void test_over_the_end(void)
{
	begin(BUDGET, PERIOD);
	halt();
	pass(PERIOD - 1000);
	ring();
	CHECK(fires_at(core_now + BUDGET));
	fire();
	CHECK(turns_rtos && fires_at(core_now + BUDGET));
	fire();
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 1);
}

/* Deadlines of an RTOS that has no budget wait, and none is lost. */
static void test_deadlines_wait(void)
{
	u64 start, deadline;

	begin(BUDGET, PERIOD);
	start = core_now;
	deadline = start + BUDGET + 10000;
	ask(deadline);
	CHECK(fires_at(start + BUDGET));
	fire();
	CHECK(!turns_rtos && fires_at(start + PERIOD));
	core_now = deadline + 5;
	look();
	CHECK(!turns_rtos && core_first_shared.rt.timers == 1);
	fire();
	CHECK(turns_rtos);

	/* it halts with a little left, and its deadline finds that used up */
	core_now += BUDGET - 50;
	ask(core_now + 1000);
	halt();
	CHECK(!turns_rtos && fires_at(core_now + 1000) && core_first_shared.rt.throttled == 1);
	fire_slowly(60);
	CHECK(!turns_rtos && core_first_shared.rt.timers == 2 && core_first_shared.rt.throttled == 2);
	fire();
	CHECK(turns_rtos);
}

/* A deadline in the past comes at once and is counted, within the budget. */
static void test_past(void)
{
	unsigned int i;

	begin(BUDGET, PERIOD);
	for (i = 0; turns_rtos && i < 1000; i++) {
		core_now += 100;
		ask(core_now - 50);
	}
	CHECK(i == BUDGET / 100 && core_first_shared.rt.past == i && core_first_shared.rt.timers == i);
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 1);
}

/* One that does next to nothing, but often: the layer's time is charged to it. */
static void test_busy_layer(void)
{
	unsigned int i;
	u64 start;

	begin(BUDGET, PERIOD);
	start = core_now;
	for (i = 0; i < 10000; i++) {
		ask(core_now + 200);
		turns_exit();
		core_now += 300;	/* the layer's */
		layer_rt_halt(core_first);
		turns_go_on();
		fire_slowly(300);
		if (!turns_rtos)
			fire();
		MUST(turns_rtos);
	}
	CHECK(core_first_shared.rt.throttled > 10);
	CHECK(core_first_shared.rt.cycles >= i * 600);
	CHECK(core_first_shared.rt.cycles <= ((core_now - start) / PERIOD + 1) * BUDGET + 1000);
}

/* What the layer cannot see of a turn is charged with each. */
static void test_unseen(void)
{
	const struct layer_rt_start start = { .budget = BUDGET, .period = PERIOD, .unseen = 500 };

	turns_reset();
	turns_exit();
	core_begin(&start);
	turns_go_on();
	pass(1000);
	halt();
	CHECK(core_first_shared.rt.cycles == 1500);
	ring();
	CHECK(fires_at(core_now + BUDGET - 1500));
	fire();
	CHECK(core_first_shared.rt.cycles >= BUDGET + 500 && !turns_rtos);
	fire();
	CHECK(turns_rtos && core_first_shared.rt.throttled == 1);
	CHECK(core_fires <= core_now + BUDGET - 500 + CORE_CYCLES_PER_TICK);
}

/* What it took too much is taken from the next period. */
static void test_overrun(void)
{
	begin(BUDGET, PERIOD);
	core_now += BUDGET + 7000;	/* the timer is late */
	look();
	CHECK(!turns_rtos);
	fire();
	CHECK(turns_rtos && fires_at(core_now + BUDGET - 7000));

	/* more than the next period's, too */
	core_now += 2 * BUDGET;
	look();
	CHECK(!turns_rtos);
	fire();
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 2);
	fire();
	CHECK(turns_rtos && fires_at(core_now + BUDGET - 7000));

	/* a clock that jumps does not keep it away for long */
	core_now += 1ull << 50;
	look();
	fire();
	fire();
	CHECK(turns_rtos);
}

/* Linux's deadline comes while the RTOS has no budget; and while it runs, afterwards. */
static void test_beside_linux(void)
{
	u64 start;

	begin(BUDGET, PERIOD);
	start = core_now;
	core_shared.deadline = start + BUDGET + 20000;
	fire();
	CHECK(!turns_rtos && fires_at(start + BUDGET + 20000));
	fire();
	CHECK(core_ticked == 1 && !turns_rtos && fires_at(start + PERIOD));
	core_shared.deadline = start + PERIOD + 1000;
	fire();
	CHECK(turns_rtos);
	fire();
	CHECK(!turns_rtos && core_ticked == 2);
}

/* Whatever Linux writes: nothing stops for good. */
static void test_nonsense(void)
{
	static const u64 values[] = { 1, BUDGET, PERIOD, 1ull << 31, 1ull << 63, UINT64_MAX };
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		for (j = 0; j <= ARRAY_SIZE(values); j++) {
			turns_reset();
			turns_exit();
			core_begin(&(const struct layer_rt_start) {
				.budget = values[i], .period = j ? values[j - 1] : 0 });
			turns_go_on();
			for (k = 0; k < 100 && core_ticks; k++)
				fire();
			layer_guests_end(0);
			look();
			CHECK(!turns_rtos);
		}
	}
}

void test_budget(void)
{
	test_unlimited();
	test_endless();
	test_halted();
	test_over_the_end();
	test_deadlines_wait();
	test_past();
	test_busy_layer();
	test_unseen();
	test_overrun();
	test_beside_linux();
	test_nonsense();
}
