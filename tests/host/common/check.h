/* SPDX-License-Identifier: GPL-2.0 */
/* What tests in user space share: counting checks, rules, random numbers. */
#ifndef _TESTS_CHECK_H
#define _TESTS_CHECK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Zeroed, aligned for anything; the byte behind it is ASan's. */
void *exact_alloc(size_t bytes);

/* Another thread that overwrites words of a memory until it is told to stop. */
struct vandal {
	unsigned long thread;
	__u32 *words;
	size_t count;
	__u64 seed;
	__u32 (*value)(void);
	int stop;
};
void vandal_start(struct vandal *v);
void vandal_stop(struct vandal *v);

#endif
