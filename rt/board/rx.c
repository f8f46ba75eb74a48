// SPDX-License-Identifier: GPL-2.0
/* The reading end of a ring: making it, naming it in its port, and freeing it when it was let go. */
#include "area.h"

/* The host's programs map whole pages; what cannot be is not believed. */
static uint32_t board_rx_granule(void)
{
	uint32_t page = READ_ONCE(board_entry(BOARD_HOST)->page_size);

	return page > IKC_RING_ALIGN && page <= IKC_ALLOC_MAX && !(page & (page - 1)) ?
	       page : IKC_RING_ALIGN;
}

/* Last comes the name: whoever finds that may write at once. */
static void board_rx_name(struct board_rx *rx, unsigned int channel)
{
	struct ikc_port *port = board_port_here(board_queue(channel));

	WRITE_ONCE(port->broken, 0);
	WRITE_ONCE(port->life, rx->life);
	rx->named = true;
	/* pairs with the acquire in the host's ikc_tx_attach() */
	smp_store_release(&port->ring, rx->offset);
	board_area_poke();
}

int board_rx_open(struct board_rx *rx, unsigned int channel, uint32_t slots, uint32_t slot_size)
{
	uint32_t granule = board_rx_granule();
	uint32_t bytes = (ikc_ring_bytes(slots, slot_size) + granule - 1) & ~(granule - 1);
	struct ikc_ring *ring;

	if (rx->offset)
		return 0;
	if (!board_area_host_up())
		return -EHOSTDOWN;
	rx->offset = board_area_alloc(bytes);
	if (!rx->offset)
		return -ENOMEM;
	rx->life = board_area.host;
	ring = board_area_pointer(rx->offset);
	memset(ring, 0, bytes);
	ikc_ring_init(ring, slots, slot_size);
	ikc_consumer_init(&rx->ring, ring, slots, slot_size);
	board_rx_name(rx, channel);
	return 0;
}

bool board_rx_used(const struct board_rx *rx)
{
	if (!rx->offset)
		return false;
	/* pairs with the release in ikc_ring_write(): that it is attached was written before it */
	return rx->ring.tail || smp_load_acquire(&rx->ring.slot->seq);
}

bool board_rx_attached(const struct board_rx *rx, unsigned int channel)
{
	/* pairs with the releases in the host's tx.c */
	uint32_t attached = smp_load_acquire(&board_port_here(board_queue(channel))->attached);

	return rx->offset && attached == rx->offset && rx->life == board_area.host;
}

void board_rx_unname(struct board_rx *rx, unsigned int channel)
{
	if (!rx->named)
		return;
	rx->named = false;
	WRITE_ONCE(board_port_here(board_queue(channel))->ring, 0);
	smp_mb();	/* pairs with the one in the host's ikc_tx_attach() */
	board_area_poke();
}

void board_rx_free(struct board_rx *rx, unsigned int channel)
{
	if (!rx->offset || rx->named || board_rx_attached(rx, channel))
		return;
	ikc_heap_free(&board_area.heap, rx->offset);
	rx->offset = 0;
}

/* The host wrote what cannot be: say so, read no more. */
static void board_rx_break(struct board_rx *rx, unsigned int channel)
{
	rx->ring.broken = 1;
	if (rx->named && board_area_host_up())
		WRITE_ONCE(board_port_here(board_queue(channel))->broken, 1);
}

static void board_rx_ring_back(struct board_rx *rx, unsigned int channel)
{
	if (ikc_must_ring_back(&rx->ring))
		board_area_ring(board_queue(channel));
}

int board_rx_read(struct board_rx *rx, unsigned int channel, void *data, uint32_t size,
		  uint32_t *len)
{
	int ret;

	if (!rx->offset)
		return -EAGAIN;
	if (rx->ring.broken)
		return -EBADMSG;
	ret = ikc_ring_read(&rx->ring, data, size, len);
	if (ret == -EBADMSG)
		board_rx_break(rx, channel);
	board_rx_ring_back(rx, channel);
	return ret;
}

bool board_rx_arm(struct board_rx *rx, unsigned int channel)
{
	bool sleep;

	if (!rx->offset || rx->ring.broken)
		return true;
	sleep = ikc_arm(&rx->ring);
	if (rx->ring.broken)
		board_rx_break(rx, channel);
	board_rx_ring_back(rx, channel);
	return sleep;
}
