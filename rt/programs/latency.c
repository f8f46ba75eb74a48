// SPDX-License-Identifier: GPL-2.0
/*
 * How late a timer's interrupts are, after cyclictest's idea: one a millisecond, by absolute
 * deadlines.  A line a second in cyclictest's format, but in cycles, and a histogram at the end.
 */
#include "board.h"
#include "period.h"

#define LATENCY_HERTZ	1000
#define LATENCY_BUCKETS	65536
#define LATENCY_WIDTH	4	/* cycles of a bucket */

/* All the handler's, except while interrupts are off. */
static struct {
	struct board_period period;
	uint64_t count;
	uint64_t early;		/* interrupts before their deadline, which are none */
	uint64_t missed;	/* deadlines that had passed at the interrupt of one before */
	uint64_t min, last, max, sum;
	uint64_t beyond;	/* what no bucket is for */
	uint32_t buckets[LATENCY_BUCKETS];
} latency;

static const uint64_t latency_activations = LATENCY_ACTIVATIONS;	/* 0: for ever */

static bool latency_over(void)
{
	return latency_activations && latency.count >= latency_activations;
}

static struct board_frame *latency_tick(struct board_frame *frame)
{
	uint64_t now = board_now();
	uint64_t late = now - latency.period.deadline;
	uint64_t passed = board_period_pass(&latency.period, now);

	if (passed) {
		latency.count++;
		latency.missed += passed - 1;
		latency.last = late;
		latency.sum += late;
		if (late < latency.min)
			latency.min = late;
		if (late > latency.max)
			latency.max = late;
		if (late / LATENCY_WIDTH < LATENCY_BUCKETS)
			latency.buckets[late / LATENCY_WIDTH]++;
		else
			latency.beyond++;
	} else {
		latency.early++;
	}
	board_timer(latency_over() ? 0 : latency.period.deadline);
	return frame;
}

/* Interrupts are off, but the next deadline is most of a period away. */
static void latency_say(void)
{
	board_print("T: 0 ( 0) P:99 I:%u C: %7lu Min: %6lu Act: %6lu Avg: %6lu Max: %6lu\n",
		    1000000 / LATENCY_HERTZ, latency.count, latency.min, latency.last,
		    latency.sum / latency.count, latency.max);
}

static void latency_say_histogram(void)
{
	unsigned int i;

	board_print("# Histogram, in cycles\n");
	for (i = 0; i < LATENCY_BUCKETS; i++) {
		if (latency.buckets[i])
			board_print("%06u %u\n", i * LATENCY_WIDTH, latency.buckets[i]);
	}
	board_print("# Total: %lu\n# Overflows: %lu\n# Missed: %lu\n# Early: %lu\n# Strays: %lu\n",
		    latency.count, latency.beyond, latency.missed, latency.early, board_strays());
}

void board_program(void)
{
	uint64_t said = 0;

	latency.min = UINT64_MAX;
	latency.period.length = board_cycles_per_second() / LATENCY_HERTZ;
	board_print("latency: %lu cycles per second, a deadline each %lu\n",
		    board_cycles_per_second(), latency.period.length);
	board_on(SHIMOS_RT_TIMER, latency_tick);
	board_ready();

	latency.period.deadline = board_now() + latency.period.length;
	board_timer(latency.period.deadline);
	while (!latency_over() && !board_asked_to_stop()) {
		board_idle();
		board_interrupts_off();
		if (latency.count / LATENCY_HERTZ != said) {
			said = latency.count / LATENCY_HERTZ;
			latency_say();
		}
	}
	board_timer(0);
	latency_say_histogram();
	board_end(SHIMOS_RT_END_STOPPED);
}
