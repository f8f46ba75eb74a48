// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads on two CPUs, and every contender in turn, many short rounds each:
 * what disturbs the machine for a moment hits all of them, and a median forgets
 * it.  Prints one JSON object a line: the nanoseconds per message (or round trip)
 * of every round.  bench/ring.py reads it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"

int with_pause;

#define MAX_TESTS	64
#define MAX_ROUNDS	4096

struct test {
	const struct contender *contender;
	unsigned slots;
	int pause;
	void *queue;
	float ns[MAX_ROUNDS];
};

static struct test tests[MAX_TESTS];
static unsigned test_count;

/* What the two threads tell each other, each word in a line of its own. */
static struct {
	unsigned go __attribute__((aligned(64)));	/* round to run */
	unsigned there __attribute__((aligned(64)));	/* the far side has seen it */
	unsigned done __attribute__((aligned(64)));
	struct test *test __attribute__((aligned(64)));
	uint64_t n;
	struct sums sums;
	uint64_t end;
} shared;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(2);
	}
}

static void wait_for(unsigned *word, unsigned value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

static void *far_side(void *cpu)
{
	pin(*(int *)cpu);
	for (unsigned round = 1;; round++) {
		struct sums sums = { 0, 0 };

		wait_for(&shared.go, round);
		__atomic_store_n(&shared.there, round, __ATOMIC_RELEASE);
		shared.test->contender->far(shared.test->queue, shared.n, &sums);
		shared.end = now();
		shared.sums = sums;
		__atomic_store_n(&shared.done, round, __ATOMIC_RELEASE);
	}
	return NULL;
}

static float run(struct test *test, uint64_t n)
{
	/* the sum of what message_check() or word_check() adds up */
	uint64_t words = test->contender->kind == ONE || test->contender->kind == BATCHES ? WORDS - 1 : 1;
	uint64_t want = words * (n * (n - 1) / 2) + (words > 1 ? n * words * (words + 1) / 2 : 0);
	static unsigned round;
	uint64_t start;

	with_pause = test->pause;
	shared.test = test;
	shared.n = n;
	__atomic_store_n(&shared.go, ++round, __ATOMIC_RELEASE);
	wait_for(&shared.there, round);
	start = now();
	test->contender->near(test->queue, n);
	wait_for(&shared.done, round);
	if (shared.sums.order || shared.sums.sum != want) {
		fprintf(stderr, "%s lost or mixed up messages\n", test->contender->name);
		exit(2);
	}
	return (float)(shared.end - start) / n;
}

static void add(const struct contender *c, unsigned slots, int pause)
{
	struct test *test = &tests[test_count++];

	if (test_count > MAX_TESTS)
		abort();
	test->contender = c;
	test->slots = slots;
	test->pause = pause;
	test->queue = c->make(slots);
	if (!test->queue) {
		fprintf(stderr, "cannot make %s\n", c->name);
		exit(2);
	}
}

static void add_all(const struct contender *c)
{
	for (; c->name; c++) {
		if (c->kind == PING) {
			add(c, 64, 0);
			add(c, 64, 1);
			continue;
		}
		for (int pause = 0; pause < 2; pause++) {
			add(c, 256, pause);
			if (c->kind != WORD)
				add(c, 1024, pause);
		}
	}
}

int main(int argc, char **argv)
{
	static const char * const kinds[] = { "ping", "one", "batch", "word" };
	int near_cpu = argc > 1 ? atoi(argv[1]) : 0, far_cpu = argc > 2 ? atoi(argv[2]) : 1;
	unsigned rounds = argc > 3 ? atoi(argv[3]) : 20, t, r;
	uint64_t messages = argc > 4 ? atoi(argv[4]) : 20000;
	pthread_t thread;

	if (argc > 5 || !rounds || rounds > MAX_ROUNDS || messages < 1000) {
		fprintf(stderr, "usage: %s CPU CPU ROUNDS MESSAGES\n", argv[0]);
		return 2;
	}
	pin(near_cpu);
	add_all(pingpong_contenders);
	add_all(ours_contenders);
	add_all(boost_contenders);
	add_all(rtrb_contenders);
	if (pthread_create(&thread, NULL, far_side, &far_cpu))
		return 2;
	/* the first round only warms up; a round trip takes many messages' time */
	for (r = 0; r <= rounds; r++)
		for (t = 0; t < test_count; t++) {
			struct test *test = &tests[(t + r) % test_count];

			test->ns[r ? r - 1 : 0] =
				run(test, test->contender->kind == PING ? messages / 10 : messages);
		}
	for (t = 0; t < test_count; t++) {
		printf("{\"name\": \"%s\", \"kind\": \"%s\", \"slots\": %u, \"pause\": %d, \"ns\": [",
		       tests[t].contender->name, kinds[tests[t].contender->kind], tests[t].slots,
		       tests[t].pause);
		for (r = 0; r < rounds; r++)
			printf("%s%.2f", r ? ", " : "", tests[t].ns[r]);
		puts("]}");
	}
	return 0;
}
