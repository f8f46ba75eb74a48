// SPDX-License-Identifier: GPL-2.0
/* One that watches another, and lies, or reaches for more than it may: LIAR says how. */
#include "board.h"

static struct shimos_rt_report *liar_report(void)
{
	return (struct shimos_rt_report *)SHIMOS_RT_REPORT;
}

static uint32_t liar_generation(void)
{
	const struct shimos_rt_watch *list = (const void *)SHIMOS_RT_WATCH_LIST;

	return BOARD_READ(list->generation);
}

static __attribute((unused)) void liar_lie(void)
{
	uint64_t now = liar_generation(), n;

	for (n = 0; n < 8; n++) {
		/* no page of the list, a list that is yet to come, none, one that never was */
		BOARD_WRITE(liar_report()->found, now << 32 | (0xffffffff - n));
		board_ring_host();
		BOARD_WRITE(liar_report()->found, (now + 2 + 2 * n) << 32);
		board_ring_host();
		BOARD_WRITE(liar_report()->found, n + 1);
		board_ring_host();
		BOARD_WRITE(liar_report()->found, 0xffffffff00000000 + n);
		board_ring_host();
	}
	board_timer(board_now() + board_cycles_per_second() / 100);
}

/* What is as it was. */
static __attribute((unused)) void liar_accuse(void)
{
	BOARD_WRITE(liar_report()->found, (uint64_t)liar_generation() << 32);
	board_ring_host();
}

/* The other's text, while it is there, and what is there when it has gone. */
static __attribute((unused)) void liar_peek(void)
{
	const struct shimos_rt_watch *list = (const void *)SHIMOS_RT_WATCH_LIST;
	static bool gone;

	if (!gone && !BOARD_READ(*(uint64_t *)(SHIMOS_RT_WATCH + list->pages[0].address))) {
		gone = true;
		board_print("zeros\n");
	}
	board_timer(board_now() + board_cycles_per_second() / 100);
}

static __attribute((unused)) void liar_write(void)
{
	const struct shimos_rt_watch *list = (const void *)SHIMOS_RT_WATCH_LIST;

	BOARD_WRITE(*(uint8_t *)(SHIMOS_RT_WATCH + list->pages[0].address), 1);
}

/* The other's data, or whatever it has behind its text. */
static __attribute((unused)) void liar_beyond(void)
{
	const struct shimos_rt_watch *list = (const void *)SHIMOS_RT_WATCH_LIST;
	uint64_t last = list->pages[list->count - 1].address;

	board_print("%u\n", BOARD_READ(*(uint8_t *)(SHIMOS_RT_WATCH + last + 4096)));
}

void board_program(void)
{
	/* both run before it is watched */
	while (liar_generation() & 1)
		;
	LIAR();
	board_ready();
	while (!board_asked_to_stop()) {
		board_idle();
		board_interrupts_off();
		LIAR();
	}
	board_end(SHIMOS_RT_END_STOPPED);
}
