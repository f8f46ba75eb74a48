// SPDX-License-Identifier: GPL-2.0
/* The least that a program in a real-time partition is: says hello, takes ten interrupts, ends. */
#include "board.h"
#include "period.h"

#define HELLO_INTERRUPTS	10

static struct board_period hello_period;
static unsigned int hello_count;

static struct board_frame *hello_tick(struct board_frame *frame)
{
	if (board_period_pass(&hello_period, board_now()))
		BOARD_WRITE(hello_count, hello_count + 1);
	board_timer(hello_count < HELLO_INTERRUPTS ? hello_period.deadline : 0);
	return frame;
}

void board_program(void)
{
	board_print("hello, at %lu cycles per second\n", board_cycles_per_second());
	board_ready();

	hello_period.length = board_cycles_per_second() / 1000;
	hello_period.deadline = board_now() + hello_period.length;
	board_on(SHIMOS_RT_TIMER, hello_tick);
	board_timer(hello_period.deadline);
	while (BOARD_READ(hello_count) < HELLO_INTERRUPTS) {
		board_idle();
		board_interrupts_off();
	}
	board_print("%u timer interrupts, %lu strays\n", hello_count, board_strays());
	board_end(SHIMOS_RT_END_STOPPED);
}
