// SPDX-License-Identifier: GPL-2.0
/* Calls itself until the stack is used up: the board must tell, on another stack. */
#include "board.h"

static unsigned int deep_call(unsigned int depth)
{
	unsigned int here[64];

	BOARD_WRITE(here[depth % 64], depth);
	if (depth == 1000000)
		return depth;
	return deep_call(depth + 1) + BOARD_READ(here[depth % 64]);
}

void board_program(void)
{
	board_print("%u\n", deep_call(0));
	board_end(SHIMOS_RT_END_STOPPED);
}
