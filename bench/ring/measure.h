/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all measurements share: the message, its check, and the table of things
 * that main.c runs on two pinned threads.
 */
#ifndef _MEASURE_H
#define _MEASURE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATCH	16
#define WORDS	7	/* a 64-byte slot less its header */

struct message {
	uint64_t word[WORDS];
};

/* What one side found: all of it must be right, or the round does not count. */
struct sums {
	uint64_t order;	/* 0, unless a message came at the wrong place */
	uint64_t sum;	/* of the other words */
};

typedef uint64_t pair_of_words __attribute__((vector_size(16), aligned(8), may_alias));

/*
 * Producer and consumer touch every word, so that none can be optimised away.
 * word[k] = i + k, written in the pieces in which copies of a message read it:
 * smaller ones could not be forwarded from the store buffer, and what would be
 * measured, with every queue, is that.
 */
static inline void message_fill(struct message *m, uint64_t i)
{
	pair_of_words pair = { i, i + 1 };

	*(pair_of_words *)&m->word[0] = pair;
	*(pair_of_words *)&m->word[2] = pair + 2;
	*(pair_of_words *)&m->word[4] = pair + 4;
	m->word[6] = i + 6;
}

static inline void message_check(struct sums *s, const struct message *m, uint64_t i)
{
	s->order |= m->word[0] ^ i;
#pragma GCC unroll 8
	for (int k = 1; k < WORDS; k++)
		s->sum += m->word[k];
}

static inline void word_check(struct sums *s, uint64_t word, uint64_t i)
{
	s->order |= word ^ i;
	s->sum += word;
}

/* Both sides wait in the same way everywhere: by looking again at once, or after a pause. */
extern int with_pause;

static inline void wait_a_bit(void)
{
	if (with_pause)
		__builtin_ia32_pause();
	else
		__asm__ __volatile__("" ::: "memory");
}

/* One queue; `near` runs on one CPU (it produces or begins), `far` on the other. */
struct contender {
	const char *name;
	enum { PING, ONE, BATCHES, WORD } kind;
	void *(*make)(unsigned slots);
	void (*near)(void *queue, uint64_t n);
	void (*far)(void *queue, uint64_t n, struct sums *sums);
};

extern const struct contender pingpong_contenders[], ours_contenders[], boost_contenders[],
	rtrb_contenders[];

#ifdef __cplusplus
}
#endif
#endif
