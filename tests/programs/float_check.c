// SPDX-License-Identifier: GPL-2.0
/*
 * float_check FILE: keep numbers in all registers of floating point, and compute, until FILE
 * exists; fails when one is not what it was.
 */
#include <stdio.h>
#include <unistd.h>
#include "../rt/registers.h"

#define STEPS	10000

int main(int argc, char **argv)
{
	const double once = registers_compute(0.3, STEPS);
	bool avx = registers_have_avx();
	struct registers filled, held;
	unsigned int rounds = 0;

	if (argc != 2)
		return 2;
	while (access(argv[1], F_OK)) {
		registers_fill(&filled, ++rounds);
		held = filled;
		/* most of the time is spent here */
		REGISTERS_HOLD(&held, avx, "mov $300000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b");
		if (!registers_same(&held, &filled)) {
			printf("round %u: the registers have changed\n", rounds);
			return 1;
		}
		if (registers_compute(0.3, STEPS) != once) {
			printf("round %u: the sum has changed\n", rounds);
			return 1;
		}
	}
	printf("fine after %u rounds, %s AVX\n", rounds, avx ? "with" : "without");
	return 0;
}
