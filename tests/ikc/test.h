/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of IKC's ring and allocator share. */
#ifndef _IKC_TEST_H
#define _IKC_TEST_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heap.h"
#include "ring.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

extern unsigned int checks_passed, checks_failed;

#define CHECK(what) check((what), #what, __FILE__, __LINE__)
void check(bool ok, const char *what, const char *file, int line);

/* Of something a fuzzer saw: says by which seed, and ends. */
#define MUST(what) do { if (!(what)) broken_rule(#what, __FILE__, __LINE__); } while (0)
void broken_rule(const char *what, const char *file, int line) __attribute__((noreturn));

/* A generator of the same numbers for the same seed, one per thread. */
void random_seed(__u64 seed);
__u64 random_u64(void);
__u32 random_below(__u32 limit);

/* Zeroed, aligned for a ring or a chunk; the byte behind it is ASan's. */
void *exact_alloc(size_t bytes);

/* A chunk's metadata, and a heap of some chunks. */
struct ikc_chunk *make_chunk(unsigned int reserved);
void make_heap(struct ikc_heap *heap, struct ikc_chunk **chunk, unsigned int chunks,
	       __u32 owner);

/* Another thread that overwrites words of a memory until it is told to stop. */
struct vandal {
	pthread_t thread;
	__u32 *words;
	size_t count;
	__u64 seed;
	__u32 (*value)(void);
	int stop;
};
void vandal_start(struct vandal *v);
void vandal_stop(struct vandal *v);

void test_ring(void);
void test_doorbell(void);
void test_heap(void);
void test_handover(void);
void fuzz_ring(__u64 seed);
void fuzz_heap(__u64 seed);
void test_kill(__u64 seed);

#endif
