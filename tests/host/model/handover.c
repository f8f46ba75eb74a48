// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks that are sent, as ikc_write() and its receiver do it: the block is put on
 * its way, then the message is written that names it; the receiver believes the
 * message if it can accept the block.  A word stands for a message: that a ring
 * brings each of them once is the ring's scenarios' affair.
 */
#include <string.h>
#include "heap_scenarios.h"

#define MESSAGES	2

static struct {
	__u64 message[MODEL_THREADS][MODEL_THREADS][MESSAGES];	/* [from][to] */
	__u32 gone;	/* nothing more is sent: the sender knows its receiver is dead */
	__u32 unused;
} post;

void handover_setup(void)
{
	memset(&post, 0, sizeof(post));
	model_share(&post, sizeof(post));
}

/* The receiver is dead.  What cannot be had back was recalled and is nobody's now. */
static void take_back(const struct scenario *s, unsigned int from, unsigned int slot,
		      __u64 block, unsigned int to)
{
	int ret = ikc_heap_unsend(&heap[from], OFFSET(block), kernel_of(s, to));

	model_note(&note.flight[from][slot], 8, 0);
	if (!ret)
		own(from, slot, block);
}

void handover_send(const struct scenario *s, unsigned int from, unsigned int slot,
		   unsigned int to)
{
	__u64 block = note.block[from][slot], n = note.sent[from][to];

	if (!block)
		return;
	MODEL_CHECK(n < MESSAGES, "too many messages");
	model_note(&note.sent[from][to], 8, n + 1);
	model_note(&note.block[from][slot], 8, 0);
	model_note(&note.flight[from][slot], 8, FLIGHT(block, to));
	MODEL_CHECK(!ikc_heap_send(&heap[from], OFFSET(block), kernel_of(s, to)),
		    "an own block is refused");
	if (s->victim == (int)to && READ_ONCE(post.gone))
		take_back(s, from, slot, block, to);
	else
		smp_store_release(&post.message[from][to][n], block);
}

/* Refused may be only what a dead sender had sent. */
static bool accept(const struct scenario *s, unsigned int to, unsigned int from,
		   __u64 block)
{
	bool ok = ikc_heap_accept(&heap[to], OFFSET(block), SIZE(CLASS(block)),
				  heap[from].owner);
	unsigned int i;

	MODEL_CHECK(ok || (s->victim == (int)from && note.reclaiming),
		    "a block that was sent is refused");
	for (i = 0; ok && i < SLOTS; i++)
		if (OFFSET(note.flight[from][i]) == OFFSET(block))
			model_note(&note.flight[from][i], 8, 0);
	return ok;
}

void handover_take(const struct scenario *s, unsigned int to, unsigned int slot,
		   unsigned int from)
{
	__u64 n = note.taken[from][to], block;

	if (n == MESSAGES)
		return;
	block = smp_load_acquire(&post.message[from][to][n]);
	if (!block)
		return;
	model_note(&note.taken[from][to], 8, n + 1);
	if (accept(s, to, from, block))
		own(to, slot, block);
}

void handover_recall(const struct scenario *s, unsigned int thread, unsigned int to)
{
	unsigned int i;

	if (s->victim == (int)to)
		model_wait_for_victim();
	model_note(&note.gone, 8, to + 1);
	WRITE_ONCE(post.gone, 1);
	if (!model_misuse("recall"))
		ikc_heap_recall(&heap[thread], kernel_of(s, to));
	for (i = 0; i < MODEL_THREADS && model_misuse("recall_all"); i++)
		ikc_heap_recall(&heap[thread], kernel_of(s, i));
}

/* What the living have sent to the living must still be there. */
void handover_finish(const struct scenario *s)
{
	unsigned int from, to;
	__u64 i;

	for (from = 0; from < s->threads; from++)
		for (to = 0; to < s->threads; to++) {
			if (s->victim == (int)from || s->victim == (int)to)
				continue;
			for (i = note.taken[from][to]; i < note.sent[from][to]; i++) {
				__u64 block = post.message[from][to][i];

				if (accept(s, to, from, block))
					ikc_heap_free(&heap[to], OFFSET(block));
			}
		}
}
