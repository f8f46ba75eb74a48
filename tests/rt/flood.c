// SPDX-License-Identifier: GPL-2.0
/*
 * FLOOD messages each way with a program on the host, on channel 1 of both: reads as many, each
 * with its number, answers with how many there were, and writes as many itself.  It never spins:
 * the program on the host may need this very CPU.  When that one has left comes the next.
 */
#include "board.h"
#include "ikc.h"

#define FLOOD_CHANNEL	1
#define FLOOD_SLOT	64
#define FLOOD_SLOTS	((IKC_ALLOC_MAX - IKC_RING_HEADER) / FLOOD_SLOT)
#define FLOOD_AT_ONCE	256	/* messages, then interrupts and the stop have their turn */

static struct {
	uint64_t got, sent;
	bool answered;
	uint64_t waits;		/* how often it halted for a message or for room */
} flood;

/* The host's program has left: the next one finds everything as the first did. */
static void flood_again(void)
{
	if (flood.got || flood.sent)
		board_print("flood: left after %lu and %lu\n", flood.got, flood.sent);
	flood.got = flood.sent = flood.waits = 0;
	flood.answered = false;
	board_ikc_next(FLOOD_CHANNEL);
}

static void flood_check(int error, const char *doing)
{
	if (error == -EPIPE)
		flood_again();
	else if (error && error != -EAGAIN && error != -ENOTCONN)
		board_fail("flood: %s: %s", doing, board_ikc_explain(error));
}

static void flood_take(const uint64_t *number, uint32_t len)
{
	if (flood.got == FLOOD)
		board_fail("flood: there is a message after the last");
	if (len != sizeof(*number))
		board_fail("flood: message %lu has %u bytes", flood.got, len);
	if (*number != flood.got)
		board_fail("flood: message %lu says that it is %lu", flood.got, *number);
	flood.got++;
}

static bool flood_read(void)
{
	uint64_t number;
	uint32_t len;
	int n, ret;

	for (n = 0; n < FLOOD_AT_ONCE; n++) {
		ret = board_ikc_read(FLOOD_CHANNEL, &number, sizeof(number), &len);
		if (ret) {
			flood_check(ret, "reading");
			return !board_ikc_arm(FLOOD_CHANNEL);
		}
		flood_take(&number, len);
	}
	return true;
}

/* First how many came, then all the numbers. */
static int flood_write_one(void)
{
	uint64_t number = flood.answered ? flood.sent : flood.got;
	int ret = board_ikc_write(FLOOD_CHANNEL, &number, sizeof(number));

	if (!ret && flood.answered)
		flood.sent++;
	if (!ret)
		flood.answered = true;
	return ret;
}

static bool flood_write(void)
{
	int n, ret = 0;

	if (flood.got != FLOOD || flood.sent == FLOOD)
		return false;
	for (n = 0; n < FLOOD_AT_ONCE && !ret && flood.sent < FLOOD; n++)
		ret = flood_write_one();
	if (ret) {
		flood_check(ret, "writing");
		return !board_ikc_wait_for_room(FLOOD_CHANNEL);
	}
	board_ikc_notify(FLOOD_CHANNEL);
	if (flood.sent == FLOOD)
		board_print("flood: %lu messages each way, %lu doorbells rung, %lu waits\n",
			    flood.sent, board_ikc_rung(FLOOD_CHANNEL), flood.waits);
	return true;
}

/* All have a turn; true if one of them has more to do. */
static bool flood_work(void)
{
	bool more = board_ikc_serve();

	more |= flood_read();
	more |= flood_write();
	return more;
}

void board_program(void)
{
	int ret = board_ikc_join();

	if (!ret)
		ret = board_ikc_open(FLOOD_CHANNEL, FLOOD_CHANNEL, FLOOD_SLOTS, FLOOD_SLOT);
	if (ret)
		board_fail("flood: %s", board_ikc_explain(ret));
	board_ready();
	while (!board_asked_to_stop()) {
		if (flood_work()) {
			board_interrupts_take();
		} else {
			flood.waits++;
			board_idle();
		}
		board_interrupts_off();
	}
	board_end(SHIMOS_RT_END_STOPPED);
}
