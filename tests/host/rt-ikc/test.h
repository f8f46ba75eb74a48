/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of IKC's client for real-time programs share. */
#ifndef _TESTS_RT_IKC_H
#define _TESTS_RT_IKC_H

#include "area.h"
#include "check.h"
#include "host.h"

/* ---- board.c: what KLoader and the layer say, made up ---- */

struct board {
	struct board_self self;
	uint64_t cycles_per_second, now;
	unsigned int rung;		/* how often the host was rung */
	void (*meanwhile)(void);	/* comes when it asks for its clock */
	bool hostile;			/* the area may say anything */
};

extern struct board board;

/* Begin a world. */
void client_begin(void);
/* The same, and join. */
void client_join(void);
/* Serve until there is nothing more to do; false: there is no end to it. */
bool settle(void);

/* ---- the tests ---- */

void test_join(void);
void test_refused(void);
void test_growth(void);
void test_pages(void);
void test_no_memory(void);
void test_talk(void);
void test_misuse(void);
void test_attach(void);
void test_next(void);
void test_broken(void);
void test_host_dies(void);
void test_echo(void);
void test_echo_sleep(void);
void test_echo_broken(void);
void fuzz_talk(__u64 seed);
void fuzz_between(__u64 seed);
void fuzz_beside(__u64 seed);

#endif
