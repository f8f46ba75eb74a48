// SPDX-License-Identifier: GPL-2.0
/*
 * The reading end of a ring: making it, naming it in its port, and freeing it
 * when the sender has let go.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "local.h"

/* Rings that are closed here but still attached there.  ikc_peers_mutex. */
static LIST_HEAD(ikc_rx_dying);

/* A program maps whole pages of a channel's ring, here and there. */
static u32 ikc_rx_granule(unsigned int sender, unsigned int queue)
{
	return queue < IKC_FIRST_CHANNEL ? IKC_RING_ALIGN :
					   max_t(u32, IKC_RING_ALIGN, ikc_peer_page(sender));
}

/**
 * ikc_rx_create() - make a ring that nobody knows yet
 * @sender: who shall write to it
 * @queue: for which
 * @slots: how many
 * @slot_size: bytes, with the slot's header
 *
 * Context: may sleep; ikc_peers_mutex.
 * Return: the reading end, or -ENOMEM.
 */
struct ikc_rx *ikc_rx_create(unsigned int sender, unsigned int queue, u32 slots,
			     u32 slot_size)
{
	u64 bytes = ikc_ring_bytes(slots, slot_size);
	struct ikc_ring *ring;
	struct ikc_rx *rx;

	lockdep_assert_held(&ikc_peers_mutex);
	rx = kzalloc(sizeof(*rx), GFP_KERNEL);
	if (!rx)
		return ERR_PTR(-ENOMEM);
	rx->bytes = ALIGN(bytes, ikc_rx_granule(sender, queue));
	ring = ikc_alloc(rx->bytes);
	if (!ring) {
		kfree(rx);
		return ERR_PTR(-ENOMEM);
	}
	rx->offset = ikc_offset(ring);
	rx->sender = sender;
	rx->life = ikc_peer_life(sender);
	rx->queue = queue;
	memset(ring, 0, rx->bytes);
	ikc_ring_init(ring, slots, slot_size);
	ikc_consumer_init(&rx->ring, ring, slots, slot_size);
	return rx;
}

/**
 * ikc_rx_publish() - name it in its port
 * @rx: of ikc_rx_create()
 *
 * Last, for its sender may write and ring at once: whoever is called then must find it, as no
 * other packet will ring before that one is read.
 *
 * Context: ikc_peers_mutex.
 */
void ikc_rx_publish(struct ikc_rx *rx)
{
	struct ikc_port *port = ikc_port(ikc_self.number, rx->sender, rx->queue);

	lockdep_assert_held(&ikc_peers_mutex);
	WRITE_ONCE(port->broken, 0);
	WRITE_ONCE(port->life, rx->life);
	/* pairs with the acquire in ikc_tx_attach() */
	smp_store_release(&port->ring, (u32)rx->offset);
	ikc_poke(rx->sender);
}

/* Blocks in packets that nobody will read; a dead sender's are the host's to take. */
static void ikc_rx_drop_unread(struct ikc_rx *rx)
{
	u32 owner = ikc_owner(rx->sender, rx->life);
	u32 budget = rx->ring.slots, len;
	struct ikc_packet pkt;

	if (rx->queue >= IKC_FIRST_CHANNEL)
		return;
	while (budget-- && !ikc_ring_read(&rx->ring, &pkt, sizeof(pkt), &len))
		if (len == sizeof(pkt) && pkt.flags == IKC_DATA_SHARED &&
		    ikc_heap_accept(&ikc_self.heap, pkt.data, pkt.size, owner))
			ikc_heap_free(&ikc_self.heap, pkt.data);
}

/* The sender has let go: nothing more comes. */
static void ikc_rx_free(struct ikc_rx *rx)
{
	ikc_rx_drop_unread(rx);
	ikc_free(rx->ring.ring);
	kfree(rx);
}

/**
 * ikc_rx_attached() - does the sender use it?
 * @rx: published
 *
 * Context: any.
 */
bool ikc_rx_attached(const struct ikc_rx *rx)
{
	/* pairs with the releases in tx.c: what was written to the ring is there */
	return smp_load_acquire(&ikc_port(ikc_self.number, rx->sender, rx->queue)->attached) ==
	       rx->offset;
}

/**
 * ikc_rx_destroy() - read it no more; it is freed when the sender lets go
 * @rx: nobody else uses it
 *
 * Context: ikc_peers_mutex.
 */
void ikc_rx_destroy(struct ikc_rx *rx)
{
	struct ikc_port *port = ikc_port(ikc_self.number, rx->sender, rx->queue);

	lockdep_assert_held(&ikc_peers_mutex);
	if (READ_ONCE(port->ring) == rx->offset)
		WRITE_ONCE(port->ring, 0);
	smp_mb();	/* pairs with the one in ikc_tx_attach() */
	if (ikc_rx_attached(rx)) {
		list_add_tail(&rx->dying, &ikc_rx_dying);
		ikc_poke(rx->sender);
	} else {
		ikc_rx_free(rx);
	}
}

/**
 * ikc_rx_update() - free what the senders have let go
 *
 * Context: ikc_peers_mutex.
 */
void ikc_rx_update(void)
{
	struct ikc_rx *rx, *next;

	list_for_each_entry_safe(rx, next, &ikc_rx_dying, dying) {
		if (ikc_rx_attached(rx))
			continue;
		list_del(&rx->dying);
		ikc_rx_free(rx);
	}
}

/**
 * ikc_rx_exit() - this kernel leaves; the host takes the blocks back
 *
 * Context: nobody else is there any more.
 */
void ikc_rx_exit(void)
{
	struct ikc_rx *rx, *next;

	list_for_each_entry_safe(rx, next, &ikc_rx_dying, dying) {
		list_del(&rx->dying);
		kfree(rx);
	}
}

/**
 * ikc_rx_break() - the sender wrote what cannot be: say so, read no more
 * @rx: its reader's lock is held
 * @why: what it sent, for the log
 *
 * Context: any but NMI.
 */
void ikc_rx_break(struct ikc_rx *rx, const char *why)
{
	rx->ring.broken = 1;
	if (ikc_check_peer(rx->sender))
		return;		/* it is dying: what it sent may be gone already */
	WRITE_ONCE(ikc_port(ikc_self.number, rx->sender, rx->queue)->broken, 1);
	pr_warn("queue %u is broken: kernel %u sent %s as packet %llu; nothing more is read from it until its writer lets go\n",
		rx->queue, rx->sender, why, rx->ring.tail);
}

/**
 * ikc_rx_broken() - ikc_rx_break() for what the ring code found
 * @rx: its reader's lock is held
 *
 * Context: any but NMI.
 */
void ikc_rx_broken(struct ikc_rx *rx)
{
	ikc_rx_break(rx, "a sequence number or length out of range");
}
