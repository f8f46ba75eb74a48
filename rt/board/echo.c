// SPDX-License-Identifier: GPL-2.0
/* The echo service, as every kernel has it: `shimos ping` and `shimos perf` find this one, too. */
#include "area.h"

#define ECHO_SLOT	1024
#define ECHO_SLOTS	((IKC_ALLOC_MAX - IKC_RING_HEADER) / ECHO_SLOT)
#define ECHO_AT_ONCE	32	/* messages, then the program has its turn */
#define ECHO_POLLS	50000	/* part of a second that it looks on before it waits for the bell */

struct board_echo_buffer {
	struct ikc_echo_message message;
	uint8_t rest[ECHO_SLOT - IKC_SLOT_HEADER - sizeof(struct ikc_echo_message)];
};

static struct {
	struct board_rx rx;
	enum { ECHO_ASLEEP, ECHO_BUSY, ECHO_POLLING } state;
	uint64_t since;			/* polling */
	uint64_t messages, bytes;	/* that went to the sink */
} board_echo;

/* A ring whose writer was told that it is broken, and has let go, is made anew for the next one. */
void board_echo_update(void)
{
	struct board_rx *rx = &board_echo.rx;

	if (rx->life != board_area.host ||
	    (rx->ring.broken && !board_rx_attached(rx, IKC_ECHO_CHANNEL)))
		board_rx_unname(rx, IKC_ECHO_CHANNEL);
	board_rx_free(rx, IKC_ECHO_CHANNEL);
	board_rx_open(rx, IKC_ECHO_CHANNEL, ECHO_SLOTS, ECHO_SLOT);
}

/* Who does not read its answers loses them. */
static void board_echo_answer(unsigned int channel, const void *data, uint32_t len)
{
	if (channel < IKC_ECHO_CHANNEL && !board_tx_write(channel, false, data, len))
		board_tx_notify(channel);
}

static void board_echo_handle(struct board_echo_buffer *buffer, uint32_t len)
{
	struct ikc_echo_message *message = &buffer->message;

	if (len < sizeof(*message))
		return;
	switch (message->op) {
	case IKC_ECHO:
		board_echo_answer(message->channel, buffer, len);
		break;
	case IKC_SINK:
		board_echo.messages++;
		board_echo.bytes += len;
		break;
	case IKC_COUNT:
		message->cookie = board_echo.messages;
		message->bytes = board_echo.bytes;
		board_echo.messages = board_echo.bytes = 0;
		board_echo_answer(message->channel, buffer, sizeof(*message));
		break;
	}
}

/* Nothing came: shall it be looked again at once? */
static bool board_echo_stay(void)
{
	if (board_echo.state == ECHO_ASLEEP)
		return false;
	if (board_echo.state == ECHO_BUSY)
		board_echo.since = board_clock();
	board_echo.state = ECHO_POLLING;
	if (board_clock() - board_echo.since < board_cycles_per_second() / ECHO_POLLS)
		return true;
	if (!board_rx_arm(&board_echo.rx, IKC_ECHO_CHANNEL))
		return true;
	board_echo.state = ECHO_ASLEEP;
	return false;
}

bool board_echo_serve(void)
{
	static struct board_echo_buffer buffer;
	unsigned int n;
	uint32_t len;

	for (n = 0; n < ECHO_AT_ONCE; n++) {
		if (board_rx_read(&board_echo.rx, IKC_ECHO_CHANNEL, &buffer, sizeof(buffer), &len))
			break;
		board_echo_handle(&buffer, len);
	}
	if (!n)
		return board_echo_stay();
	board_echo.state = ECHO_BUSY;
	return true;
}
