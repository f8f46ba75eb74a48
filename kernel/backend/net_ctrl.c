// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: the driver says to how many pairs it listens.  One work takes
 * from it, and does not wait for anything long: the driver spins until its answer.
 */
#include "net.h"

#define COMMANDS	64	/* before others have their turn */

/* How many pairs a command asks for; 0: it is none that we know. */
static unsigned int net_pairs_asked_for(const struct vqueue_chain *chain)
{
	struct virtio_net_ctrl_hdr header;
	struct virtio_net_ctrl_mq mq;
	struct net_reader r;

	net_read_from(&r, chain);
	if (!net_read(&r, &header, sizeof(header)) || !net_read(&r, &mq, sizeof(mq)) ||
	    header.class != VIRTIO_NET_CTRL_MQ ||
	    header.cmd != VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET)
		return 0;
	return __virtio16_to_cpu(true, mq.virtqueue_pairs);
}

static u8 net_do_command(struct net_port *port)
{
	unsigned int pairs = net_pairs_asked_for(&port->command);

	if (!pairs || pairs > port->usable)
		return VIRTIO_NET_ERR;
	/* once it is answered, the others get no packets any more */
	netif_tx_lock_bh(port->dev);
	WRITE_ONCE(port->active, pairs);
	netif_tx_unlock_bh(port->dev);
	return VIRTIO_NET_OK;
}

void net_control(struct work_struct *work)
{
	struct net_port *port = container_of(work, struct net_port, control);
	struct backend_ring *ring = &port->backend->ring[2 * port->usable];
	struct vqueue_chain *chain = &port->command;
	unsigned int i;
	int ret;

	vqueue_disable_notify(&ring->v);
	for (i = 0; i < COMMANDS; i++) {
		ret = vqueue_pop(&ring->v, chain);
		if (ret < 0) {
			backend_break_ring(ring);
			return;
		}
		if (!ret) {
			if (vqueue_enable_notify(&ring->v))
				return;
			continue;
		}
		if (!chain->in) {
			backend_break(port->backend, "a command without room for the answer");
			return;
		}
		WRITE_ONCE(*(u8 *)chain->seg[chain->out].data, net_do_command(port));
		ring->count.others++;
		backend_complete(ring, chain->head, sizeof(u8));
	}
	queue_work(system_highpri_wq, work);
}
