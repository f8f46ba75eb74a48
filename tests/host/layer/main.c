// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of the layer's logic in user space; `make check-layer`.  SEED=n in the
 * environment adds a run with that seed; what is printed when one fails is such a number.
 */
#include <unistd.h>
#include "test.h"

/* A function that does not return is a failure, too. */
#define TOO_LONG	300	/* seconds */

static void randomised(u64 seed)
{
	fuzz_timer(seed);
	fuzz_budget(seed);
	fuzz_vectors(seed, false);
	fuzz_vectors(seed, true);
}

int main(void)
{
	const char *seed = getenv("SEED");
	u64 n;

	alarm(TOO_LONG);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_timer();
	test_budget();
	test_late();
	test_guests();
	test_hosts();
	test_lapic();
	test_tasks();
	for (n = 1; n <= 20; n++)
		randomised(n);
	if (seed)
		randomised(strtoull(seed, NULL, 0));
	test_lost();
	printf("%u passed, %u failed\n", checks_passed, checks_failed);
	return checks_failed != 0;
}
