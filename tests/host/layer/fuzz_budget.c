// SPDX-License-Identifier: GPL-2.0
/*
 * An RTOS with a budget and a Linux that are both made up, at random, on a core where time
 * goes on at random, too.
 *
 * The rules: of any long time the RTOS has its budget's share at most, and what the timer is
 * late; when it wants to run and does not, it has had its budget in the period before, and
 * is soon back; nobody's deadline is lost; and each is counted, with how late it was.
 */
#include "test.h"

#define LATE		300	/* how much the timer's interrupt is, at most */
#define INTERVALS	8192	/* more than there are in a period */

static u64 budget, period;
static u32 halts, asks, far;	/* how often the RTOS does that, and Linux is away for long: of 16 */

/* What the layer must come to know by itself. */
static bool asleep;		/* the RTOS has halted */
static u64 pending;		/* its interrupts, a bit each */
static u64 asked;		/* its deadline */
static u64 late_from;		/* from here on its interrupt is late */
static u64 given_from, given_to;	/* it got it in between, just now; 0: it did not */
static u64 given_late_from;
static u64 counted, late_least, late_most;	/* interrupts, and how late they were together */
static u64 timers;
static u64 stopped_at;		/* when it wanted to run and did not, or 0 */
static u64 stops;

/* When it had the core, the layer's work for it included. */
static struct {
	u64 from, to;
} had[INTERVALS];
static unsigned int intervals;
static u64 has_from;		/* 0: it has it not */
static u64 had_all;

/* What the layer cannot see: how late it is, and a moment each time that it looks at the clock. */
static u64 slack(void)
{
	return LATE + CORE_CYCLES_PER_TICK + 20 * core_step;
}

static u64 had_since(u64 when)
{
	u64 sum = 0, from;
	unsigned int i;

	for (i = intervals; i && intervals - i < INTERVALS; i--) {
		if (had[(i - 1) % INTERVALS].to <= when)
			break;
		from = had[(i - 1) % INTERVALS].from;
		sum += had[(i - 1) % INTERVALS].to - (from > when ? from : when);
	}
	return sum;
}

static void note_time(u64 left)
{
	if (turns_rtos) {
		if (!has_from)
			has_from = left;
		MUST(core_now - has_from <= 2 * budget + 2 * slack());
	} else if (has_from) {
		had[intervals % INTERVALS].from = has_from;
		had[intervals++ % INTERVALS].to = core_now;
		had_all += core_now - has_from;
		has_from = 0;
	}
}

/* It is counted when the RTOS is left, which is at the next step. */
static void note_late(u64 left)
{
	const struct layer_late *late = &core_first_shared.late;

	if (given_to) {
		counted++;
		/* when it asks, the clock goes on until the layer has seen that */
		if (given_from > given_late_from + core_step)
			late_least += given_from - given_late_from - core_step;
		late_most += given_to - given_late_from;
	}
	MUST(late->count == counted && late->sum >= late_least && late->sum <= late_most);
	given_from = left;
	given_to = turns_taken & 1ull << SHIMOS_RT_TIMER ? core_now : 0;
	given_late_from = late_from;
}

static void note_interrupts(u64 left)
{
	if (core_first_shared.rt.timers != timers) {
		MUST(core_first_shared.rt.timers == ++timers);
		MUST(asked && asked <= core_now);
		asked = 0;
		pending |= 1ull << SHIMOS_RT_TIMER;
	}
	MUST(!asked || asked > left);
	MUST(!(turns_taken & ~pending));
	if (turns_taken)
		asleep = false;
	pending &= ~turns_taken;
	turns_taken = 0;
}

static void note_stops(void)
{
	if (turns_rtos || (asleep && !pending)) {
		stopped_at = 0;
		return;
	}
	if (!stopped_at) {
		stopped_at = core_now;
		MUST(core_first_shared.rt.throttled >= ++stops);
	}
	MUST(had_since(core_now - period) + slack() >= budget);
	MUST(core_now <= stopped_at + period + slack());
	MUST(core_ticks && core_fires <= stopped_at + period + slack());
}

static void note_linux(u64 left, u64 deadline, unsigned int ticked)
{
	if (deadline && !core_shared.deadline) {
		MUST(core_ticked == ticked + 1 && deadline <= core_now);
	} else {
		MUST(core_ticked == ticked && core_shared.deadline == deadline);
		if (deadline && !turns_rtos)
			MUST(deadline > left && core_ticks && core_fires <= deadline + slack());
	}
}

static u64 some_time(void)
{
	return random_below(1u << (4 + random_below(14)));
}

static void rtos_acts(void)
{
	if (random_below(16) < asks) {
		asked = core_now + some_time() - random_below(1000);
		late_from = asked > core_now ? asked : core_now;
		layer_rt_call(core_first, SHIMOS_RT_CALL_TIMER, asked, 0);
	}
	if (random_below(16) < halts) {
		asleep = true;
		layer_rt_halt(core_first);
	}
}

static void step(void)
{
	u64 until = core_now + some_time(), left, deadline;
	unsigned int ticked = core_ticked;
	bool fired;

	if (!turns_rtos && random_below(4) == 0) {
		core_shared.deadline = core_now + some_time();
		if (!core_shared.armed || core_shared.deadline < core_shared.armed)
			until = core_now;
	}
	if (!turns_rtos && random_below(1024) < far && !core_ticks)
		until += random_below(100) * period;
	fired = core_ticks && core_fires <= until;
	if (fired) {
		if (core_now < core_fires)
			core_now = core_fires;
		core_now += random_below(LATE);
		core_ticks = 0;
	} else {
		core_now = until;
	}
	left = core_now;
	deadline = core_shared.deadline;
	turns_exit();
	if (fired)
		layer_timer_fired();
	else if (turns_rtos)
		rtos_acts();
	if (random_below(16) == 0) {
		pending |= 1ull << SHIMOS_RT_BELL;
		layer_rt_raise(core_first, SHIMOS_RT_BELL);
	}
	turns_go_on();
	note_time(left);
	note_late(left);
	note_interrupts(left);
	note_stops();
	note_linux(left, deadline, ticked);
}

static void begin(void)
{
	struct layer_rt_start start = { 0 };

	turns_reset();
	period = 50000 + random_below(100000);
	budget = period * (5 + random_below(86)) / 100;
	core_step = 1 + random_below(30);
	halts = random_below(2) * random_below(16);
	asks = random_below(2) * random_below(16);
	far = random_below(2) * 8;
	asleep = false;
	pending = asked = timers = 0;
	given_to = counted = late_least = late_most = 0;
	stopped_at = stops = 0;
	has_from = had_all = intervals = 0;
	start.budget = budget;
	start.period = period;
	turns_exit();
	core_begin(&start);
	turns_go_on();
	MUST(turns_rtos);
	note_time(core_now);
}

void fuzz_budget(u64 seed)
{
	u64 began, periods, seen;
	unsigned int i, run;

	random_seed(seed);
	for (run = 0; run < 20; run++) {
		begin();
		began = core_now;
		for (i = 0; i < 20000; i++)
			step();
		periods = (core_now - began) / period + 1;
		MUST(had_all <= periods * budget + intervals * core_step + slack());
		seen = core_first_shared.rt.cycles;
		MUST(seen <= had_all + 2 * budget + slack() && seen + intervals * core_step + slack() >= had_all);
		/* one that never halts has all of it */
		if (!halts)
			MUST(had_all + (periods / 50 + 2) * budget + 3 * slack() >= (periods - 1) * budget);
	}
}
