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

static u64 late_deadline;	/* its interrupt is on its way, or just given; 0: none */
static u64 late_given;		/* when it was entered with an interrupt last */

static struct layer_late *late(void)
{
	return &layer_shared()->late;
}

void layer_late_begin(void)
{
	*late() = (struct layer_late) { .min = ~0ull };
	late_deadline = 0;
}

/* A deadline has come, and its interrupt is on its way. */
void layer_late_due(u64 deadline)
{
	late_deadline = deadline;
}

/* It is entered with an interrupt, now. */
void layer_late_given(void)
{
	late_given = layer_arch_now();
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

static void late_record(u64 cycles)
{
	struct layer_late *l = late();
	u32 *bucket = &l->buckets[late_bucket(cycles)];

	l->count++;
	l->sum += cycles;
	if (cycles < l->min)
		l->min = cycles;
	if (cycles > l->max)
		l->max = cycles;
	*bucket += *bucket != ~0u;
}

/* It was left.  If it had interrupts off, that its interrupt comes again is its own doing. */
void layer_late_exited(void)
{
	if (!late_deadline)
		return;
	late_record(late_given - late_deadline);
	late_deadline = 0;
}
