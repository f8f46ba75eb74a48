// SPDX-License-Identifier: GPL-2.0
/*
 * Making a network device for another kernel.
 *
 * No rtnl_link_ops: only SHIMOS_DEV_IOC_REMOVE deletes it, and if it was moved to a
 * network namespace that ends, it comes back to the first one as a card does.
 */
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "net.h"

#define FEATURES	(BIT_ULL(VIRTIO_NET_F_CSUM) | BIT_ULL(VIRTIO_NET_F_GUEST_CSUM) |	\
			 BIT_ULL(VIRTIO_NET_F_HOST_TSO4) | BIT_ULL(VIRTIO_NET_F_HOST_TSO6) |	\
			 BIT_ULL(VIRTIO_NET_F_HOST_ECN) | BIT_ULL(VIRTIO_NET_F_GUEST_TSO4) |	\
			 BIT_ULL(VIRTIO_NET_F_GUEST_TSO6) | BIT_ULL(VIRTIO_NET_F_GUEST_ECN) |	\
			 BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) | BIT_ULL(VIRTIO_NET_F_MAC) |		\
			 BIT_ULL(VIRTIO_NET_F_MTU) | BIT_ULL(VIRTIO_NET_F_STATUS) |		\
			 BIT_ULL(VIRTIO_NET_F_CTRL_VQ))
#define ATTEMPTS	16	/* for an address that nobody has */

/* One device is made at a time, so that two cannot be given the same address. */
static DEFINE_MUTEX(add_mutex);

/* What one is made of. */
struct plan {
	struct shimos_dev_add_net *arg;
	struct net *net;
	struct net_device *bridge;	/* or NULL; RTNL */
	struct net_port *port;
	struct complaint *c;
};

#define net_refuse(plan, err, ...)	shimos_refuse((plan)->c, err, __VA_ARGS__)

/* ---- what was asked for ---- */

static int net_check_name(struct plan *plan)
{
	const char *name = plan->arg->ifname, *percent;

	if (!*name)
		strscpy(plan->arg->ifname, "shm%d", sizeof(plan->arg->ifname));
	percent = strchr(name, '%');
	if (!dev_valid_name(name) ||
	    (percent && (percent[1] != 'd' || strchr(percent + 1, '%'))))
		return net_refuse(plan, -EINVAL,
				  "'%s' cannot be a network interface's name: it has a space, '/' or ':' in it, or '%%' that is not one '%%d'",
				  name);
	return 0;
}

static int net_check(struct plan *plan)
{
	struct shimos_dev_add_net *arg = plan->arg;

	if (arg->queues > NET_PAIRS)
		return net_refuse(plan, -EINVAL,
				  "a network device has at most %u pairs of queues, not %u",
				  NET_PAIRS, arg->queues);
	if (is_multicast_ether_addr(arg->mac))
		return net_refuse(plan, -EINVAL,
				  "%pM is an address of a group: the first byte of a device's is even",
				  arg->mac);
	if (arg->mtu && arg->mtu < ETH_MIN_MTU)
		return net_refuse(plan, -EINVAL, "the MTU must be %u to %u, not %u", ETH_MIN_MTU,
				  ETH_MAX_MTU, arg->mtu);
	return net_check_name(plan);
}

static int net_find_bridge(struct plan *plan)
{
	const char *name = plan->arg->bridge;
	struct net_device *bridge;

	ASSERT_RTNL();
	if (!*name)
		return 0;
	bridge = __dev_get_by_name(plan->net, name);
	if (!bridge)
		return net_refuse(plan, -ENODEV,
				  "there is no network interface '%s': make it first (ip link add %s type bridge), or name another bridge",
				  name, name);
	if (!netif_is_bridge_master(bridge) || !bridge->netdev_ops->ndo_add_slave)
		return net_refuse(plan, -EINVAL,
				  "'%s' is no bridge: name one, or make one (ip link add NAME type bridge) and put '%s' into it as well",
				  name, name);
	plan->bridge = bridge;
	return 0;
}

/* ---- addresses ---- */

struct search {
	const u8 *mac;
	char who[SHIMOS_DEV_NAME + IKC_NAME_LEN + 8];
};

static int net_has_address(struct backend *b, void *context)
{
	struct search *search = context;
	struct net_port *port = b->private;

	if (b->ops != &net_ops || !ether_addr_equal(port->mac, search->mac))
		return 0;
	snprintf(search->who, sizeof(search->who), "%s of %s", b->name, b->user_name);
	return 1;
}

/* RTNL.  True: @search->who says who has it. */
static bool net_address_is_taken(struct plan *plan, struct search *search)
{
	struct net_device *dev;

	for_each_netdev(plan->net, dev)
		if (dev->addr_len == ETH_ALEN && ether_addr_equal(dev->dev_addr, search->mac)) {
			strscpy(search->who, dev->name, sizeof(search->who));
			return true;
		}
	return backend_for_each(net_has_address, search);
}

/* The same each time that a device of this name is made for this kernel. */
static void net_derive_address(struct plan *plan, u32 attempt, u8 mac[ETH_ALEN])
{
	char text[IKC_NAME_LEN + IFNAMSIZ + 16];
	u32 len, high, low;

	len = scnprintf(text, sizeof(text), "%d/%s/%s", ikc_self_number(),
			plan->port->backend->user_name, plan->port->dev->name);
	high = jhash(text, len, 2 * attempt);
	low = jhash(text, len, 2 * attempt + 1);
	mac[0] = (high & 0xf0) | 0x02;	/* locally administered */
	mac[1] = high >> 8;
	mac[2] = high >> 16;
	mac[3] = low;
	mac[4] = low >> 8;
	mac[5] = low >> 16;
}

static int net_choose_address(struct plan *plan)
{
	u8 *mac = plan->port->mac;
	struct search search = { .mac = mac };
	u32 attempt;

	if (!is_zero_ether_addr(plan->arg->mac)) {
		ether_addr_copy(mac, plan->arg->mac);
		if (!net_address_is_taken(plan, &search))
			return 0;
		return net_refuse(plan, -EADDRINUSE,
				  "%s has the address %pM already: choose another, or none to have one made up",
				  search.who, mac);
	}
	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		net_derive_address(plan, attempt, mac);
		if (!net_address_is_taken(plan, &search))
			return 0;
	}
	return net_refuse(plan, -EADDRINUSE,
			  "all addresses made up for %s are taken: choose one (the last was %pM, which %s has)",
			  plan->port->dev->name, mac, search.who);
}

/*
 * Of this end: the user's, but beginning so high that a bridge does not take it for
 * its own.
 */
static void net_set_own_address(struct plan *plan)
{
	u8 mac[ETH_ALEN];
	struct search search = { .mac = mac };

	ether_addr_copy(mac, plan->port->mac);
	mac[0] = mac[0] == 0xfe ? 0xfa : 0xfe;
	if (net_address_is_taken(plan, &search))
		eth_hw_addr_random(plan->port->dev);
	else
		eth_hw_addr_set(plan->port->dev, mac);
}

/* ---- making ---- */

static int net_init_pair(struct net_port *port, unsigned int i)
{
	struct page_pool_params params = { .pool_size = NET_POOL, .nid = NUMA_NO_NODE };
	struct net_pair *pair = &port->pair[i];

	pair->port = port;
	pair->index = i;
	pair->rx = &port->backend->ring[2 * i];
	pair->tx = &port->backend->ring[2 * i + 1];
	timer_setup(&pair->stall, net_stall, 0);
	netif_napi_add(port->dev, &pair->napi, net_poll);
	pair->pool = page_pool_create(&params);
	if (!IS_ERR(pair->pool))
		return 0;
	pair->pool = NULL;
	return -ENOMEM;
}

static int net_init_device(struct plan *plan, struct net_device *dev)
{
	struct net_port *port = plan->port;
	unsigned int i;
	int ret = 0;

	dev_net_set(dev, plan->net);
	dev->netdev_ops = &net_device_ops;
	dev->ethtool_ops = &net_ethtool_ops;
	/* all packets are copied, so it does not matter how they lie in memory */
	dev->hw_features = NET_OFFLOADS | NETIF_F_SG | NETIF_F_FRAGLIST;
	dev->features = dev->hw_features | NETIF_F_HIGHDMA;
	dev->vlan_features = dev->features;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;	/* a checksum may be filled in */
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
	port->allowed = NET_OFFLOADS;
	port->usable = port->active = 1;
	INIT_WORK(&port->features, net_update_features);
	INIT_WORK(&port->control, net_control);
	for (i = 0; i < port->pairs && !ret; i++)
		ret = net_init_pair(port, i);
	return ret;
}

static void net_free_port(struct net_port *port)
{
	struct backend *b = port->backend;

	net_free(port);
	backend_put(b);
}

/* Device and backend, which nobody knows yet. */
static int net_make_port(struct plan *plan)
{
	unsigned int pairs = plan->arg->queues ?: backend_user_cpus(plan->arg->user);
	struct net_device *dev;
	struct net_port *port;

	dev = alloc_netdev_mqs(struct_size(port, pair, pairs), plan->arg->ifname,
			       NET_NAME_USER, ether_setup, pairs, pairs);
	if (!dev)
		return -ENOMEM;
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		goto free;
	port = netdev_priv(dev);
	port->dev = dev;
	port->pairs = pairs;
	port->backend = backend_new(&net_ops, plan->arg->user, plan->arg->ifname);
	if (!port->backend)
		goto free;
	port->backend->private = port;
	plan->port = port;
	if (!net_init_device(plan, dev))
		return 0;
	net_free_port(port);
	return -ENOMEM;

free:
	free_percpu(dev->tstats);
	free_netdev(dev);
	return -ENOMEM;
}

static int net_choose_name(struct plan *plan)
{
	const char *name = plan->arg->ifname;
	struct net_device *dev = plan->port->dev;
	int ret;

	if (netdev_name_in_use(plan->net, name))
		return net_refuse(plan, -EEXIST,
				  "there is a network interface '%s' already: choose another name, or one with %%d for a number",
				  name);
	ret = dev_alloc_name(dev, name);
	if (ret < 0)
		return net_refuse(plan, ret, "no name like '%s' is left: error %d", name, ret);
	strscpy(plan->port->backend->name, dev->name, SHIMOS_DEV_NAME);
	return 0;
}

static void net_choose_mtu(struct plan *plan)
{
	plan->port->dev->mtu = plan->arg->mtu ?:
			       plan->bridge ? plan->bridge->mtu : ETH_DATA_LEN;
}

static int net_join_bridge(struct plan *plan)
{
	struct net_device *dev = plan->port->dev;
	struct netlink_ext_ack extack = {};
	int ret;

	if (!plan->bridge)
		return 0;
	ret = plan->bridge->netdev_ops->ndo_add_slave(plan->bridge, dev, &extack);
	if (!ret)
		ret = dev_open(dev, &extack);
	if (ret)
		net_refuse(plan, ret, "%s could not be put into the bridge '%s': error %d%s%s",
			   dev->name, plan->arg->bridge, ret, extack._msg ? ": " : "",
			   extack._msg ?: "");
	return ret;
}

/* Everything that RTNL guards. */
static int net_register_port(struct plan *plan)
{
	struct net_device *dev = plan->port->dev;
	int ret;

	ASSERT_RTNL();
	ret = net_find_bridge(plan) ?: net_choose_name(plan) ?: net_choose_address(plan);
	if (ret)
		return ret;
	net_set_own_address(plan);
	net_choose_mtu(plan);
	netif_carrier_off(dev);
	ret = register_netdevice(dev);
	if (ret)
		return net_refuse(plan, ret, "%s could not be registered: error %d", dev->name, ret);
	strscpy(plan->arg->ifname, dev->name, sizeof(plan->arg->ifname));
	ret = net_join_bridge(plan);
	if (ret)
		unregister_netdevice(dev);
	return ret;
}

static void net_describe(struct plan *plan)
{
	struct net_port *port = plan->port;
	struct backend *b = port->backend;
	struct virtio_net_config config = {
		.status = __cpu_to_virtio16(true, VIRTIO_NET_S_LINK_UP),
		.max_virtqueue_pairs = __cpu_to_virtio16(true, port->pairs),
		.mtu = __cpu_to_virtio16(true, port->dev->mtu),
	};

	memcpy(config.mac, port->mac, ETH_ALEN);
	b->features = FEATURES;
	if (port->pairs > 1)
		b->features |= BIT_ULL(VIRTIO_NET_F_MQ);
	b->queues = 2 * port->pairs + 1;
	b->ring_size = NET_RING;
	b->config_len = offsetofend(struct virtio_net_config, mtu);
	memcpy(b->config, &config, b->config_len);
}

static int net_add_planned(struct plan *plan)
{
	struct backend *b;
	int ret;

	lockdep_assert_held(&add_mutex);
	ret = net_make_port(plan);
	if (ret)
		return ret;
	rtnl_lock();
	ret = net_register_port(plan);
	rtnl_unlock();
	if (ret)
		goto free;
	net_describe(plan);
	b = plan->port->backend;
	plan->arg->id = b->id;
	ret = backend_announce(b);
	if (!ret) {
		backend_put(b);
		return 0;
	}
	if (ret == -ENOSPC)
		net_refuse(plan, ret, "%s has %u devices, which is the most: remove one first",
			   b->user_name, SHIMOS_DEV_PER_USER);
	unregister_netdev(plan->port->dev);
free:
	net_free_port(plan->port);
	return ret;
}

int net_add(struct shimos_dev_add_net *arg, struct complaint *c)
{
	struct plan plan = {
		.arg = arg,
		.net = current->nsproxy->net_ns,
		.c = c,
	};
	int ret = net_check(&plan);

	if (ret)
		return ret;
	mutex_lock(&add_mutex);
	ret = net_add_planned(&plan);
	mutex_unlock(&add_mutex);
	return ret;
}
