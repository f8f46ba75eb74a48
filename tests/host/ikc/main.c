// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of IKC's ring and allocator in user space; `make check-ikc`.
 * SEED=n in the environment adds a run of the fuzzers and of the killing with
 * that seed; what they print when they fail is such a number.
 */
#include <unistd.h>
#include "test.h"

/* A function that does not return is a failure, too. */
#define TOO_LONG	300	/* seconds */

struct ikc_chunk *make_chunk(unsigned int reserved)
{
	struct ikc_chunk *chunk = exact_alloc(sizeof(*chunk));

	ikc_chunk_init(chunk, reserved);
	return chunk;
}

void make_heap(struct ikc_heap *heap, struct ikc_chunk **chunk, unsigned int chunks,
	       __u32 owner)
{
	unsigned int i;

	memset(heap, 0, sizeof(*heap));
	for (i = 0; i < chunks; i++)
		heap->chunk[i] = chunk[i];
	heap->mapped = heap->chunks = chunks;
	heap->owner = owner;
}

static void randomised(__u64 seed)
{
	fuzz_ring(seed);
	fuzz_heap(seed);
	test_kill(seed);
}

int main(void)
{
	const char *seed = getenv("SEED");

	alarm(TOO_LONG);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_ring();
	test_doorbell();
	test_heap();
	test_handover();
	randomised(1);
	if (seed)
		randomised(strtoull(seed, NULL, 0));
	printf("%u passed, %u failed\n", checks_passed, checks_failed);
	return checks_failed != 0;
}
