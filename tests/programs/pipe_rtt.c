// SPDX-License-Identifier: GPL-2.0
/*
 * Round trips of one byte over two pipes between two processes, each on its CPU:
 *
 *	pipe_rtt CPU CPU COUNT
 *
 * Prints "name value" lines, times in nanoseconds; an anchor for bench/ikc.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("pipe_rtt: sched_setaffinity");
		exit(1);
	}
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[3]) : 0, i, *samples;
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (count <= 0 || pipe(there) || pipe(back))
		return 2;
	samples = calloc(count, sizeof(*samples));
	child = fork();
	if (!child) {
		pin(atoi(argv[2]));
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			if (write(back[1], &byte, 1) != 1)
				return 1;
		return 0;
	}
	pin(atoi(argv[1]));
	for (i = 0; i < count; i++) {
		samples[i] = now();
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
		samples[i] = now() - samples[i];
	}
	close(there[1]);
	waitpid(child, NULL, 0);
	qsort(samples, count, sizeof(*samples), by_value);
	printf("count %ld\nmin %ld\nmedian %ld\np90 %ld\np99 %ld\nmax %ld\n", count, samples[0],
	       samples[count / 2], samples[count * 9 / 10], samples[count * 99 / 100],
	       samples[count - 1]);
	return 0;
}
