// SPDX-License-Identifier: GPL-2.0
/* Interrupts that nobody asked for are counted and harm nothing; registers stay. */
#include "board.h"

void board_program(void)
{
	uint64_t sum = 0;

	board_ready();
	asm volatile("mov $3, %%rbx\n\tmov $5, %%r15\n\tint $0x90\n\tint $0xff\n\tint $0x20\n\t"
		     "lea (%%rbx, %%r15), %0" : "=r" (sum) : : "rbx", "r15", "memory");
	if (sum != 8)
		board_fail("registers have changed");
	if (board_strays() != 3)
		board_fail("%lu strays", board_strays());
	board_end(SHIMOS_RT_END_STOPPED);
}
