// SPDX-License-Identifier: GPL-2.0
/*
 * How late the RTOS gets its timer interrupts: from a deadline to the moment when it is
 * entered with the interrupt.  It need not help, nor know.
 *
 * A deadline waits for each instruction before that moment, so only the clock is read
 * there.  The rest is done when it is left again.  It cannot have asked for another
 * deadline before that, so there is one at most to remember.
 */
#include "layer.h"

#define LATE_STEPS	LAYER_LATE_STEPS	/* of an octave */
#define LATE_STEPS_LOG	5
#define LATE_BEYOND	(LAYER_LATE_BUCKETS - 1)

_Static_assert(LATE_STEPS == 1 << LATE_STEPS_LOG, "steps");

/**
 * layer_late_begin() - a new RTOS: nothing is known of how late it is
 * @g: which
 */
void layer_late_begin(struct layer_guest *g)
{
	g->shared->late = (struct layer_late) { .min = ~0ull };
	g->late_deadline = 0;
}

/**
 * layer_late_due() - its deadline has come, and its interrupt is on its way
 * @g: with its deadline still in it
 */
void layer_late_due(struct layer_guest *g)
{
	g->late_deadline = g->deadline;
}

/**
 * layer_late_given() - it is entered with an interrupt, now
 * @g: gets the core
 */
void layer_late_given(struct layer_guest *g)
{
	g->late_given = layer_arch_now();
}

/* Below twice the steps each value has its own; from there on each octave's are twice as wide. */
static unsigned int late_bucket(u64 cycles)
{
	unsigned int octave, bucket;

	if (cycles < LATE_STEPS)
		return cycles;
	octave = 63 - __builtin_clzll(cycles) - LATE_STEPS_LOG;
	bucket = octave * LATE_STEPS + (cycles >> octave);
	return bucket < LATE_BEYOND ? bucket : LATE_BEYOND;
}

static void late_record(struct layer_late *l, u64 cycles)
{
	u32 *bucket = &l->buckets[late_bucket(cycles)];

	l->count++;
	l->sum += cycles;
	if (cycles < l->min)
		l->min = cycles;
	if (cycles > l->max)
		l->max = cycles;
	*bucket += *bucket != ~0u;
}

/**
 * layer_late_exited() - it was left
 * @g: had the core
 *
 * If it had interrupts off, that its interrupt comes again is its own doing.
 */
void layer_late_exited(struct layer_guest *g)
{
	if (!g->late_deadline)
		return;
	late_record(&g->shared->late, g->late_given - g->late_deadline);
	g->late_deadline = 0;
}
