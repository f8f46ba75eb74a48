/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Network devices for another kernel: here a network device whose cable ends at the
 * user's virtio_net.  "rx" and "tx" are the user's words throughout: it receives
 * what this kernel sends.
 *
 *   net_add.c   making one
 *   net.c       its life, and what this kernel's network stack asks of it
 *   net_tx.c    packets from the user
 *   net_rx.c    packets to the user
 *   net_ctrl.c  what the user's driver says in the control queue
 */
#ifndef _SHIMOS_NET_H
#define _SHIMOS_NET_H

#include <linux/atomic.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/timer.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>
#include <shimos/compat_page_pool.h>

#include "backend.h"

#define NET_PAIRS	16	/* at most */
#define NET_RING	512	/* largest ring */
#define NET_ROOM	256	/* pieces of memory, at most, for one packet to the user */
#define NET_POOL	256	/* pages that a pair keeps, at most, to copy packets into */
#define NET_HEADER	((u32)sizeof(struct virtio_net_hdr_mrg_rxbuf))
/* The largest of IPv6, behind two VLAN tags; more are never one packet. */
#define NET_PACKET_MAX	(ETH_HLEN + 2 * VLAN_HLEN + (u32)sizeof(struct ipv6hdr) + 65535)

/**
 * struct net_room - where a packet to the user goes
 * @chain: taken last
 * @chains: how many were taken
 * @segments: how many they have
 * @bytes: of all of these
 * @head: of the chains, in the order of taking
 * @len: of each chain; the last may be cut
 * @segment: of all chains, in this order
 */
struct net_room {
	struct vqueue_chain chain;
	unsigned int chains, segments;
	u64 bytes;
	u16 head[NET_ROOM];
	u32 len[NET_ROOM];
	struct vqueue_segment segment[NET_ROOM];
};

/**
 * struct net_pair - one rx and one tx ring
 * @port: the device's
 * @index: of the pair
 * @rx: to the user
 * @tx: from the user
 * @napi: from the user: who runs it is the one who takes from @tx
 * @chain: from the user: taken last
 * @pool: from the user: pages for large copies
 * @copied: bytes, not in tx->count yet
 * @answered: completed requests that were not called for yet
 * @direct: packets that lie in the user's pages
 * @room: to the user, as all that follows
 * @up: there has been room for a packet
 * @unannounced: as @answered
 * @stall: fires when there has been no room for too long
 * @stopped_at: READ_ONCE by the timer
 * @stalled: no room for too long; set by the timer, READ_ONCE
 */
struct net_pair {
	struct net_port *port;
	unsigned int index;
	struct backend_ring *rx, *tx;

	/* from the user: who runs the NAPI is the one who takes from tx */
	struct napi_struct napi;
	struct vqueue_chain chain;
	struct page_pool *pool;
	u64 copied;
	bool answered;
	atomic_t direct;

	/*
	 * To the user.  The lock of the network device's tx queue `index`, which
	 * this kernel's network stack takes, makes its holder the one who takes
	 * from rx, and guards all this but what is marked.
	 */
	struct net_room room;
	bool up;
	bool unannounced;
	struct timer_list stall;
	unsigned long stopped_at;
	bool stalled;
};

/**
 * struct net_port - a network device here whose other end is the user's
 * @backend: the shared device
 * @dev: this kernel's end
 * @mac: of the user's end
 * @pairs: how many there are
 * @usable: by this driver; constant from start() to stop()
 * @wanted: by this driver; READ_ONCE by the work
 * @allowed: the same as this kernel's stack knows it; RTNL
 * @running: between start() and stop(); changed with all tx queues locked, so one lock is enough
 *	to read
 * @active: pairs to which the driver listens; changed as @running; READ_ONCE
 * @features: @wanted becomes @allowed, then the link is up
 * @control: takes from the control queue
 * @command: of the control queue
 * @pair: one for each pair of rings
 */
struct net_port {
	struct backend *backend;
	struct net_device *dev;
	u8 mac[ETH_ALEN];
	unsigned int pairs;
	unsigned int usable;
	netdev_features_t wanted;
	netdev_features_t allowed;
	bool running;
	unsigned int active;
	struct work_struct features;
	struct work_struct control;
	struct vqueue_chain command;
	struct net_pair pair[];
};

/* net.c */
extern const struct backend_ops net_ops;
extern const struct net_device_ops net_device_ops;
extern const struct ethtool_ops net_ethtool_ops;
/* What the user's driver may make possible; the rest needs nothing of it. */
#define NET_OFFLOADS	(NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO_ECN | NETIF_F_TSO6)
/**
 * net_update_features() - what the driver allows, and then the link
 * @work: port->features
 *
 * Context: A work.  Takes RTNL.
 */
void net_update_features(struct work_struct *work);
/**
 * net_free() - free a device that is not registered, or not any more
 * @port: of it; pairs need not have pools yet
 *
 * Context: May sleep.
 */
void net_free(struct net_port *port);

/* net_tx.c */

/**
 * struct net_reader - a place in the data that the user wrote into a chain
 * @seg: the segment
 * @at: in @seg
 * @left: bytes behind it
 */
struct net_reader {
	const struct vqueue_segment *seg;
	u32 at;
	u64 left;
};

/**
 * net_read_from() - begin to read what the user wrote into a chain
 * @r:     filled in
 * @chain: the chain
 *
 * Context: Any.
 */
void net_read_from(struct net_reader *r, const struct vqueue_chain *chain);
/**
 * net_read() - copy what comes next
 * @r:   where to read
 * @to:  where to put it
 * @len: bytes
 *
 * Context: Any.
 * Return: false, and nothing is read, if there is less.
 */
bool net_read(struct net_reader *r, void *to, u32 len);
/**
 * net_poll() - take packets from the user
 * @napi:   of a pair
 * @budget: how many at most
 *
 * Context: NAPI.
 * Return: how many were taken, or @budget: poll again.
 */
int net_poll(struct napi_struct *napi, int budget);
/**
 * net_wait_for_packets() - wait until no packet lies in the user's pages any more
 * @pair: of rings; its NAPI is off
 *
 * Context: May sleep.
 */
void net_wait_for_packets(struct net_pair *pair);

/* net_rx.c */

/**
 * net_start_xmit() - give the user a packet: ndo_start_xmit
 * @skb: the packet
 * @dev: this kernel's end
 *
 * Context: The lock of the device's tx queue.
 * Return: NETDEV_TX_OK or NETDEV_TX_BUSY.
 */
netdev_tx_t net_start_xmit(struct sk_buff *skb, struct net_device *dev);
/**
 * net_stall() - the user has made no room for too long: drop what waits
 * @timer: pair->stall
 *
 * Context: Timer.
 */
void net_stall(struct timer_list *timer);

/* net_ctrl.c */

/**
 * net_control() - do what the user's driver says in the control queue
 * @work: port->control
 *
 * Context: A work.
 */
void net_control(struct work_struct *work);

#endif
