// SPDX-License-Identifier: GPL-2.0
/* Real-time programs that want all of the core, each in its own way: BUSY says which. */
#include "board.h"

/* It never halts, and asks for nothing. */
static __attribute((unused)) void busy_endless(void)
{
	for (;;)
		;
}

/* It halts at once, but its next deadline is over already. */
static __attribute((unused)) struct board_frame *busy_tick_past(struct board_frame *frame)
{
	board_timer(board_now() - 1);
	return frame;
}

/* It does next to nothing, a million times a second. */
static __attribute((unused)) struct board_frame *busy_tick_often(struct board_frame *frame)
{
	board_timer(board_now() + board_cycles_per_second() / 1000000);
	return frame;
}

static __attribute((unused)) void busy_by(board_handler *handler)
{
	board_on(SHIMOS_RT_TIMER, handler);
	board_timer(board_now());
	for (;;)
		board_idle();
}

static __attribute((unused)) void busy_past(void)
{
	busy_by(busy_tick_past);
}

static __attribute((unused)) void busy_often(void)
{
	busy_by(busy_tick_often);
}

void board_program(void)
{
	board_ready();
	BUSY();
}
