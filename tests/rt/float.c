// SPDX-License-Identifier: GPL-2.0
/*
 * Floating point in a real-time program: what it has in its registers is there again after
 * each turn of Linux's, which computes, too; and nothing of Linux's is there at first.
 */
#include "board.h"
#include "registers.h"

#define FLOAT_TURNS	2000
#define FLOAT_STEPS	100	/* of a computation, each turn */
#define FLOAT_BEGIN	0.3

/* Handlers do without floating point: it would be the program's that they change. */
BOARD_PLAIN static struct board_frame *float_tick(struct board_frame *frame)
{
	return frame;
}

/* As they are when the program begins. */
static void float_first(bool avx)
{
	static struct registers first;
	static const struct registers none;

	if (avx)
		REGISTERS_ASM(REGISTERS_STORE("vmovups", "ymm"), &first);
	else
		REGISTERS_ASM(REGISTERS_STORE("movups", "xmm"), &first);
	first.top = 0;	/* there is nothing on the x87's stack, so that was none */
	if (first.mxcsr != REGISTERS_MXCSR || first.control != REGISTERS_CONTROL)
		board_fail("MXCSR is 0x%x and the control word 0x%x at first", first.mxcsr, first.control);
	first.mxcsr = 0;
	first.control = 0;
	if (!registers_same(&first, &none))
		board_fail("there is something in the registers at first");
	asm volatile("fninit");
}

void board_program(void)
{
	bool avx = registers_have_avx();
	double alone, value = FLOAT_BEGIN;
	static struct registers filled, held;
	unsigned int turn;

	float_first(avx);
	/* in one turn */
	alone = registers_compute(FLOAT_BEGIN, FLOAT_TURNS * FLOAT_STEPS);
	board_on(SHIMOS_RT_TIMER, float_tick);
	board_ready();
	for (turn = 0; turn < FLOAT_TURNS; turn++) {
		registers_fill(&filled, turn);
		held = filled;
		board_timer(board_now() + board_cycles_per_second() / 2000);
		REGISTERS_HOLD(&held, avx, "sti\n\thlt\n\tcli");
		if (!registers_same(&held, &filled))
			board_fail("turn %u: the registers have changed", turn);
		value = registers_compute(value, FLOAT_STEPS);
	}
	if (value != alone)
		board_fail("the sum is another one than in one turn");
	board_print("fine after %u turns, %s AVX\n", turn, avx ? "with" : "without");
	board_end(SHIMOS_RT_END_STOPPED);
}
