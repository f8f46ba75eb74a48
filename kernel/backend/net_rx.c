// SPDX-License-Identifier: GPL-2.0
/*
 * Packets to the user: copied once, from where they are into the user's buffers.
 *
 * All of it runs under the lock of the network device's tx queue, but for the timer.
 * If there is no room the queue is stopped, and the user's next kick of the rx ring
 * wakes it.  A user that adds none for long must not keep what waits there, which may
 * be another user's memory: then packets are dropped until there is room again.
 */
#include <linux/module.h>
#include <linux/skbuff.h>

#include "net.h"

#define STALL		HZ	/* how long packets may wait for the user */

static struct netdev_queue *net_queue_of(const struct net_pair *pair)
{
	return netdev_get_tx_queue(pair->port->dev, pair->index);
}

/* ---- room in the user's buffers ---- */

static int net_add_chain(struct net_pair *pair)
{
	struct net_room *room = &pair->room;
	struct vqueue_chain *chain = &room->chain;
	u64 len = 0;
	u16 i;

	if (chain->out) {
		vqueue_unpop(&pair->rx->v, chain);
		backend_break(pair->rx->backend, "a receive buffer that may not be written");
		return -EBADMSG;
	}
	if (room->chains == NET_ROOM || room->segments + chain->in > NET_ROOM) {
		vqueue_unpop(&pair->rx->v, chain);
		return -EMSGSIZE;
	}
	for (i = 0; i < chain->in; i++) {
		room->segment[room->segments++] = chain->seg[i];
		len += chain->seg[i].len;
	}
	room->head[room->chains] = chain->head;
	room->len[room->chains++] = min_t(u64, len, U32_MAX);
	room->bytes += len;
	return 0;
}

/*
 * Take chains until there is room for @need bytes.  0, -ENOSPC: there are no more now,
 * -EMSGSIZE: they are too small, -EBADMSG.
 */
static int net_pop_chains(struct net_pair *pair, u32 need, unsigned int most)
{
	struct net_room *room = &pair->room;
	int ret;

	while (room->bytes < need) {
		if (room->chains >= most)
			return -EMSGSIZE;
		ret = vqueue_pop(&pair->rx->v, &room->chain);
		if (ret < 0)
			backend_break_ring(pair->rx);
		if (ret <= 0)
			return ret ?: -ENOSPC;
		ret = net_add_chain(pair);
		if (ret)
			return ret;
	}
	return 0;
}

/* The other way round than they were taken. */
static void net_unpop_chains(struct net_pair *pair)
{
	struct net_room *room = &pair->room;

	while (room->chains) {
		room->chain.head = room->head[--room->chains];
		vqueue_unpop(&pair->rx->v, &room->chain);
	}
}

/*
 * All has been taken: stop the queue until the user kicks.  False: it has added
 * something, or does not need to.
 */
static bool net_stop_queue(struct net_pair *pair)
{
	WRITE_ONCE(pair->stopped_at, jiffies);
	netif_tx_stop_queue(net_queue_of(pair));
	/*
	 * The full barrier in vqueue_enable_notify() is between stopping and looking: either the
	 * user's buffer is seen here, or its kick sees the queue stopped.
	 */
	if (!vqueue_enable_notify(&pair->rx->v)) {
		netif_tx_start_queue(net_queue_of(pair));
		return false;
	}
	if (!timer_pending(&pair->stall))
		mod_timer(&pair->stall, jiffies + STALL);
	return true;
}

/*
 * As net_pop_chains(), but nothing is taken if it fails; after -ENOSPC the queue is
 * stopped, or the user has been given up for now.
 */
static int net_pop_room(struct net_pair *pair, u32 need)
{
	bool mergeable = pair->rx->backend->accepted & BIT_ULL(VIRTIO_NET_F_MRG_RXBUF);
	unsigned int tries = 0, most = mergeable ? NET_ROOM : 1;
	struct net_room *room = &pair->room;
	int ret;

	room->chains = room->segments = room->bytes = 0;
	do {
		ret = net_pop_chains(pair, need, most);
		/* bounded, in case that the user takes back what it has added */
	} while (ret == -ENOSPC && !READ_ONCE(pair->stalled) && tries++ < NET_ROOM &&
		 !net_stop_queue(pair));
	if (ret)
		net_unpop_chains(pair);
	else
		WRITE_ONCE(pair->stalled, false);
	return ret;
}

/* The queue has been stopped for long: give the user up until there is room. */
void net_stall(struct timer_list *timer)
{
	struct net_pair *pair = container_of(timer, struct net_pair, stall);
	unsigned long end = READ_ONCE(pair->stopped_at) + STALL;

	if (!netif_tx_queue_stopped(net_queue_of(pair)))
		return;
	if (time_before(jiffies, end)) {
		mod_timer(timer, end);
		return;
	}
	WRITE_ONCE(pair->stalled, true);
	netif_tx_wake_queue(net_queue_of(pair));
}

/* ---- a packet ---- */

static void net_copy_packet(struct net_room *room, const struct virtio_net_hdr_mrg_rxbuf *header,
			    const struct sk_buff *skb)
{
	u32 n, at = 0, end = NET_HEADER + skb->len;
	const struct vqueue_segment *s;

	for (s = room->segment; at < end; s++) {
		u32 len = min(s->len, end - at);
		void *to = s->data;

		if (at < NET_HEADER) {
			n = min(len, NET_HEADER - at);
			memcpy(to, (const void *)header + at, n);
			to += n;
			at += n;
			len -= n;
		}
		if (len)	/* cannot fail: it is not more than the packet has */
			skb_copy_bits(skb, at - NET_HEADER, to, len);
		at += len;
	}
}

/* A merged packet is seen as a whole or not at all (virtio 1.2, 5.1.6.4). */
static void net_complete_room(struct net_pair *pair, u32 bytes)
{
	struct net_room *room = &pair->room;
	unsigned int i;

	for (i = 0; i < room->chains; i++) {
		room->len[i] = min(room->len[i], bytes);	/* the last is not full */
		bytes -= room->len[i];
	}
	backend_complete_together(pair->rx, room->head, room->len, room->chains);
	pair->unannounced = true;
}

/* Say in its header what the packet is, as far as the driver understands that. */
static int net_make_header(const struct net_pair *pair, struct sk_buff *skb,
			   struct virtio_net_hdr_mrg_rxbuf *header)
{
	u64 accepted = pair->rx->backend->accepted;
	bool checksums = accepted & BIT_ULL(VIRTIO_NET_F_GUEST_CSUM);

	/* it was queued before an earlier driver left */
	if (skb->ip_summed == CHECKSUM_PARTIAL && !checksums && skb_checksum_help(skb))
		return -EINVAL;
	if (skb_is_gso(skb)) {
		unsigned int type = skb_shinfo(skb)->gso_type;
		u64 need = type & SKB_GSO_TCPV4 ? BIT_ULL(VIRTIO_NET_F_GUEST_TSO4) :
			   type & SKB_GSO_TCPV6 ? BIT_ULL(VIRTIO_NET_F_GUEST_TSO6) : 0;

		if (!checksums || !(accepted & need))
			return -EINVAL;
	}
	return virtio_net_hdr_from_skb(skb, &header->hdr, true, checksums, 0);
}

static int net_send_packet(struct net_pair *pair, struct sk_buff *skb)
{
	struct virtio_net_hdr_mrg_rxbuf header;
	u32 bytes = NET_HEADER + skb->len;
	int ret;

	if (!pair->port->running || pair->index >= pair->port->active)
		return -ENETDOWN;
	/* the driver makes its first room when its interface is up */
	if (!pair->up && !vqueue_has_more(&pair->rx->v))
		return -ENETDOWN;
	pair->up = true;
	if (skb->len > NET_PACKET_MAX || net_make_header(pair, skb, &header))
		return -EINVAL;
	ret = net_pop_room(pair, bytes);
	if (ret)
		return ret;
	header.num_buffers = __cpu_to_virtio16(true, pair->room.chains);
	net_copy_packet(&pair->room, &header, skb);
	net_complete_room(pair, bytes);
	pair->rx->count.reads++;
	pair->rx->count.read_bytes += skb->len;
	pair->rx->count.copied_bytes += skb->len;
	/* better now than with the next packet in hand */
	if (!vqueue_has_more(&pair->rx->v))
		net_stop_queue(pair);
	return 0;
}

netdev_tx_t net_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct net_port *port = netdev_priv(dev);
	struct net_pair *pair = &port->pair[skb_get_queue_mapping(skb)];
	bool stopped, more = netdev_xmit_more();
	int ret = net_send_packet(pair, skb);

	stopped = netif_tx_queue_stopped(net_queue_of(pair));
	if (pair->unannounced && (!more || stopped)) {
		backend_call(pair->rx);
		pair->unannounced = false;
	}
	/* the kick may have woken the queue already, then it comes back at once */
	if (ret == -ENOSPC && !READ_ONCE(pair->stalled))
		return NETDEV_TX_BUSY;
	if (ret) {
		/* nobody expects what is sent before the user's interface is up */
		if (ret != -ENETDOWN)
			pair->rx->count.errors++;
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	skb_tx_timestamp(skb);
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}
