// SPDX-License-Identifier: GPL-2.0
/* The boot record, the console and the layer's calls. */
#include <stdarg.h>
#include "area.h"
#include "text.h"
#include "vectors.h"

#define BOARD_LINE	256	/* longer texts are cut */

static struct shimos_rt_boot board_boot;
static const struct shimos_rt_boot *board_boot_place;	/* KLoader writes there yet */

static struct shimos_shared *board_shared(void)
{
	return (struct shimos_shared *)(uintptr_t)board_boot.shared;
}

static int64_t board_call(enum shimos_rt_call call, uint64_t argument)
{
	int64_t result;

	asm volatile("vmmcall" : "=a" (result) : "a" ((uint64_t)call), "D" (argument) : "memory");
	return result;
}

/**
 * board_timer() - let SHIMOS_RT_TIMER come at a time of board_now()'s, instead of what was set
 * @deadline: one that is past comes at once; 0: none
 */
void board_timer(uint64_t deadline)
{
	int64_t result = board_call(SHIMOS_RT_CALL_TIMER, deadline);

	if (result)
		board_fail("the layer refused a timer: %ld", result);
}

/**
 * board_ready() - the partition is running
 */
void board_ready(void)
{
	int64_t result = board_call(SHIMOS_RT_CALL_READY, 0);

	if (result)
		board_fail("the layer refused that the program is ready: %ld", result);
}

/**
 * board_end() - the partition is over
 */
void board_end(enum shimos_rt_end how)
{
	board_call(SHIMOS_RT_CALL_END, how);
	for (;;)
		asm volatile("cli\n\thlt");
}

/* With interrupts off: lines from several tasks and handlers stay whole. */
static void board_write(const char *text, size_t length)
{
	char *area = (char *)board_shared() + SHIMOS_CONSOLE_OUT;
	bool were_on;

	if (!board_boot.shared)
		return;
	were_on = board_interrupts_save();
	board_ring_put((struct shimos_console_out *)area, text, length);
	if (BOARD_READ(board_shared()->watchers))
		board_call(SHIMOS_RT_CALL_RING, 0);
	if (were_on)
		board_interrupts_on();
}

static void board_vprint(const char *format, va_list args)
{
	char line[BOARD_LINE];
	size_t length = board_format(line, sizeof(line), format, args);

	board_write(line, length < sizeof(line) ? length : sizeof(line) - 1);
}

/**
 * board_print() - write on the partition's console; see board_format() for what it knows
 */
void board_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	board_vprint(format, args);
	va_end(args);
}

/**
 * board_fail() - say what went wrong, without a newline at the end, and end as failed
 *
 * It is on the console, and the partition's last word, as `shimos show` tells it.
 */
void board_fail(const char *format, ...)
{
	char *message = board_shared()->message;
	va_list args;

	board_interrupts_off();
	if (board_boot.shared) {
		va_start(args, format);
		board_format(message, sizeof(board_shared()->message), format, args);
		va_end(args);
		board_print("%s\n", message);
	}
	board_end(SHIMOS_RT_END_FAILED);
}

uint64_t board_cycles_per_second(void)
{
	return board_boot.cycles_per_second;
}

/**
 * board_asked_to_stop() - whether KLoader wants the partition to end; it rings when it does
 */
bool board_asked_to_stop(void)
{
	return BOARD_READ(board_shared()->request) == SHIMOS_REQUEST_POWEROFF;
}

/**
 * board_watches() - whether there is another program to be watched
 */
bool board_watches(void)
{
	return board_boot.watch;
}

/**
 * board_ring_host() - there is something for it
 */
void board_ring_host(void)
{
	board_call(SHIMOS_RT_CALL_RING, 0);
}

/* ---- what IKC wants to know; area.h ---- */

struct board_self board_self(void)
{
	return (struct board_self) {
		.kernel = BOARD_READ(board_shared()->ikc_kernel),
		.life = BOARD_READ(board_shared()->ikc_life),
		.bell = board_boot.bell,
	};
}

uint32_t board_chunks(void)
{
	/* pairs with KLoader's release: they are there */
	return __atomic_load_n(&board_boot_place->ikc_chunks, __ATOMIC_ACQUIRE);
}

void *board_chunk(uint32_t number)
{
	return (void *)(SHIMOS_RT_IKC + (uintptr_t)number * IKC_CHUNK_SIZE);
}

uint64_t board_clock(void)
{
	return board_now();
}

/* ---- beginning ---- */

/**
 * board_start() - everything in C begins here
 */
void board_start(const struct shimos_rt_boot *boot)
{
	const char *complaint = board_boot_complaint(boot);

	board_vectors_load();
	/* without it there is no console to complain on */
	if (board_boot_readable(boot)) {
		board_boot = *boot;
		board_boot_place = boot;
	}
	if (complaint)
		board_fail("%s", complaint);
	board_program();
	board_fail("the program returned");
}
