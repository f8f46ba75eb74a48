// SPDX-License-Identifier: GPL-2.0
/* What Rust does not see of the board: what its header has inline, numbers, and formats. */
#include "shim.h"

uint64_t shim_now(void)
{
	return board_now();
}

bool shim_interrupts_off(void)
{
	return board_interrupts_save();
}

void shim_interrupts_on(void)
{
	board_interrupts_on();
}

void shim_idle(void)
{
	board_idle();
}

void shim_print(const char *text, int length)
{
	board_print("%.*s", length, text);
}

void __noreturn shim_fail(const char *text, int length)
{
	board_fail("%.*s", length, text);
}

void __noreturn shim_stop(void)
{
	board_end(SHIMOS_RT_END_STOPPED);
}

static struct board_frame *shim_timer(struct board_frame *frame)
{
	rust_timer();
	return frame;
}

static struct board_frame *shim_bell(struct board_frame *frame)
{
	rust_bell();
	return frame;
}

void board_program(void)
{
	board_on(SHIMOS_RT_TIMER, shim_timer);
	board_on(SHIMOS_RT_BELL, shim_bell);
	rust_program();
}
