/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of IKC's ring and allocator share. */
#ifndef _IKC_TEST_H
#define _IKC_TEST_H

#include "check.h"
#include "heap.h"
#include "ring.h"

/* A chunk's metadata, and a heap of some chunks. */
struct ikc_chunk *make_chunk(unsigned int reserved);
void make_heap(struct ikc_heap *heap, struct ikc_chunk **chunk, unsigned int chunks,
	       __u32 owner);

void test_ring(void);
void test_doorbell(void);
void test_heap(void);
void test_handover(void);
void fuzz_ring(__u64 seed);
void fuzz_heap(__u64 seed);
void test_kill(__u64 seed);

#endif
