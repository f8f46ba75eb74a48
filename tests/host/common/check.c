// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include "check.h"

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

static void *vandalise(void *arg)
{
	struct vandal *v = arg;
	__u32 *word;

	random_seed(v->seed);
	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED)) {
		word = v->words + random_below(v->count);
		__atomic_store_n(word, v->value(), __ATOMIC_RELAXED);
	}
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
	__atomic_store_n(&v->stop, 1, __ATOMIC_RELAXED);
	pthread_join(v->thread, NULL);
}
