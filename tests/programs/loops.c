// SPDX-License-Identifier: GPL-2.0
/* loops MILLISECONDS: how often a small loop is done in that time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t until, count = 0;
	unsigned int i;

	if (argc != 2)
		return 2;
	until = now() + strtoull(argv[1], NULL, 0) * 1000000;
	while (now() < until) {
		for (i = 0; i < 1000; i++)
			asm volatile("" : : "r"(i));
		count++;
	}
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
