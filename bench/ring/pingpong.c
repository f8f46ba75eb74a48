// SPDX-License-Identifier: GPL-2.0
/*
 * The anchor of the round trip: nothing but a cache line that goes back and forth,
 * store-release on one side, load-acquire on the other.
 */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/*
 * How far a line is from a processor depends on its address.  A ring has many, so
 * the ball has as many and each round throws another one.
 */
#define BALLS	64

struct ball {
	/* a line and its neighbour, which the processor may fetch along, for each */
	uint64_t there __attribute__((aligned(128)));
	uint64_t back __attribute__((aligned(128)));
	uint64_t thrown __attribute__((aligned(128)));	/* near's: in earlier rounds */
	uint64_t caught __attribute__((aligned(128)));	/* far's, the same */
};

struct table {
	struct ball ball[BALLS];
	unsigned near_round __attribute__((aligned(128)));
	unsigned far_round __attribute__((aligned(128)));
};

static void *make(unsigned slots)
{
	struct table *t = aligned_alloc(4096, (sizeof(*t) + 4095) / 4096 * 4096);

	(void)slots;
	if (t)
		memset(t, 0, sizeof(*t));
	return t;
}

static void await(uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		wait_a_bit();
}

/* One line per direction, as two rings have. */
static void two_near(void *queue, uint64_t n)
{
	struct table *t = queue;
	struct ball *b = &t->ball[t->near_round++ % BALLS];

	for (uint64_t i = 1; i <= n; i++) {
		__atomic_store_n(&b->there, b->thrown + i, __ATOMIC_RELEASE);
		await(&b->back, b->thrown + i);
	}
	b->thrown += n;
}

static void two_far(void *queue, uint64_t n, struct sums *s)
{
	struct table *t = queue;
	struct ball *b = &t->ball[t->far_round++ % BALLS];

	for (uint64_t i = 1; i <= n; i++) {
		await(&b->there, b->caught + i);
		__atomic_store_n(&b->back, b->caught + i, __ATOMIC_RELEASE);
		word_check(s, i - 1, i - 1);
	}
	b->caught += n;
}

/* The same line both ways. */
static void one_near(void *queue, uint64_t n)
{
	struct table *t = queue;
	struct ball *b = &t->ball[t->near_round++ % BALLS];

	for (uint64_t i = 1; i <= n; i++) {
		__atomic_store_n(&b->there, b->thrown + 2 * i - 1, __ATOMIC_RELEASE);
		await(&b->there, b->thrown + 2 * i);
	}
	b->thrown += 2 * n;
}

static void one_far(void *queue, uint64_t n, struct sums *s)
{
	struct table *t = queue;
	struct ball *b = &t->ball[t->far_round++ % BALLS];

	for (uint64_t i = 1; i <= n; i++) {
		await(&b->there, b->caught + 2 * i - 1);
		__atomic_store_n(&b->there, b->caught + 2 * i, __ATOMIC_RELEASE);
		word_check(s, i - 1, i - 1);
	}
	b->caught += 2 * n;
}

const struct contender pingpong_contenders[] = {
	{ "cache line each way", PING, make, two_near, two_far },
	{ "the same line both ways", PING, make, one_near, one_far },
	{ 0 },
};
