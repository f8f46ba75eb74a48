/* SPDX-License-Identifier: GPL-2.0 */
/* What the allocator's scenarios share: blocks, and who has them. */
#ifndef _HEAP_SCENARIOS_H
#define _HEAP_SCENARIOS_H

#include "world.h"
#include "heap.h"

#define SIZE(class)	(1ULL << (IKC_BLOCK_SHIFT + (class)))
#define SLOTS		4		/* blocks that a thread may hold */

/* A block is its offset and its class, and to which thread it is on its way. */
#define BLOCK(offset, class)	((offset) | (__u64)(class) << 32)
#define FLIGHT(block, to)	((block) | (__u64)(to) << 40)
#define OFFSET(block)		((block) & 0xffffffff)
#define CLASS(block)		((block) >> 32 & 0xff)
#define TO(flight)		((flight) >> 40)

/* What the properties are about. */
extern struct note {
	__u64 block[MODEL_THREADS][SLOTS];
	__u64 flight[MODEL_THREADS][SLOTS];	/* by sender */
	__u64 sent[MODEL_THREADS][MODEL_THREADS];	/* [from][to]: messages */
	__u64 taken[MODEL_THREADS][MODEL_THREADS];
	__u64 freed;		/* frees of the prepared block that succeeded */
	__u64 reclaiming;	/* the victim's blocks: from now on they may be gone */
	__u64 gone;		/* 1 + the thread to which nothing more is sent */
} note;
extern struct ikc_heap heap[MODEL_THREADS];

unsigned int kernel_of(const struct scenario *s, unsigned int thread);
void own(unsigned int thread, unsigned int slot, __u64 block);
void release(unsigned int thread, unsigned int slot);

/* handover.c */
void handover_setup(void);
void handover_send(const struct scenario *s, unsigned int from, unsigned int slot,
		   unsigned int to);
void handover_take(const struct scenario *s, unsigned int to, unsigned int slot,
		   unsigned int from);
void handover_recall(const struct scenario *s, unsigned int thread, unsigned int to);
void handover_finish(const struct scenario *s);

#endif
