// SPDX-License-Identifier: GPL-2.0
/* The writing end of a ring: taking what the host has named, writing, ringing, letting go. */
#include "area.h"

static struct board_tx {
	struct ikc_producer ring;
	uint32_t offset;	/* 0: not attached */
	uint32_t life;		/* the host's */
	bool taken;		/* by a channel */
} board_tx[IKC_CHANNELS];

int board_tx_take(unsigned int channel)
{
	if (board_tx[channel].taken)
		return -EBUSY;
	board_tx[channel].taken = true;
	return 0;
}

/* ---- letting go ---- */

static void board_tx_let_go(unsigned int channel)
{
	board_tx[channel].offset = 0;
	/* what was written comes before it; pairs with the look of the host, who may then free it */
	smp_store_release(&board_port_there(board_queue(channel))->attached, 0);
	board_area_poke();
}

void board_tx_detach(unsigned int channel)
{
	if (board_tx[channel].offset)
		board_tx_let_go(channel);
}

bool board_tx_stale(unsigned int channel)
{
	const struct board_tx *tx = &board_tx[channel];
	/* pairs with the host's ikc_rx_destroy(): its program has let go of our ring before that */
	uint32_t ring = smp_load_acquire(&board_port_there(board_queue(channel))->ring);

	return tx->offset && (tx->life != board_area.host || tx->offset != ring);
}

void board_tx_update(void)
{
	unsigned int channel;

	for (channel = 0; channel < IKC_CHANNELS; channel++) {
		if (!board_tx[channel].taken && board_tx_stale(channel))
			board_tx_detach(channel);
	}
}

/* ---- attaching ---- */

/* Is what the host has named a ring of its own?  Then go on where the last one stopped. */
static int board_tx_begin(struct board_tx *tx, uint32_t offset)
{
	struct ikc_heap *heap = &board_area.heap;
	uint64_t bytes = ikc_heap_size(heap, offset);

	if (bytes < IKC_RING_ALIGN || offset % IKC_RING_ALIGN ||
	    ikc_heap_owner(heap, offset) != ikc_owner(BOARD_HOST, board_area.host))
		return -EPROTO;
	return ikc_producer_init(&tx->ring, board_area_pointer(offset), bytes);
}

static int board_tx_attach(unsigned int channel)
{
	struct ikc_port *port = board_port_there(board_queue(channel));
	struct board_tx *tx = &board_tx[channel];
	/* pairs with the release in the host's ikc_rx_publish() */
	uint32_t offset = smp_load_acquire(&port->ring);
	int ret = -ENOTCONN;

	if (!board_area_host_up())
		return -EHOSTDOWN;
	if (!offset || READ_ONCE(port->life) != board_area.life)
		return -ENOTCONN;
	WRITE_ONCE(port->attached, offset);
	smp_mb();	/* pairs with the one in the host's ikc_rx_destroy() */
	if (READ_ONCE(port->ring) == offset)
		ret = board_tx_begin(tx, offset);
	if (ret) {
		board_tx_let_go(channel);
		return ret;
	}
	tx->offset = offset;
	tx->life = board_area.host;
	/* for what was left in the ring without a word */
	board_tx_notify(channel);
	return 0;
}

/* ---- writing ---- */

int board_tx_write(unsigned int channel, bool taken, const void *data, uint32_t len)
{
	struct board_tx *tx = &board_tx[channel];
	int ret = 0;

	if (tx->taken != taken)
		return -EBUSY;
	if (board_tx_stale(channel)) {
		board_tx_detach(channel);
		if (taken)
			return -EPIPE;
	}
	if (!tx->offset)
		ret = board_tx_attach(channel);
	return ret ? ret : ikc_ring_write(&tx->ring, data, len);
}

void board_tx_notify(unsigned int channel)
{
	struct board_tx *tx = &board_tx[channel];

	if (tx->offset && ikc_must_ring(&tx->ring))
		board_area_ring(board_queue(channel));
}

bool board_tx_wait(unsigned int channel)
{
	struct board_tx *tx = &board_tx[channel];

	if (!tx->offset && board_tx_attach(channel))
		return true;
	/* the reader must know of what is there, else both would wait */
	board_tx_notify(channel);
	return ikc_wait_for_room(&tx->ring);
}

uint64_t board_tx_rung(unsigned int channel)
{
	return board_tx[channel].ring.rung;
}
