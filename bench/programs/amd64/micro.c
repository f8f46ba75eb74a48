// SPDX-License-Identifier: GPL-2.0
/* What micro does with an instruction of this architecture only. */
#include <cpuid.h>

void cpuid_turn(void);

void cpuid_turn(void)
{
	unsigned int a, b, c, d;

	__cpuid(0, a, b, c, d);
}
