/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a real-time partition's code has instead of a board: a clock, a timer, a console,
 * interrupts, and the layer's calls.  All of it is about the one CPU that there is.
 */
#ifndef _RT_BOARD_H
#define _RT_BOARD_H

#include "layout.h"

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "shimos_rt.h"
#include "shimos_shared.h"

/* As the kernel has them, and by the short keyword, for checkpatch wants the other one there only. */
#define __noreturn	__attribute((noreturn))
#define __printf(a, b)	__attribute((format(printf, a, b)))

/* Registers of what was interrupted, as entries.S and the CPU push them. */
struct board_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector, error;
	uint64_t rip, cs, flags, rsp, ss;
};

/*
 * In a file with floating point (rt/Makefile): a function without any.  Interrupts leave
 * those registers to the program, so all that a handler calls there is of this kind.
 */
#define BOARD_PLAIN	__attribute((target("general-regs-only")))

/*
 * Called with interrupts off; returns what to go on with: what was interrupted, or another
 * frame, by which an RTOS switches tasks.
 */
typedef struct board_frame *board_handler(struct board_frame *frame);

void board_on(unsigned int vector, board_handler *handler);
/* Leaves for good: goes on with what a frame says; entries.S. */
void __noreturn board_resume(struct board_frame *frame);

/* The program; begins with interrupts off and shall not return. */
void board_program(void);

__printf(1, 2)
void board_print(const char *format, ...);
__printf(1, 2)
void __noreturn board_fail(const char *format, ...);

uint64_t board_cycles_per_second(void);
bool board_asked_to_stop(void);
bool board_watches(void);
void board_ring_host(void);
uint64_t board_strays(void);

void board_timer(uint64_t deadline);
void board_ready(void);
void __noreturn board_end(enum shimos_rt_end how);

#define BOARD_FLAGS_IF	0x200

/* What a handler and others both use is read and written by these. */
#define BOARD_READ(what)		__atomic_load_n(&(what), __ATOMIC_RELAXED)
#define BOARD_WRITE(what, value)	__atomic_store_n(&(what), value, __ATOMIC_RELAXED)

/* Cycles since some beginning. */
static inline uint64_t board_now(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static inline void board_interrupts_off(void)
{
	asm volatile("cli" : : : "memory");
}

static inline void board_interrupts_on(void)
{
	asm volatile("sti" : : : "memory");
}

/* For parts that may run with interrupts on or off: were they on? */
static inline bool board_interrupts_save(void)
{
	uint64_t flags;

	asm volatile("pushf\n\tpop %0\n\tcli" : "=r" (flags) : : "memory");
	return flags & BOARD_FLAGS_IF;
}

/* Those that wait come now: after STI there is always one more instruction without them. */
static inline void board_interrupts_take(void)
{
	asm volatile("sti\n\tnop\n\tcli" : : : "memory");
}

/*
 * Linux may run until the next interrupt.  Who looks with interrupts off whether there is
 * something to do misses none: they come only between the two instructions.
 */
static inline void board_idle(void)
{
	asm volatile("sti\n\thlt" : : : "memory");
}
#endif

#endif
