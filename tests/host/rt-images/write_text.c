// SPDX-License-Identifier: GPL-2.0
/* Writes to what can only be run: the board must tell, and end as failed. */
#include "board.h"

void board_program(void)
{
	BOARD_WRITE(*(char *)board_program, 0);
	board_print("it could be written\n");
	board_end(SHIMOS_RT_END_STOPPED);
}
