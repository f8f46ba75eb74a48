// SPDX-License-Identifier: GPL-2.0
/*
 * A network device for another kernel: its life, and what this kernel's network
 * stack asks of its end.
 *
 * The steps of its life come one at a time, under the backend's mutex.  None of them
 * waits for RTNL but the last, release: the user's driver may hold RTNL of its kernel
 * while it waits for an answer, and that kernel may own a device that this one is just
 * starting.  What needs RTNL is done by the work `features`, after the answer.
 * Nothing here takes the mutex with RTNL held.
 */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "net.h"

/* ---- of the back end ---- */

static netdev_features_t net_allowed_by(u64 accepted)
{
	netdev_features_t allowed = 0;

	if (!(accepted & BIT_ULL(VIRTIO_NET_F_GUEST_CSUM)))
		return 0;	/* the others build on it */
	allowed |= NETIF_F_HW_CSUM;
	if (accepted & BIT_ULL(VIRTIO_NET_F_GUEST_TSO4))
		allowed |= NETIF_F_TSO;
	if (accepted & BIT_ULL(VIRTIO_NET_F_GUEST_TSO6))
		allowed |= NETIF_F_TSO6;
	if (accepted & BIT_ULL(VIRTIO_NET_F_GUEST_ECN))
		allowed |= NETIF_F_TSO_ECN;
	return allowed;
}

static void net_start_pair(struct net_pair *pair)
{
	pair->unannounced = pair->answered = false;
	pair->stalled = false;
	pair->up = pair->rx->v.taken;	/* it may have been up under another back end */
	vqueue_disable_notify(&pair->rx->v);	/* new room matters only when there was none */
	napi_enable(&pair->napi);
}

static int net_start(struct backend *b)
{
	struct net_port *port = b->private;
	struct net_device *dev = port->dev;
	unsigned int i;

	/* without multiqueue the second pair's place is the control queue's */
	port->usable = b->accepted & BIT_ULL(VIRTIO_NET_F_MQ) ? port->pairs : 1;
	WRITE_ONCE(port->wanted, net_allowed_by(b->accepted));
	for (i = 0; i < port->usable; i++)
		net_start_pair(&port->pair[i]);
	netif_tx_lock_bh(dev);
	WRITE_ONCE(port->active, 1);	/* until the driver says otherwise */
	port->running = true;
	netif_tx_unlock_bh(dev);
	netif_tx_wake_all_queues(dev);
	queue_work(system_long_wq, &port->features);
	return 0;
}

/* A driver has started: what it allows, and then the link. */
void net_update_features(struct work_struct *work)
{
	struct net_port *port = container_of(work, struct net_port, features);
	struct net_device *dev = port->dev;

	rtnl_lock();
	port->allowed = READ_ONCE(port->wanted);
	netdev_update_features(dev);
	/* the lock, because the driver may be gone again, and the link with it */
	netif_tx_lock_bh(dev);
	if (port->running)
		netif_carrier_on(dev);
	netif_tx_unlock_bh(dev);
	rtnl_unlock();
}

static void net_stop(struct backend *b)
{
	struct net_port *port = b->private;
	struct net_device *dev = port->dev;
	unsigned int i;

	netif_tx_lock_bh(dev);
	port->running = false;
	netif_carrier_off(dev);		/* what waits in queues is thrown away */
	netif_tx_unlock_bh(dev);
	cancel_work_sync(&port->control);
	for (i = 0; i < port->usable; i++) {
		/* nobody but itself starts it now */
		timer_delete_sync(&port->pair[i].stall);
		napi_disable(&port->pair[i].napi);
	}
	for (i = 0; i < port->usable; i++)
		net_wait_for_packets(&port->pair[i]);
	/*
	 * Who has made a packet's head larger took references to its pages, and may
	 * still be about to drop them.
	 */
	synchronize_net();
}

/*
 * On PREEMPT_RT this is a thread, where softirqs run when it enables them; elsewhere
 * they run behind the interrupt.
 */
static void net_schedule_poll(struct net_pair *pair)
{
	if (in_hardirq()) {
		napi_schedule_irqoff(&pair->napi);
	} else {
		local_bh_disable();
		napi_schedule(&pair->napi);
		local_bh_enable();
	}
}

static void net_kick(struct backend *b, unsigned int n)
{
	struct net_port *port = b->private;

	if (n == 2 * port->usable)
		/* the user's driver spins until it has the answer */
		queue_work(system_highpri_wq, &port->control);
	else if (n > 2 * port->usable)
		return;
	else if (n % 2)
		net_schedule_poll(&port->pair[n / 2]);
	else
		netif_tx_wake_queue(netdev_get_tx_queue(port->dev, n / 2));
}

static void net_status(struct backend *b, struct shimos_dev_status *out)
{
	struct net_port *port = b->private;

	memcpy(out->mac, port->mac, ETH_ALEN);
	out->mtu = READ_ONCE(port->dev->mtu);
	/* it may be given another name right now; it is a string at any time */
	strscpy(out->name, port->dev->name, sizeof(out->name));
}

void net_free(struct net_port *port)
{
	struct net_device *dev = port->dev;
	unsigned int i;

	for (i = 0; i < port->pairs; i++)
		page_pool_destroy(port->pair[i].pool);
	free_percpu(dev->tstats);
	free_netdev(dev);
}

static void net_release(struct backend *b)
{
	struct net_port *port = b->private;

	cancel_work_sync(&port->features);
	unregister_netdev(port->dev);
	net_free(port);
}

const struct backend_ops net_ops = {
	.type		= SHIMOS_DEV_NET,
	.start		= net_start,
	.stop		= net_stop,
	.kick		= net_kick,
	.status		= net_status,
	.release	= net_release,
};

/* ---- of this kernel's network device ---- */

static netdev_features_t net_fix_features(struct net_device *dev, netdev_features_t features)
{
	struct net_port *port = netdev_priv(dev);

	ASSERT_RTNL();
	return features & (port->allowed | ~NET_OFFLOADS);
}

static u16 net_select_queue(struct net_device *dev, struct sk_buff *skb,
			    struct net_device *sb_dev)
{
	struct net_port *port = netdev_priv(dev);

	/* a queue that loses its pair between this and sending drops the packet */
	return netdev_pick_tx(dev, skb, sb_dev) % READ_ONCE(port->active);
}

/* The user gets every packet and chooses itself. */
static void net_set_rx_mode(struct net_device *dev)
{
}

const struct net_device_ops net_device_ops = {
	.ndo_start_xmit		= net_start_xmit,
	.ndo_select_queue	= net_select_queue,
	.ndo_fix_features	= net_fix_features,
	.ndo_get_stats64	= dev_get_tstats64,
	.ndo_set_rx_mode	= net_set_rx_mode,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void net_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct net_port *port = netdev_priv(dev);

	strscpy(info->driver, "shimos_backend", sizeof(info->driver));
	strscpy(info->bus_info, port->backend->user_name, sizeof(info->bus_info));
}

static void net_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct net_port *port = netdev_priv(dev);

	channels->max_combined = port->pairs;
	channels->combined_count = READ_ONCE(port->active);
}

const struct ethtool_ops net_ethtool_ops = {
	.get_drvinfo	= net_get_drvinfo,
	.get_link	= ethtool_op_get_link,
	.get_channels	= net_get_channels,
};
