// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of the two ends of a virtqueue in user space, the owner's and that of
 * a user whose owner has died; `make check-vring`.  SEED=n in the environment adds a
 * run with that seed; what is printed when one fails is such a number.
 */
#include <unistd.h>
#include "test.h"

/* A function that does not return is a failure, too. */
#define TOO_LONG	300	/* seconds */

static void randomised(u64 seed)
{
	test_requests(seed);
	test_wakeups(seed);
	fuzz_chains(seed);
	fuzz_during(seed);
	fuzz_beside(seed);
}

int main(void)
{
	const char *seed = getenv("SEED");

	alarm(TOO_LONG);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_open();
	test_nonsense();
	test_order();
	test_death();
	randomised(1);
	if (seed)
		randomised(strtoull(seed, NULL, 0));
	printf("%u passed, %u failed\n", checks_passed, checks_failed);
	return checks_failed != 0;
}
