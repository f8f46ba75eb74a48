// SPDX-License-Identifier: GPL-2.0
/*
 * Packets from the user.
 *
 * In a bridge, a packet that is not for this kernel is handed on in the user's own pages:
 * only its headers are copied, so that what this kernel checks cannot change afterwards.
 * The user gets its request back when the last one lets go of the pages: a network card has
 * sent them, or another user's copy is made.  If the packet stays in this kernel after all,
 * its network stack copies it before any socket sees it.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <shimos/compat.h>

#include "net.h"

#define SMALL		256	/* bytes up to which copying is cheaper than keeping book */
#define LINEAR		2048	/* up to which a copy is in one piece */
#define HEAD		128	/* Ethernet, VLAN, IPv6 and TCP with all options */
static_assert((NET_PACKET_MAX - HEAD - 1) / SZ_4K < MAX_SKB_FRAGS);
#define PATIENCE	(10 * HZ)

/* A packet that lies in the user's pages. */
struct direct {
	struct ubuf_info ubuf;
	struct net_pair *pair;
	u16 head;		/* the user's request */
	bool copied;		/* it was, in the end; any releaser sets it */
	u32 len;		/* bytes in the user's pages */
};

/* ---- reading a chain ---- */

void net_read_from(struct net_reader *r, const struct vqueue_chain *chain)
{
	unsigned int i;

	*r = (struct net_reader){ .seg = chain->seg };
	for (i = 0; i < chain->out; i++)
		r->left += chain->seg[i].len;
}

/* What lies there in one piece, @len bytes at most; step over it. */
static void *net_next_piece(struct net_reader *r, u32 *len)
{
	void *data = r->seg->data + r->at;

	*len = min(*len, r->seg->len - r->at);
	r->left -= *len;
	r->at += *len;
	if (r->at == r->seg->len) {
		r->seg++;
		r->at = 0;
	}
	return data;
}

bool net_read(struct net_reader *r, void *to, u32 len)
{
	if (len > r->left)
		return false;
	while (len) {
		u32 n = len;
		void *from = net_next_piece(r, &n);

		memcpy(to, from, n);
		to += n;
		len -= n;
	}
	return true;
}

/* ---- packets in the user's pages ---- */

/* Network devices of this kernel that are another's: any packet may go there. */
static atomic_t borrowed = ATOMIC_INIT(0);

static int net_device_event(struct notifier_block *notifier, unsigned long event, void *info)
{
	if (backend_is_borrowed(&netdev_notifier_info_to_dev(info)->dev)) {
		if (event == NETDEV_REGISTER)
			atomic_inc(&borrowed);
		else if (event == NETDEV_UNREGISTER)
			atomic_dec(&borrowed);
	}
	return NOTIFY_DONE;
}

static struct notifier_block devices = { .notifier_call = net_device_event };

/* Those that are there already are reported, too. */
int net_init(void)
{
	return register_netdevice_notifier(&devices);
}

void net_exit(void)
{
	unregister_netdevice_notifier(&devices);
}

/* Somebody let go of the pages; any context but NMI. */
static void net_direct_released(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied)
{
	struct direct *d = container_of(ubuf, struct direct, ubuf);
	struct net_pair *pair = d->pair;
	struct backend_ring *ring = pair->tx;
	unsigned long flags;

	if (!uncopied)
		WRITE_ONCE(d->copied, true);
	/* a full barrier: who comes last sees what the others have set */
	if (!refcount_dec_and_test(&ubuf->refcnt))
		return;
	spin_lock_irqsave(&ring->lock, flags);
	if (d->copied)
		ring->count.copied_bytes += d->len;
	else
		ring->count.direct_bytes += d->len;
	spin_unlock_irqrestore(&ring->lock, flags);
	backend_complete(ring, d->head, 0);
	kfree(d);
	/*
	 * A full barrier, pairs with the one in net_wait_for_packets(): there the
	 * request is complete.  The pair may be gone now, only its address counts.
	 */
	if (atomic_dec_and_test(&pair->direct))
		wake_up_var(&pair->direct);
}

void net_wait_for_packets(struct net_pair *pair)
{
	struct net_port *port = pair->port;

	if (wait_var_event_timeout(&pair->direct, !atomic_read(&pair->direct), PATIENCE))
		goto all;
	pr_warn("%s: waiting for %d packets of %s that somebody in this kernel has not let go of\n",
		port->dev->name, atomic_read(&pair->direct), port->backend->user_name);
	wait_var_event(&pair->direct, !atomic_read(&pair->direct));
all:
	smp_mb();	/* pairs with the atomic_dec_and_test() in net_direct_released() */
}

/* Make all that is left in the chain fragments of @skb.  False: there is no room. */
static bool net_add_fragments(struct sk_buff *skb, struct net_reader *r)
{
	unsigned int n = 0;

	while (r->left) {
		u32 len = min_t(u64, r->left, NET_PACKET_MAX);
		void *data = net_next_piece(r, &len);
		struct page *page = virt_to_page(data);

		if (n == MAX_SKB_FRAGS)
			return false;
		/*
		 * A fragment may go over several pages that are no compound page:
		 * all of them stay as long as the user's memory is held.
		 */
		skb_fill_page_desc_noacc(skb, n++, page, offset_in_page(data), len);
		skb->len += len;
		skb->data_len += len;
		skb->truesize += len;
	}
	return true;
}

/* Is the packet for this kernel's own stack, as far as its address tells? */
static bool net_is_own(const struct net_pair *pair, struct net_reader r)
{
	const struct net_device *dev = pair->port->dev, *bridge;
	u8 to[ETH_ALEN] __aligned(2);
	bool own;

	net_read(&r, to, sizeof(to));
	rcu_read_lock();
	bridge = netdev_master_upper_dev_get_rcu((struct net_device *)dev);
	own = ether_addr_equal(to, dev->dev_addr) ||
	      (bridge && ether_addr_equal(to, bridge->dev_addr));
	rcu_read_unlock();
	return own;
}

/*
 * Worth it only if the packet may go on to another device, which has to be this
 * kernel's.  A user that makes requests available twice can have more under way than
 * the ring is long.
 */
static bool net_is_direct(const struct net_pair *pair, const struct net_reader *r)
{
	return r->left > SMALL && netif_is_bridge_port(pair->port->dev) &&
	       !atomic_read(&borrowed) && atomic_read(&pair->direct) < NET_RING &&
	       !net_is_own(pair, *r);
}

/* NULL: there is no memory, or it has too many pieces. */
static struct sk_buff *net_direct_packet(struct net_pair *pair, struct net_reader r)
{
	struct direct *d = kmalloc(sizeof(*d), GFP_ATOMIC);
	struct sk_buff *skb;

	if (!d)
		return NULL;
	skb = napi_alloc_skb(&pair->napi, HEAD);
	if (!skb)
		goto free;
	net_read(&r, skb_put(skb, HEAD), HEAD);
	*d = (struct direct){ .pair = pair, .head = pair->chain.head, .len = r.left };
	if (!net_add_fragments(skb, &r))
		goto free_skb;
	refcount_set(&d->ubuf.refcnt, 1);
	/*
	 * Without SKBFL_DONT_ORPHAN: who clones or cuts up the packet, or takes it for
	 * one that came in somewhere else, copies it first, as with tun and vhost.
	 * Not all of those who may meet it behind that could cope with our pages.
	 * No references to pages: they would be dropped only after
	 * net_direct_released(), when the user's memory may be somebody else's.
	 */
	d->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_MANAGED_FRAG_REFS;
	compat_ubuf_init(&d->ubuf, net_direct_released);
	atomic_inc(&pair->direct);
	skb_zcopy_init(skb, &d->ubuf);
	pair->copied += HEAD;
	return skb;

free_skb:
	skb_shinfo(skb)->nr_frags = 0;	/* they have no references to drop */
	kfree_skb(skb);
free:
	kfree(d);
	return NULL;
}

/* ---- packets that are copied ---- */

/*
 * Its pages come back to the pair's pool when the last one lets go of them: pages from the
 * kernel at large would be cleared each time, which costs about as much as the copy.
 */
static struct sk_buff *net_paged_packet(struct net_pair *pair, struct net_reader *r)
{
	struct sk_buff *skb = napi_alloc_skb(&pair->napi, HEAD);
	unsigned int n;

	if (!skb)
		return NULL;
	skb_mark_for_recycle(skb);
	net_read(r, skb_put(skb, HEAD), HEAD);
	for (n = 0; r->left; n++) {
		u32 len = min_t(u64, r->left, PAGE_SIZE);
		struct page *page = page_pool_dev_alloc_pages(pair->pool);

		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		net_read(r, page_address(page), len);
		skb_add_rx_frag(skb, n, page, 0, len, PAGE_SIZE);
	}
	return skb;
}

static struct sk_buff *net_copied_packet(struct net_pair *pair, struct net_reader *r)
{
	u32 len = r->left;
	struct sk_buff *skb;

	if (len > LINEAR) {
		skb = net_paged_packet(pair, r);
	} else {
		skb = napi_alloc_skb(&pair->napi, len);
		if (skb)
			net_read(r, skb_put(skb, len), len);
	}
	if (skb)
		pair->copied += len;
	return skb;
}

/* ---- from ring to network stack ---- */

/*
 * What a driver may not write according to the standard; where packets of this kernel
 * are concerned, the network stack relies on it.
 */
static bool net_header_is_valid(const struct virtio_net_hdr *h)
{
	bool partial = h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;

	if (partial && __virtio16_to_cpu(true, h->csum_start) < ETH_HLEN + sizeof(struct iphdr))
		return false;
	switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return h->gso_type == VIRTIO_NET_HDR_GSO_NONE;
	case VIRTIO_NET_HDR_GSO_TCPV4:
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return partial;
	default:
		return false;	/* was not offered */
	}
}

/* Let the packet be what its header says; all that is looked at is a copy now. */
static bool net_apply_header(struct sk_buff *skb, const struct virtio_net_hdr *h)
{
	__be16 protocol;

	if (virtio_net_hdr_to_skb(skb, h, true))
		return false;
	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		return true;
	protocol = __vlan_get_protocol(skb, eth_hdr(skb)->h_proto, NULL);
	return virtio_net_hdr_match_proto(protocol, h->gso_type);
}

static void net_give_back(struct net_pair *pair)
{
	backend_complete_quiet(pair->tx, pair->chain.head, 0);
	pair->answered = true;
}

static void net_count_drop(struct net_pair *pair)
{
	pair->tx->count.errors++;
	dev_core_stats_rx_dropped_inc(pair->port->dev);
}

/* NULL: it is no packet, or cannot be had.  The request is taken care of. */
static struct sk_buff *net_read_packet(struct net_pair *pair,
				       struct virtio_net_hdr_mrg_rxbuf *header)
{
	struct sk_buff *skb = NULL;
	struct net_reader r;

	net_read_from(&r, &pair->chain);
	if (!net_read(&r, header, sizeof(*header)) || r.left < ETH_HLEN ||
	    r.left > NET_PACKET_MAX || !net_header_is_valid(&header->hdr) ||
	    !netif_running(pair->port->dev))
		goto done;
	if (net_is_direct(pair, &r)) {
		skb = net_direct_packet(pair, r);
		if (skb)
			return skb;	/* net_direct_released() completes it */
	}
	skb = net_copied_packet(pair, &r);
done:
	net_give_back(pair);
	return skb;
}

static void net_receive(struct net_pair *pair)
{
	struct net_device *dev = pair->port->dev;
	struct virtio_net_hdr_mrg_rxbuf header;
	struct sk_buff *skb = net_read_packet(pair, &header);

	if (!skb) {
		net_count_drop(pair);
		return;
	}
	if (!net_apply_header(skb, &header.hdr)) {
		kfree_skb(skb);
		net_count_drop(pair);
		return;
	}
	pair->tx->count.writes++;
	pair->tx->count.write_bytes += skb->len;
	dev_sw_netstats_rx_add(dev, skb->len);
	skb_record_rx_queue(skb, pair->index);
	skb->protocol = eth_type_trans(skb, dev);
	/* GRO makes one of many copies; packets in the user's pages it passes on, in their turn */
	napi_gro_receive(&pair->napi, skb);
}

/* Count what has been done; returns whether the user has to hear of it. */
static bool net_end_batch(struct net_pair *pair)
{
	struct backend_ring *ring = pair->tx;
	bool answered = pair->answered;
	unsigned long flags;

	if (pair->copied) {
		spin_lock_irqsave(&ring->lock, flags);
		ring->count.copied_bytes += pair->copied;
		spin_unlock_irqrestore(&ring->lock, flags);
		pair->copied = 0;
	}
	pair->answered = false;
	return answered;
}

int net_poll(struct napi_struct *napi, int budget)
{
	struct net_pair *pair = container_of(napi, struct net_pair, napi);
	struct backend_ring *ring = pair->tx;
	struct vqueue *v = &ring->v;
	int done = 0, ret = 0;
	bool answered, more;

	vqueue_disable_notify(v);
	for (; done < budget; done++) {
		ret = vqueue_pop(v, &pair->chain);
		if (ret <= 0)
			break;
		if (pair->chain.in) {
			backend_break(ring->backend, "a packet with room for an answer");
			net_give_back(pair);
			ret = -EBADMSG;
			break;
		}
		net_receive(pair);
	}
	answered = net_end_batch(pair);
	if (ret < 0)
		backend_break_ring(ring);
	/*
	 * Ask for doorbells while still being the one who takes.  A doorbell between
	 * that and the end of the poll makes NAPI poll once more.
	 */
	more = done == budget || (!ret && !vqueue_enable_notify(v));
	/*
	 * Hand on what GRO has kept before the user is told: what comes of it, such as
	 * the answer to a ping, mostly shares the doorbell.  Another CPU may be polling
	 * by then; net_stop() waits for this one with synchronize_net().
	 */
	if (!more)
		napi_complete_done(napi, done);
	if (answered)
		backend_call(ring);
	return more ? budget : done;
}
