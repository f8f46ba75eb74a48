// SPDX-License-Identifier: GPL-2.0
/* Deadlines: none is lost, none is counted twice, and they do not drift. */
#include "test.h"
#include "period.h"

void test_period(void)
{
	struct board_period period = { .deadline = 1000, .length = 100 };

	CHECK(board_period_pass(&period, 0) == 0 && period.deadline == 1000);
	CHECK(board_period_pass(&period, 999) == 0 && period.deadline == 1000);
	CHECK(board_period_pass(&period, 1000) == 1 && period.deadline == 1100);
	CHECK(board_period_pass(&period, 1000) == 0);
	CHECK(board_period_pass(&period, 1199) == 1 && period.deadline == 1200);
	CHECK(board_period_pass(&period, 1300) == 2 && period.deadline == 1400);
	CHECK(board_period_pass(&period, 1399) == 0);
	CHECK(board_period_pass(&period, 1000000) == 9987 && period.deadline == 1000100);

	/* the clock may go around */
	period.deadline = -50ULL;
	CHECK(board_period_pass(&period, -51ULL) == 0);
	CHECK(board_period_pass(&period, -50ULL) == 1 && period.deadline == 50);
	period.deadline = -50ULL;
	CHECK(board_period_pass(&period, 50) == 2 && period.deadline == 150);
}

void fuzz_period(__u64 seed)
{
	struct board_period period;
	__u64 begin, now, count = 0;
	int n;

	random_seed(seed);
	now = random_u64();
	period.length = 1 + random_below(3000000);
	begin = now + random_below(period.length);
	period.deadline = begin;
	for (n = 0; n < 20000; n++) {
		/* mostly a part of a period, now and then many */
		now += random_below(16) ? random_below(period.length) :
					  (__u64)random_below(50) * period.length;
		count += board_period_pass(&period, now);
		MUST(period.deadline == begin + count * period.length);
		MUST((__s64)(period.deadline - now) > 0);
		MUST(!count || (__s64)(period.deadline - period.length - now) <= 0);
		MUST(board_period_pass(&period, now) == 0);
	}
}
