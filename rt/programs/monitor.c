// SPDX-License-Identifier: GPL-2.0
/*
 * Watches another real-time program, after SPUMONE's monitoring service (SPUMONE 2011, section
 * 5): all that nobody may change in its memory is looked at four times a second.  What is not as
 * it was linked is told to the host, which ends that program.
 *
 * It halts between its rounds, and a round takes as many turns as its budget wants.
 */
#include <string.h>
#include "board.h"
#include "period.h"
#include "sha256.h"

#define MONITOR_HERTZ	4
#define MONITOR_PAGE	4096

static struct board_period monitor_period;
static uint32_t monitor_told;	/* the generation that was told on the console */

static const struct shimos_rt_watch *monitor_list(void)
{
	return (const struct shimos_rt_watch *)SHIMOS_RT_WATCH_LIST;
}

static struct shimos_rt_report *monitor_report(void)
{
	return (struct shimos_rt_report *)SHIMOS_RT_REPORT;
}

/* 0: nothing. */
static uint32_t monitor_generation(void)
{
	/* pairs with KLoader's release: the list is there, and what is in it can be seen */
	uint32_t generation = __atomic_load_n(&monitor_list()->generation, __ATOMIC_ACQUIRE);

	return generation & 1 ? 0 : generation;
}

/* Has all that was read since then been what the list is about? */
static bool monitor_still(uint32_t generation)
{
	/* pairs with KLoader's smp_wmb(): whoever read zeros instead sees that it changed */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return BOARD_READ(monitor_list()->generation) == generation;
}

static bool monitor_as_linked(const struct shimos_rt_page *page)
{
	uint8_t digest[SHA256_DIGEST];

	sha256((const void *)(SHIMOS_RT_WATCH + page->address), MONITOR_PAGE, digest);
	return !memcmp(digest, page->digest, sizeof(digest));
}

static void monitor_tell(uint32_t generation, uint32_t number)
{
	const struct shimos_rt_page *page = &monitor_list()->pages[number];

	board_print("the page at 0x%lx is not as it was linked\n", (unsigned long)page->address);
	BOARD_WRITE(monitor_report()->found, (uint64_t)generation << 32 | number);
	board_ring_host();
}

static uint32_t monitor_count(uint32_t generation)
{
	uint32_t count = BOARD_READ(monitor_list()->count);

	if (count > SHIMOS_RT_WATCH_PAGES)
		count = SHIMOS_RT_WATCH_PAGES;
	if (generation != monitor_told)
		board_print("watching %u pages\n", count);
	monitor_told = generation;
	return count;
}

/* Once through the list, or as far as it stays the same. */
static void monitor_round(void)
{
	uint32_t generation = monitor_generation(), count, i;

	if (!generation)
		return;
	count = monitor_count(generation);
	for (i = 0; i < count && !board_asked_to_stop(); i++) {
		bool fine = monitor_as_linked(&monitor_list()->pages[i]);

		if (!monitor_still(generation))
			return;
		if (!fine) {
			monitor_tell(generation, i);
			return;
		}
	}
	BOARD_WRITE(monitor_report()->rounds, monitor_report()->rounds + 1);
}

static struct board_frame *monitor_tick(struct board_frame *frame)
{
	board_period_pass(&monitor_period, board_now());
	board_timer(monitor_period.deadline);
	return frame;
}

/* FIPS 180-4's example: one that counts wrong would end whom it watches. */
static bool monitor_can_count(void)
{
	static const uint8_t begin[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea };
	uint8_t digest[SHA256_DIGEST];

	sha256("abc", 3, digest);
	return !memcmp(digest, begin, sizeof(begin));
}

void board_program(void)
{
	if (!board_watches())
		board_fail("there is nobody to be watched: run it with --watch NAME");
	if (!monitor_can_count())
		board_fail("its SHA-256 is wrong");
	board_on(SHIMOS_RT_TIMER, monitor_tick);
	board_ready();

	monitor_period.length = board_cycles_per_second() / MONITOR_HERTZ;
	monitor_period.deadline = board_now() + monitor_period.length;
	board_timer(monitor_period.deadline);
	while (!board_asked_to_stop()) {
		monitor_round();
		board_idle();
		board_interrupts_off();
	}
	board_end(SHIMOS_RT_END_STOPPED);
}
