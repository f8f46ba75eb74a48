// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of the real-time board's logic in user space; `make check-rt`.  SEED=n in the
 * environment adds a run with that seed; what is printed when one fails is such a number.
 */
#include <unistd.h>
#include "test.h"

/* A function that does not return is a failure, too. */
#define TOO_LONG	300	/* seconds */

static void randomised(__u64 seed)
{
	fuzz_format(seed);
	fuzz_ring(seed);
	fuzz_period(seed);
}

int main(void)
{
	const char *seed = getenv("SEED");
	__u64 n;

	alarm(TOO_LONG);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_boot();
	test_format();
	test_ring();
	test_period();
	test_pendulum();
	test_sha256();
	for (n = 1; n <= 20; n++)
		randomised(n);
	if (seed)
		randomised(strtoull(seed, NULL, 0));
	printf("%u passed, %u failed\n", checks_passed, checks_failed);
	return checks_failed != 0;
}
