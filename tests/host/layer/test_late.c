// SPDX-License-Identifier: GPL-2.0
/* How late the RTOS's timer interrupts are, as the layer counts it. */
#include "test.h"

static const struct layer_rt_start unlimited;

/* An RTOS that has the core from now on. */
static void begin(const struct layer_rt_start *start)
{
	turns_reset();
	turns_exit();
	core_begin(start);
	turns_go_on();
	MUST(turns_rtos);
}

/* It asks for its interrupt, which takes the layer so many cycles, and halts. */
static void ask_and_halt(u64 deadline, u64 cycles)
{
	turns_exit();
	layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, deadline, 0);
	core_now += cycles;
	turns_go_on();
	turns_exit();
	layer_rt_halt(core_first);
	turns_go_on();
}

/* The timer's interrupt comes at a time, and the layer looks at it. */
static void fire_at(u64 when)
{
	core_now = when;
	core_ticks = 0;
	turns_exit();
	layer_timer_fired();
	turns_go_on();
}

/* So many have been counted, and late so much together. */
static bool counted(u64 count, u64 sum)
{
	const struct layer_late *late = &core_first_shared.late;
	u64 in_buckets = 0;
	unsigned int i;

	for (i = 0; i < LAYER_LATE_BUCKETS; i++)
		in_buckets += late->buckets[i];
	return late->count == count && in_buckets == count && late->sum == sum;
}

static void test_from_deadline_to_entry(void)
{
	u64 deadline;

	begin(&unlimited);
	deadline = core_now + 5000;
	ask_and_halt(deadline, 0);
	CHECK(!turns_rtos);
	fire_at(deadline + 41);
	CHECK(turns_rtos && core_first_shared.rt.timers == 1);
	CHECK(counted(0, 0));		/* not before it is left: the deadline would wait for it */
	core_now += 1000;		/* its handler */
	turns_exit();
	CHECK(counted(1, 41) && core_first_shared.late.buckets[41] == 1);
	CHECK(core_first_shared.late.min == 41 && core_first_shared.late.max == 41);
	turns_go_on();

	deadline = core_now + 5000;
	ask_and_halt(deadline, 0);
	fire_at(deadline + 20);
	turns_exit();
	CHECK(counted(2, 61) && core_first_shared.late.min == 20 && core_first_shared.late.max == 41);

	/* as new */
	core_begin(&unlimited);
	CHECK(counted(0, 0) && !core_first_shared.late.max && core_first_shared.late.min > 41);
	layer_rt_exited(core_first);
	CHECK(counted(0, 0));
}

/* It is late from the moment when it asks: what was before is its own doing. */
static void test_over_when_asked(void)
{
	begin(&unlimited);
	ask_and_halt(core_now - 100000, 7);
	CHECK(core_first_shared.rt.past == 1 && counted(1, 7));
	ask_and_halt(1, 9);
	CHECK(core_first_shared.rt.past == 2 && counted(2, 16));
}

/* What comes for another reason is not counted, nor is what comes again. */
static void test_nothing_else(void)
{
	u64 deadline;

	begin(&unlimited);
	layer_rt_raise(core_first, SHIMOS_RT_BELL);
	turns_go_on();
	turns_exit();
	CHECK(counted(0, 0));
	turns_go_on();

	deadline = core_now + 5000;
	ask_and_halt(deadline, 0);
	fire_at(deadline + 3);
	/* it had interrupts off, and has not taken it */
	turns_exit();
	layer_rt_raise(core_first, SHIMOS_RT_TIMER);
	core_now += 500;
	turns_go_on();
	turns_exit();
	CHECK(core_first_shared.rt.timers == 1 && counted(1, 3));
}

/* One that may not run yet has its interrupt when it may. */
static void test_budget_used_up(void)
{
	const struct layer_rt_start start = { .budget = 40000, .period = 100000 };
	u64 began, deadline;

	begin(&start);
	began = core_now;
	deadline = began + 60000;
	turns_exit();
	layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, deadline, 0);
	turns_go_on();
	fire_at(began + 40000);
	CHECK(!turns_rtos && core_first_shared.rt.throttled == 1);
	fire_at(deadline);
	CHECK(!turns_rtos);
	fire_at(began + 100000);
	CHECK(turns_rtos);
	turns_exit();
	CHECK(core_first_shared.rt.timers == 1 && counted(1, 40000));
}

/* The last one counts, too; one that it did not live to see does not. */
static void test_ends(void)
{
	u64 deadline;

	begin(&unlimited);
	deadline = core_now + 5000;
	ask_and_halt(deadline, 0);
	fire_at(deadline + 5);
	turns_exit();
	layer_rt_call(core_first, SHIMOS_RT_CALL_END, SHIMOS_RT_END_STOPPED, 0);
	turns_go_on();
	CHECK(!turns_rtos && counted(1, 5));
}

/* The least value of a bucket, by what uapi/shimos_rt_interrupts.h says of them. */
static u64 least_of(unsigned int bucket)
{
	u64 from = 0, width = 1;
	unsigned int i;

	for (i = 0; i < bucket; i++) {
		from += width;
		/* the next octave */
		if (from >= 2 * SHIMOS_RT_LATENCY_STEPS && !(from & (from - 1)))
			width *= 2;
	}
	return from;
}

static void count_one(u64 cycles)
{
	core_now = cycles + 1;
	core_first->deadline = 1;
	layer_late_due(core_first);
	layer_late_given(core_first);
	layer_late_exited(core_first);
}

static void test_buckets(void)
{
	u32 *buckets = core_first_shared.late.buckets;
	unsigned int i;
	u64 least, next;

	core_reset();
	for (i = 0; i < LAYER_LATE_BUCKETS; i++) {
		layer_late_begin(core_first);
		least = least_of(i);
		next = i + 1 < LAYER_LATE_BUCKETS ? least_of(i + 1) : ~0ull - 1;
		count_one(least);
		count_one(next - 1);
		CHECK(buckets[i] == 2 && core_first_shared.late.min == least && core_first_shared.late.max == next - 1);
	}
	CHECK(least_of(LAYER_LATE_BUCKETS - 1) == 1 << 21);
	layer_late_begin(core_first);
	buckets[7] = UINT32_MAX - 1;
	count_one(7);
	CHECK(buckets[7] == UINT32_MAX);
	count_one(7);
	CHECK(buckets[7] == UINT32_MAX && core_first_shared.late.count == 2);
}

void test_late(void)
{
	test_from_deadline_to_entry();
	test_over_when_asked();
	test_nothing_else();
	test_budget_used_up();
	test_ends();
	test_buckets();
}
