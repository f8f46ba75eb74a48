// SPDX-License-Identifier: GPL-2.0
/*
 * The memory model itself: the usual small programs, and what Arm lets come of them.
 * What it lets happen must be seen, what it forbids must not: a model that is too
 * strong overlooks what is missing in the code, one that is too weak accuses it of
 * what cannot be.
 *
 * A program is a row of steps, x and y are places that hold 0:
 *   wx1  store 1 in x            rx  load x                 mb, mr, mw: full, read
 *   lx1  the same, a release     ax  load x, an acquire     and write barrier
 *   dx   store what was loaded   cx  copy x: its value decides nothing until the end
 *   ix1  add 1 to x atomically   ox1 the same, in no order
 *   ex1  exchange 0 in x for 1
 * The outcome is what was loaded, in the order of the programs, then what x and y hold.
 * LB of plain loads is not among them: see access.c.
 */
#include <stdio.h>
#include <string.h>
#include "world.h"
#include "atomics.h"

#define LOADS	8

enum verdict { FORBIDDEN, ALLOWED };

struct litmus {
	const char *name;
	const char *program[MODEL_THREADS];
	const char *outcome;
	enum verdict verdict;
};

static const struct litmus tests[] = {
	{ "MP", { "wx1 wy1", "ry rx" }, "10/11", ALLOWED },
	{ "MP, write barrier", { "wx1 mw wy1", "ry rx" }, "10/11", ALLOWED },
	{ "MP, read barrier", { "wx1 wy1", "ry mr rx" }, "10/11", ALLOWED },
	{ "MP, both", { "wx1 mw wy1", "ry mr rx" }, "10/11", FORBIDDEN },
	{ "MP, release", { "wx1 ly1", "ry rx" }, "10/11", ALLOWED },
	{ "MP, acquire", { "wx1 wy1", "ay rx" }, "10/11", ALLOWED },
	{ "MP, release and acquire", { "wx1 ly1", "ay rx" }, "10/11", FORBIDDEN },
	{ "MP, release and acquire of x", { "wx1 ly1", "ry ax" }, "10/11", ALLOWED },
	{ "MP, release of x", { "lx1 wy1", "ay rx" }, "10/11", ALLOWED },
	{ "MP, full barriers", { "wx1 mb wy1", "ry mb rx" }, "10/11", FORBIDDEN },
	{ "MP, read barrier where it writes", { "wx1 mr wy1", "ry mr rx" }, "10/11", ALLOWED },
	{ "MP, write barrier where it reads", { "wx1 mw wy1", "ry mw rx" }, "10/11", ALLOWED },
	{ "MP, exchange and acquire", { "wx1 ey1", "ay rx" }, "010/11", FORBIDDEN },
	{ "MP, in no order and acquire", { "wx1 oy1", "ay rx" }, "10/11", ALLOWED },
	{ "MP, release and exchange", { "wx1 ly1", "iy1 rx" }, "10/12", FORBIDDEN },
	{ "MP, release and in no order", { "wx1 ly1", "oy1 ry rx" }, "20/12", ALLOWED },
	{ "MP, release and failed exchange", { "wx1 ly1", "ey2 rx" }, "10/11", ALLOWED },
	{ "MP of an older value", { "wx1 ly1 wy2", "ay rx" }, "10/12", FORBIDDEN },
	{ "MP, copied", { "wx1 mw wy1", "ay cx" }, "10/11", FORBIDDEN },
	{ "MP, copied in no order", { "wx1 mw wy1", "ry cx" }, "10/11", ALLOWED },
	{ "SB", { "wx1 ry", "wy1 rx" }, "00/11", ALLOWED },
	{ "SB, one barrier", { "wx1 mb ry", "wy1 rx" }, "00/11", ALLOWED },
	{ "SB, full barriers", { "wx1 mb ry", "wy1 mb rx" }, "00/11", FORBIDDEN },
	{ "SB, write barriers", { "wx1 mw ry", "wy1 mw rx" }, "00/11", ALLOWED },
	{ "SB, release and acquire", { "lx1 ay", "ly1 ax" }, "00/11", ALLOWED },
	{ "SB, exchanges", { "ex1 ry", "ey1 rx" }, "0000/11", FORBIDDEN },
	{ "SB, additions", { "ix1 ry", "iy1 rx" }, "0000/11", FORBIDDEN },
	{ "SB, in no order", { "ox1 ry", "oy1 rx" }, "00/11", ALLOWED },
	{ "SB of own", { "wx1 rx ry", "wy1 ry rx" }, "1010/11", ALLOWED },
	{ "2+2W", { "wx1 wy2", "wy1 wx2" }, "/11", ALLOWED },
	{ "2+2W, one barrier", { "wx1 mw wy2", "wy1 wx2" }, "/11", ALLOWED },
	{ "2+2W, write barriers", { "wx1 mw wy2", "wy1 mw wx2" }, "/11", FORBIDDEN },
	{ "2+2W, releases", { "wx1 ly2", "wy1 lx2" }, "/11", FORBIDDEN },
	{ "S", { "wx2 wy1", "ry wx1" }, "1/21", ALLOWED },
	{ "S, write barrier", { "wx2 mw wy1", "ry wx1" }, "1/21", FORBIDDEN },
	{ "S, release", { "wx2 ly1", "ry wx1" }, "1/21", FORBIDDEN },
	{ "S, release and late copy", { "wx2 ly1", "cy wx1" }, "1/21", ALLOWED },
	{ "R", { "wx1 wy1", "wy2 rx" }, "0/12", ALLOWED },
	{ "R, one barrier", { "wx1 mb wy1", "wy2 rx" }, "0/12", ALLOWED },
	{ "R, full barriers", { "wx1 mb wy1", "wy2 mb rx" }, "0/12", FORBIDDEN },
	{ "LB", { "cx wy1", "cy wx1" }, "11/11", ALLOWED },
	{ "LB, one release", { "cx ly1", "cy wx1" }, "11/11", ALLOWED },
	{ "LB, releases", { "cx ly1", "cy lx1" }, "11/11", FORBIDDEN },
	{ "LB, read barriers", { "cx mr wy1", "cy mr wx1" }, "11/11", FORBIDDEN },
	{ "LB, write barriers", { "cx mw wy1", "cy mw wx1" }, "11/11", ALLOWED },
	{ "LB, one depends", { "cx wy1", "ry dx" }, "11/11", ALLOWED },
	{ "LB, both depend", { "rx dy", "ry dx" }, "11/11", FORBIDDEN },
	{ "IRIW", { "wx1", "wy1", "rx ry", "ry rx" }, "1010/11", ALLOWED },
	{ "IRIW, one barrier", { "wx1", "wy1", "rx mr ry", "ry rx" }, "1010/11", ALLOWED },
	{ "IRIW, read barriers", { "wx1", "wy1", "rx mr ry", "ry mr rx" }, "1010/11", FORBIDDEN },
	{ "IRIW, acquires", { "wx1", "wy1", "ax ry", "ay rx" }, "1010/11", FORBIDDEN },
	{ "WRC", { "wx1", "rx wy1", "ry rx" }, "110/11", ALLOWED },
	{ "WRC, read barrier", { "wx1", "rx wy1", "ry mr rx" }, "110/11", FORBIDDEN },
	{ "CoRR", { "wx1", "rx rx" }, "10/10", FORBIDDEN },
	{ "CoRR, two writers", { "wx1", "wx2", "rx rx", "rx rx" }, "1221/10", FORBIDDEN },
	{ "CoRR, copied", { "wx1", "rx cx" }, "10/10", FORBIDDEN },
	{ "CoWW", { "wx1 wx2" }, "/10", FORBIDDEN },
	{ "CoWW, seen", { "wx1 wx2", "rx rx" }, "21/20", FORBIDDEN },
	{ "CoWR", { "wx1 rx", "wx2" }, "0/10", FORBIDDEN },
	{ "CoWR, of another", { "wx1 rx", "wx2" }, "2/20", ALLOWED },
	{ "CoRW", { "rx wx1", "wx2" }, "2/20", FORBIDDEN },
	{ "additions", { "ix1", "ix1" }, "01/10", FORBIDDEN },
	{ "additions", { "ix1", "ix1" }, "01/20", ALLOWED },
	{ "additions in no order", { "ox1", "ox1" }, "/10", FORBIDDEN },
	{ "exchanges", { "ex1", "ex2" }, "00/10", FORBIDDEN },
	{ "exchange and store", { "ex1", "wx2" }, "0/10", FORBIDDEN },
};

static struct { __u64 x, y; } places;
static struct { __u64 loads, value[MODEL_THREADS][LOADS]; } notes;
static const char *wanted;
static bool seen;

static void setup(const struct scenario *s)
{
	memset(&places, 0, sizeof(places));
	memset(&notes, 0, sizeof(notes));
	model_share(&places, sizeof(places));
}

static void barrier(char kind)
{
	if (kind == 'b')
		smp_mb();
	else if (kind == 'r')
		smp_rmb();
	else
		smp_wmb();
}

/* What a step has loaded is put into @got; false: it loads nothing. */
static bool do_step(const char *op, const __u64 *loaded, __u64 *got)
{
	__u64 *at = op[1] == 'x' ? &places.x : &places.y;
	__u64 value = op[1] && op[2] >= '0' ? op[2] - '0' : 0;

	switch (op[0]) {
	case 'w':
		WRITE_ONCE(*at, value);
		return false;
	case 'l':
		smp_store_release(at, value);
		return false;
	case 'd':
		WRITE_ONCE(*at, *loaded);
		return false;
	case 'r':
		*got = READ_ONCE(*at);
		return true;
	case 'a':
		*got = smp_load_acquire(at);
		return true;
	case 'c':
		ikc_copy_out(got, at, 8);
		return true;
	case 'i':
		*got = model_rmw(MODEL_SITE("add"), at, 8, MODEL_ADD, value, 0);
		return true;
	case 'o':
		model_update(MODEL_SITE("add"), at, 8, MODEL_ADD, value, MODEL_RELAXED);
		return false;
	case 'e':
		*got = cmpxchg(at, 0, value);
		return true;
	default:
		barrier(op[1]);
		return false;
	}
}

static void run_thread(const struct scenario *s, unsigned int i)
{
	__u64 got[LOADS] = { 0 };
	unsigned int n = 0, j;
	const char *op;

	for (op = s->program[i]; op; op = strchr(op, ' ') ? strchr(op, ' ') + 1 : NULL)
		n += do_step(op, &got[n ? n - 1 : 0], &got[n]);
	model_use_copies();
	for (j = 0; j < n; j++)
		model_note(&notes.value[i][j], 8, '0' + got[j]);
}

static void thread_0(const struct scenario *s)
{
	run_thread(s, 0);
}

static void thread_1(const struct scenario *s)
{
	run_thread(s, 1);
}

static void thread_2(const struct scenario *s)
{
	run_thread(s, 2);
}

static void thread_3(const struct scenario *s)
{
	run_thread(s, 3);
}

static void finish(const struct scenario *s)
{
	char outcome[MODEL_THREADS * LOADS + 4], *to = outcome;
	unsigned int i, j;

	for (i = 0; i < s->threads; i++)
		for (j = 0; j < LOADS && notes.value[i][j]; j++)
			*to++ = notes.value[i][j];
	sprintf(to, "/%llu%llu", places.x, places.y);
	MODEL_CHECK(strlen(outcome) == strlen(wanted), "no such outcome");
	seen |= !strcmp(outcome, wanted);
}

static bool run_test(const struct litmus *test)
{
	struct scenario s = {
		.name = test->name, .setup = setup, .finish = finish, .victim = -1, .window = MODEL_WINDOW,
		.thread = { thread_0, thread_1, thread_2, thread_3 },
	};

	for (; s.threads < MODEL_THREADS && test->program[s.threads]; s.threads++)
		s.program[s.threads] = test->program[s.threads];
	wanted = test->outcome;
	seen = false;
	if (model_explore(&s, NULL).failure)
		return false;
	if (seen != (test->verdict == ALLOWED))
		printf("litmus: %s: %s is %s\n", test->name, test->outcome,
		       seen ? "seen, and Arm forbids it" : "not seen, and Arm allows it");
	return seen == (test->verdict == ALLOWED);
}

unsigned int litmus_run(const char *only)
{
	unsigned int i, wrong = 0, count = 0;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (only && !strstr("litmus", only))
			continue;
		wrong += !run_test(&tests[i]);
		count++;
	}
	printf("litmus: %u programs, %u not as on Arm\n", count, wrong);
	return wrong;
}
