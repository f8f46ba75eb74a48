// SPDX-License-Identifier: GPL-2.0
/* The interrupt descriptor table, and what happens when nobody asked for a vector. */
#include "vectors.h"

#define BOARD_INTERRUPT_GATE	0x8e	/* present, interrupts off */
#define BOARD_FAULT_STACK	1	/* IST */

struct board_gate {
	uint16_t low;
	uint16_t selector;
	uint8_t stack;
	uint8_t type;
	uint16_t middle;
	uint32_t high;
	uint32_t reserved;
};

/* What LIDT reads begins at the limit, so that the address is at a multiple of 8. */
struct board_table {
	uint16_t unused[3];
	uint16_t limit;
	uint64_t address;
};

static struct board_gate board_idt[BOARD_VECTORS];
static uint64_t board_stray_count;

board_handler *board_handlers[BOARD_VECTORS];

/* None is expected, so the first one is the end; one while it is told is, too. */
static struct board_frame *board_exception(struct board_frame *frame)
{
	static bool telling;
	uint64_t cr2;

	if (telling)
		board_end(SHIMOS_RT_END_FAILED);
	telling = true;
	asm volatile("mov %%cr2, %0" : "=r" (cr2));
	board_fail("exception %lu, error code 0x%lx, at 0x%lx, CR2 0x%lx, stack 0x%lx",
		   frame->vector, frame->error, frame->rip, cr2, frame->rsp);
	return frame;
}

static struct board_frame *board_stray(struct board_frame *frame)
{
	BOARD_WRITE(board_stray_count, board_stray_count + 1);
	return frame;
}

/* That it woke the CPU was all: who waits for something looks at it. */
static struct board_frame *board_bell(struct board_frame *frame)
{
	return frame;
}

/* How many interrupts came that nobody asked for. */
uint64_t board_strays(void)
{
	return BOARD_READ(board_stray_count);
}

/**
 * board_on() - have a handler for an interrupt
 * @vector: of the layer's, or of an INT instruction of one's own
 */
void board_on(unsigned int vector, board_handler *handler)
{
	BOARD_WRITE(board_handlers[vector], handler);
}

/**
 * board_vectors_load() - from now on exceptions are told, and interrupts may come
 */
void board_vectors_load(void)
{
	const struct board_table table = {
		.limit = sizeof(board_idt) - 1,
		.address = (uintptr_t)board_idt,
	};
	uintptr_t stub;
	unsigned int i;

	for (i = 0; i < BOARD_VECTORS; i++) {
		stub = (uintptr_t)board_stubs + i * BOARD_STUB;
		board_idt[i] = (struct board_gate) {
			.low = stub,
			.selector = BOARD_CODE,
			.stack = i < BOARD_EXCEPTIONS ? BOARD_FAULT_STACK : 0,
			.type = BOARD_INTERRUPT_GATE,
			.middle = stub >> 16,
			.high = stub >> 32,
		};
		board_handlers[i] = i < BOARD_EXCEPTIONS ? board_exception : board_stray;
	}
	board_handlers[SHIMOS_RT_BELL] = board_bell;
	asm volatile("lidt %0" : : "m" (table.limit), "m" (table), "m" (board_idt));
}
