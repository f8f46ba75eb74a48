// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of IKC's client for real-time programs in user space; `make check-rt`.  Each
 * has a process of its own, as a program has its partition.  SEED=n in the environment adds a
 * run with that seed; what is printed when one fails is such a number.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

#define TOO_LONG	60	/* seconds; what does not return is a failure, too */

static unsigned int *total;	/* of all processes: passed, failed */

static void finish(void)
{
	total[0] += checks_passed;
	total[1] += checks_failed;
	fflush(stdout);
	_exit(0);
}

static void wait_for(pid_t child, const char *name)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	/* the sanitizers, too, end a process by a status */
	if (!status)
		return;
	printf("%s: ended by status 0x%x\n", name, status);
	total[1]++;
}

static void apart(const char *name, void (*test)(void))
{
	pid_t child = fork();

	if (!child) {
		alarm(TOO_LONG);
		test();
		finish();
	}
	wait_for(child, name);
}

static void apart_seeded(const char *name, void (*test)(__u64 seed), __u64 seed)
{
	pid_t child = fork();

	if (!child) {
		alarm(TOO_LONG);
		random_seed(seed);
		test(seed);
		finish();
	}
	wait_for(child, name);
}

#define APART(test)		apart(#test, test)
#define SEEDED(test, seed)	apart_seeded(#test, test, seed)

static void randomised(__u64 seed)
{
	SEEDED(fuzz_talk, seed);
	SEEDED(fuzz_between, seed);
	SEEDED(fuzz_beside, seed);
}

int main(void)
{
	const char *seed = getenv("SEED");
	__u64 n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	total = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (total == MAP_FAILED)
		abort();
	APART(test_join);
	APART(test_refused);
	APART(test_growth);
	APART(test_pages);
	APART(test_no_memory);
	APART(test_talk);
	APART(test_misuse);
	APART(test_attach);
	APART(test_next);
	APART(test_broken);
	APART(test_host_dies);
	APART(test_echo);
	APART(test_echo_sleep);
	APART(test_echo_broken);
	for (n = 1; n <= 20; n++)
		randomised(n);
	if (seed)
		randomised(strtoull(seed, NULL, 0));
	printf("%u passed, %u failed\n", total[0], total[1]);
	return total[1] != 0;
}
