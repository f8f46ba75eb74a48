// SPDX-License-Identifier: GPL-2.0
/*
 * Channels: a ring each way, between this program and one of the host's.  When that one has
 * left, what it wrote can be read to the end; then comes the next.
 */
#include "area.h"

static struct board_channel {
	bool open;
	bool used;		/* a program of the host's has been there */
	bool over;		/* and has left */
	unsigned int peer;	/* the channel there */
	uint32_t slots, slot_size;
	struct board_rx rx;
} board_channels[IKC_ECHO_CHANNEL];

static struct board_channel *board_channel_find(unsigned int channel)
{
	return channel < IKC_ECHO_CHANNEL && board_channels[channel].open ?
	       &board_channels[channel] : NULL;
}

/* ---- programs come and go ---- */

/* There is a ring for the next program, as soon as the last one's is gone. */
static void board_channel_offer(struct board_channel *ch, unsigned int channel)
{
	board_rx_free(&ch->rx, channel);
	/* without memory, or without a host: at a later look */
	board_rx_open(&ch->rx, channel, ch->slots, ch->slot_size);
}

static void board_channel_hang_up(struct board_channel *ch, unsigned int channel)
{
	board_tx_detach(ch->peer);
	board_rx_unname(&ch->rx, channel);
	ch->over = true;
}

static bool board_channel_left(struct board_channel *ch, unsigned int channel)
{
	if (board_tx_stale(ch->peer))
		return true;
	if (!ch->rx.named)
		return false;
	if (ch->rx.life != board_area.host)
		return true;
	/* in this order: who wrote something was attached before */
	ch->used |= board_rx_used(&ch->rx);
	if (!board_rx_attached(&ch->rx, channel))
		return ch->used;
	ch->used = true;
	return false;
}

void board_channels_update(void)
{
	unsigned int channel;

	for (channel = 0; channel < IKC_ECHO_CHANNEL; channel++) {
		struct board_channel *ch = board_channel_find(channel);

		if (!ch || ch->over)
			continue;
		if (board_channel_left(ch, channel))
			board_channel_hang_up(ch, channel);
		else
			board_channel_offer(ch, channel);
	}
}

/**
 * board_ikc_open() - have a channel for programs on the host
 * @channel: where they send to, below IKC_ECHO_CHANNEL
 * @peer_channel: where this side sends to
 * @slots: of the ring that is read here
 * @slot_size: bytes of each, of which a message has IKC_SLOT_HEADER less
 *
 * It stays for good.  When the area has no memory the ring comes when the host has added some.
 *
 * Return: 0, -ENODEV: not joined, -EINVAL: no such channel or ring, -EBUSY: one of both is in use
 */
int board_ikc_open(unsigned int channel, unsigned int peer_channel, uint32_t slots,
		   uint32_t slot_size)
{
	uint64_t bytes = ikc_ring_bytes(slots, slot_size);
	struct board_channel *ch;
	int ret;

	if (!board_area.table)
		return -ENODEV;
	if (channel >= IKC_ECHO_CHANNEL || peer_channel >= IKC_CHANNELS || !bytes ||
	    bytes > IKC_ALLOC_MAX)
		return -EINVAL;
	ch = &board_channels[channel];
	ret = ch->open ? -EBUSY : board_tx_take(peer_channel);
	if (ret)
		return ret;
	*ch = (struct board_channel) {
		.open = true,
		.peer = peer_channel,
		.slots = slots,
		.slot_size = slot_size,
	};
	board_channel_offer(ch, channel);
	return 0;
}

/**
 * board_ikc_next() - be ready for the next program
 *
 * What the last one wrote and nobody has read is lost.  One that is there yet is hung up on.
 *
 * Return: 0, -EINVAL: it is not open
 */
int board_ikc_next(unsigned int channel)
{
	struct board_channel *ch = board_channel_find(channel);

	if (!ch)
		return -EINVAL;
	if (!ch->over)
		board_channel_hang_up(ch, channel);
	ch->used = ch->over = false;
	board_channel_offer(ch, channel);
	return 0;
}

/* ---- reading ---- */

/* A ring that is not named any more is the last program's. */
static bool board_channel_readable(const struct board_channel *ch)
{
	return ch->rx.named || ch->over;
}

/**
 * board_ikc_read() - take the next message
 * @data: room for @size bytes
 * @len: its length
 *
 * Return: 0, -EINVAL: it is not open, -EAGAIN: there is none, -EMSGSIZE: it is larger, and stays,
 * -EPIPE: the host's program has left and this was all, see board_ikc_next(),
 * -EBADMSG: it wrote nonsense, and no more is read until it has left
 */
int board_ikc_read(unsigned int channel, void *data, uint32_t size, uint32_t *len)
{
	struct board_channel *ch = board_channel_find(channel);
	int ret;

	if (!ch)
		return -EINVAL;
	if (!board_channel_readable(ch))
		return -EAGAIN;
	ret = board_rx_read(&ch->rx, channel, data, size, len);
	return ch->over && (ret == -EAGAIN || ret == -EBADMSG) ? -EPIPE : ret;
}

/**
 * board_ikc_arm() - let the bell ring when there is something
 *
 * Return: true: one may halt; false: there is something to read, or to be learnt by that
 */
bool board_ikc_arm(unsigned int channel)
{
	struct board_channel *ch = board_channel_find(channel);

	if (!ch)
		return true;
	if (ch->over)
		return false;
	return !board_channel_readable(ch) || board_rx_arm(&ch->rx, channel);
}

/* ---- writing ---- */

/**
 * board_ikc_write() - send a message
 *
 * Ring by board_ikc_notify() after one or several.
 *
 * Return: 0, -EINVAL: it is not open, -EAGAIN: it is full, see board_ikc_wait_for_room(),
 * -EMSGSIZE: too long for the host's program, -ENOTCONN: none has opened its end,
 * -EPIPE: it has left, see board_ikc_next(), -EHOSTDOWN, or -EPROTO, -EBADMSG: nonsense is there
 */
int board_ikc_write(unsigned int channel, const void *data, uint32_t len)
{
	struct board_channel *ch = board_channel_find(channel);
	int ret;

	if (!ch)
		return -EINVAL;
	if (ch->over)
		return -EPIPE;
	ret = board_tx_write(ch->peer, true, data, len);
	if (ret == -EPIPE)
		board_channel_hang_up(ch, channel);
	return ret;
}

/**
 * board_ikc_notify() - ring the host's program, if it sleeps
 */
void board_ikc_notify(unsigned int channel)
{
	struct board_channel *ch = board_channel_find(channel);

	if (ch)
		board_tx_notify(ch->peer);
}

/**
 * board_ikc_wait_for_room() - let the bell ring when half of the ring is free, or it is opened
 *
 * Return: true: one may halt; false: there is room, or something to be learnt by writing
 */
bool board_ikc_wait_for_room(unsigned int channel)
{
	struct board_channel *ch = board_channel_find(channel);

	return !ch || (!ch->over && board_tx_wait(ch->peer));
}

/**
 * board_ikc_rung() - how often the host was rung for messages on this channel
 */
uint64_t board_ikc_rung(unsigned int channel)
{
	struct board_channel *ch = board_channel_find(channel);

	return ch ? board_tx_rung(ch->peer) : 0;
}
