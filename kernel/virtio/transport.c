// SPDX-License-Identifier: GPL-2.0
/*
 * What virtio's core and the stock drivers ask of a transport.  There are no
 * registers: configuration was described when the device was added, status is this
 * kernel's own, and only starting and resetting are said to the owner.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <shimos/compat.h>

#include "transport.h"

/* ---- configuration ---- */

static void transport_get_config(struct virtio_device *vdev, unsigned int offset, void *to,
				 unsigned int len)
{
	struct shimos_device *d = transport_device(vdev);
	unsigned long flags;

	memset(to, 0, len);
	if (offset >= d->desc.config_len || len > d->desc.config_len - offset)
		return;
	spin_lock_irqsave(&d->lock, flags);
	memcpy(to, d->desc.config + offset, len);
	spin_unlock_irqrestore(&d->lock, flags);
}

/* Nothing that owners offer is configured this way. */
static void transport_set_config(struct virtio_device *vdev, unsigned int offset, const void *from,
				 unsigned int len)
{
	dev_warn_once(&vdev->dev, "the driver writes to configuration that is read-only\n");
}

static u32 transport_get_generation(struct virtio_device *vdev)
{
	return READ_ONCE(transport_device(vdev)->generation);
}

static u64 transport_get_features(struct virtio_device *vdev)
{
	return transport_device(vdev)->desc.features;
}

static int transport_finalize_features(struct virtio_device *vdev)
{
	vring_transport_features(vdev);
	if (__virtio_test_bit(vdev, VIRTIO_F_VERSION_1))
		return 0;
	dev_err(&vdev->dev, "the driver does not know virtio 1.0\n");
	return -EINVAL;
}

/* ---- status ---- */

static int transport_start(struct shimos_device *d)
{
	struct shimos_virtio_start *msg = ikc_alloc(sizeof(*msg));
	unsigned int n;
	int ret;

	if (!msg)
		return -ENOMEM;
	*msg = (struct shimos_virtio_start){
		.version = SHIMOS_VIRTIO_VERSION,
		.size = sizeof(*msg),
		.features = d->vdev.features,
		.state = virt_to_phys(d->state),
		.queues = d->desc.queues,
	};
	for (n = 0; n < d->desc.queues; n++) {
		if (!d->vq[n])
			continue;
		msg->queue[n] = (struct shimos_virtio_queue){
			.desc = virtqueue_get_desc_addr(d->vq[n]),
			.avail = virtqueue_get_avail_addr(d->vq[n]),
			.used = virtqueue_get_used_addr(d->vq[n]),
			.size = virtqueue_get_vring_size(d->vq[n]),
		};
	}
	/* even if the answer does not come: it may have been heard */
	d->started = true;
	ret = transport_ask_start(d, msg);
	if (ret)
		dev_err(&d->vdev.dev, "the owner of %s does not start it: error %d\n",
			d->desc.name, ret);
	return ret;
}

static u8 transport_get_status(struct virtio_device *vdev)
{
	return transport_device(vdev)->status;
}

static void transport_set_status(struct virtio_device *vdev, u8 status)
{
	struct shimos_device *d = transport_device(vdev);
	u8 added = status & ~d->status;
	int ret;

	d->status = status;
	if (!(added & VIRTIO_CONFIG_S_DRIVER_OK) || d->dead)
		return;
	ret = transport_start(d);
	if (ret == -ETIME)	/* it may still begin: keep off the rings */
		virtio_break_device(vdev);
	else if (ret)
		fail_device(d);
}

/*
 * The driver frees its buffers when this returns, so it does not before the owner
 * has stopped or is dead, however long that takes.
 */
static void transport_reset(struct virtio_device *vdev)
{
	struct shimos_device *d = transport_device(vdev);

	d->status = 0;
	if (d->started && !READ_ONCE(d->dead))
		transport_ask_reset(d);
	d->started = false;
}

/* ---- queues ---- */

/* The driver made buffers available and the owner wants to know. */
static bool transport_notify(struct virtqueue *vq)
{
	struct shimos_device *d = transport_device(vq->vdev);
	u32 bell = shimos_virtio_bell(d->desc.type, vq->index);
	u64 kicked;

	/* pairs with fail_device(): one of the two sees the other's work */
	if (unlikely(smp_load_acquire(&d->dead))) {
		fail_more(d);
		return true;
	}
	/* a full barrier; if a bit of that bell was set, it is on its way, and for all of them */
	kicked = atomic64_fetch_or(BIT_ULL(vq->index), (atomic64_t *)&d->state->kicks);
	if (!(kicked & shimos_virtio_bell_queues(d->desc.type, bell)))
		ikc_ring(d->owner, SHIMOS_VIRTIO_KICK + bell);
	return true;
}

static void transport_stop_calls(struct shimos_device *d)
{
	WRITE_ONCE(d->live, false);
	synchronize_rcu();
	irq_work_sync(&d->fail_work);
}

static void transport_del_vqs(struct virtio_device *vdev)
{
	struct shimos_device *d = transport_device(vdev);
	unsigned int n;

	/* drivers reset first; what the owner may write to is not freed in any case */
	if (WARN_ON(d->started))
		transport_reset(vdev);
	transport_stop_calls(d);
	for (n = 0; n < d->desc.queues; n++) {
		if (d->vq[n])
			vring_del_virtqueue(d->vq[n]);
		d->vq[n] = NULL;
	}
}

static int transport_find_vqs(COMPAT_FIND_VQS_ARGS)
{
	struct shimos_device *d = transport_device(vdev);
	unsigned int n, next = 0;

	if (count > d->desc.queues)
		return -ENOENT;
	memset(d->state, 0, transport_state_bytes(d));
	d->recovered = false;
	for (n = 0; n < count; n++) {
		vqs[n] = NULL;
		if (!compat_vq_name(n))
			continue;
		vqs[n] = vring_create_virtqueue(next, d->desc.ring, SMP_CACHE_BYTES, vdev,
						true, true, compat_vq_context(n), transport_notify,
						compat_vq_callback(n), compat_vq_name(n));
		if (!vqs[n]) {
			transport_del_vqs(vdev);
			return -ENOMEM;
		}
		d->vq[next++] = vqs[n];
	}
	/* pairs with the acquire in transport_called() */
	smp_store_release(&d->live, true);
	return 0;
}

static void transport_synchronize_calls(struct virtio_device *vdev)
{
	synchronize_rcu();
}

static const char *transport_bus_name(struct virtio_device *vdev)
{
	return "shimos";
}

const struct virtio_config_ops transport_config_ops = {
	.get			= transport_get_config,
	.set			= transport_set_config,
	.generation		= transport_get_generation,
	.get_status		= transport_get_status,
	.set_status		= transport_set_status,
	.reset			= transport_reset,
	.find_vqs		= transport_find_vqs,
	.del_vqs		= transport_del_vqs,
	.synchronize_cbs	= transport_synchronize_calls,
	.get_features		= transport_get_features,
	.finalize_features	= transport_finalize_features,
	.bus_name		= transport_bus_name,
};
