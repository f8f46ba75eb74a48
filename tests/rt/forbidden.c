// SPDX-License-Identifier: GPL-2.0
/* Real-time programs that do what they may not, each one thing: FORBIDDEN says which. */
#include "board.h"

static uint32_t data = 0xcccccccc;	/* int3, if it were run */

static __attribute((unused)) void forbidden_text(void)
{
	*(uint32_t *)board_program = 0;
}

static __attribute((unused)) void forbidden_null(void)
{
	uint32_t *nothing = NULL;

	asm volatile("" : "+r"(nothing));
	BOARD_WRITE(data, *nothing);
}

static __attribute((unused)) void forbidden_run(void)
{
	asm volatile("jmp *%0" : : "r"(&data));
}

static __attribute((unused)) void forbidden_port(void)
{
	asm volatile("outb %0, %1" : : "a"((uint8_t)6), "d"((uint16_t)0xcf9));
}

static __attribute((unused)) void forbidden_msr(void)
{
	asm volatile("wrmsr" : : "c"(0xc0000080), "a"(0), "d"(0));
}

static __attribute((unused)) void forbidden_halt(void)
{
	asm volatile("cli; hlt");
}

static __attribute((unused)) void forbidden_reset(void)
{
	static const uint8_t none[10];

	asm volatile("lidt %0; int3" : : "m"(none));
}

static __attribute((unused)) void forbidden_control(void)
{
	asm volatile("clts");	/* of CR0, and the layer's */
}

static __attribute((unused)) void forbidden_svm(void)
{
	asm volatile("vmrun" : : "a"(0x1000));
}

void board_program(void)
{
	board_print("now\n");
	FORBIDDEN();
	board_print("nothing happened\n");
	board_end(SHIMOS_RT_END_STOPPED);
}
