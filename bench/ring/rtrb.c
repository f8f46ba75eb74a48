// SPDX-License-Identifier: GPL-2.0
/* The table for the functions in rtrb/src/lib.rs. */
#include "measure.h"

void *rtrb_make(unsigned slots);
void rtrb_send(void *queue, uint64_t n);
void rtrb_receive(void *queue, uint64_t n, struct sums *s);
void rtrb_send_batches(void *queue, uint64_t n);
void rtrb_receive_batches(void *queue, uint64_t n, struct sums *s);
void *rtrb_make_words(unsigned slots);
void rtrb_send_words(void *queue, uint64_t n);
void rtrb_receive_words(void *queue, uint64_t n, struct sums *s);

const struct contender rtrb_contenders[] = {
	{ "rtrb", ONE, rtrb_make, rtrb_send, rtrb_receive },
	{ "rtrb", BATCHES, rtrb_make, rtrb_send_batches, rtrb_receive_batches },
	{ "rtrb", WORD, rtrb_make_words, rtrb_send_words, rtrb_receive_words },
	{ 0 },
};
