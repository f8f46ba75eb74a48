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

unsigned int checks_passed, checks_failed;
static __thread __u64 seed_now, state;

void check(bool ok, const char *what, const char *file, int line)
{
	if (ok) {
		checks_passed++;
		return;
	}
	checks_failed++;
	printf("%s:%d: failed: %s\n", file, line, what);
}

void broken_rule(const char *what, const char *file, int line)
{
	printf("%s:%d: SEED=%llu: failed: %s\n", file, line, seed_now, what);
	fflush(stdout);
	abort();
}

void random_seed(__u64 seed)
{
	seed_now = seed;
	state = seed * 0x9e3779b97f4a7c15ULL + 88172645463325252ULL;
	if (!state)
		state = 1;
}

__u64 random_u64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

__u32 random_below(__u32 limit)
{
	return (random_u64() >> 32) * limit >> 32;
}

void *exact_alloc(size_t bytes)
{
	void *memory;

	if (posix_memalign(&memory, 64, bytes))
		abort();
	return memset(memory, 0, bytes);
}

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
	heap->chunks = chunks;
	heap->owner = owner;
}

static void *vandalise(void *arg)
{
	struct vandal *v = arg;

	random_seed(v->seed);
	while (!READ_ONCE(v->stop))
		WRITE_ONCE(v->words[random_below(v->count)], v->value());
	return NULL;
}

void vandal_start(struct vandal *v)
{
	v->stop = 0;
	if (pthread_create(&v->thread, NULL, vandalise, v))
		abort();
}

void vandal_stop(struct vandal *v)
{
	WRITE_ONCE(v->stop, 1);
	pthread_join(v->thread, NULL);
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
