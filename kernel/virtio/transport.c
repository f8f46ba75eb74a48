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

static void get_config(struct virtio_device *vdev, unsigned int offset, void *to,
		       unsigned int len)
{
	struct shimos_device *d = to_device(vdev);
	unsigned long flags;

	memset(to, 0, len);
	if (offset >= d->desc.config_len || len > d->desc.config_len - offset)
		return;
	spin_lock_irqsave(&d->lock, flags);
	memcpy(to, d->desc.config + offset, len);
	spin_unlock_irqrestore(&d->lock, flags);
}

/* Nothing that owners offer is configured this way. */
static void set_config(struct virtio_device *vdev, unsigned int offset, const void *from,
		       unsigned int len)
{
	dev_warn_once(&vdev->dev, "the driver writes to configuration that is read-only\n");
}

static u32 get_generation(struct virtio_device *vdev)
{
	return READ_ONCE(to_device(vdev)->generation);
}

static u64 get_features(struct virtio_device *vdev)
{
	return to_device(vdev)->desc.features;
}

static int finalize_features(struct virtio_device *vdev)
{
	vring_transport_features(vdev);
	if (__virtio_test_bit(vdev, VIRTIO_F_VERSION_1))
		return 0;
	dev_err(&vdev->dev, "the driver does not know virtio 1.0\n");
	return -EINVAL;
}

/* ---- status ---- */

static int start(struct shimos_device *d)
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
	WRITE_ONCE(d->started, true);
	ret = shimos_ask(d, SHIMOS_VIRTIO_START, msg, sizeof(*msg));
	if (ret)
		dev_err(&d->vdev.dev, "the owner of %s does not start it: error %d\n",
			d->desc.name, ret);
	return ret;
}

static u8 get_status(struct virtio_device *vdev)
{
	return to_device(vdev)->status;
}

static void set_status(struct virtio_device *vdev, u8 status)
{
	struct shimos_device *d = to_device(vdev);
	u8 added = status & ~d->status;
	int ret;

	d->status = status;
	if (!(added & VIRTIO_CONFIG_S_DRIVER_OK) || d->dead)
		return;
	ret = start(d);
	if (ret == -ETIME)	/* it may still begin: keep off the rings */
		virtio_break_device(vdev);
	else if (ret)
		shimos_fail(d);
}

static void reset(struct virtio_device *vdev)
{
	struct shimos_device *d = to_device(vdev);

	d->status = 0;
	if (d->started && !d->dead && shimos_ask(d, SHIMOS_VIRTIO_RESET, NULL, 0))
		/* it may still write: its rings cannot be taken away from under it */
		dev_err(&vdev->dev, "the owner of %s does not answer a reset\n", d->desc.name);
	else
		WRITE_ONCE(d->started, false);
}

/* ---- queues ---- */

/* The driver made buffers available and the owner wants to know. */
static bool notify(struct virtqueue *vq)
{
	struct shimos_device *d = to_device(vq->vdev);
	u64 bit = BIT_ULL(vq->index);

	/* pairs with shimos_fail(): one of the two sees the other's work */
	if (unlikely(smp_load_acquire(&d->dead))) {
		shimos_fail_more(d);
		return true;
	}
	/* a full barrier; if the bit was set, the doorbell is on its way */
	if (!(atomic64_fetch_or(bit, (atomic64_t *)&d->state->kicks) & bit))
		ikc_ring(d->owner, SHIMOS_VIRTIO_KICK +
			 shimos_virtio_bell(d->desc.type, vq->index));
	return true;
}

static void stop_calls(struct shimos_device *d)
{
	WRITE_ONCE(d->live, false);
	synchronize_rcu();
	irq_work_sync(&d->fail_work);
}

static void del_vqs(struct virtio_device *vdev)
{
	struct shimos_device *d = to_device(vdev);
	unsigned int n;

	stop_calls(d);
	for (n = 0; n < d->desc.queues; n++) {
		/* an owner that did not answer may write on: keep the memory for it */
		if (d->vq[n] && (!d->started || d->dead))
			vring_del_virtqueue(d->vq[n]);
		d->vq[n] = NULL;
	}
}

static int find_vqs(COMPAT_FIND_VQS_ARGS)
{
	struct shimos_device *d = to_device(vdev);
	unsigned int n, next = 0;

	if (count > d->desc.queues)
		return -ENOENT;
	memset(d->state, 0, state_bytes(d));
	d->recovered = false;
	for (n = 0; n < count; n++) {
		vqs[n] = NULL;
		if (!compat_vq_name(n))
			continue;
		vqs[n] = vring_create_virtqueue(next, d->desc.ring, SMP_CACHE_BYTES, vdev,
						true, true, compat_vq_context(n), notify,
						compat_vq_callback(n), compat_vq_name(n));
		if (!vqs[n]) {
			del_vqs(vdev);
			return -ENOMEM;
		}
		d->vq[next++] = vqs[n];
	}
	/* pairs with the acquire in called() */
	smp_store_release(&d->live, true);
	return 0;
}

static void synchronize_calls(struct virtio_device *vdev)
{
	synchronize_rcu();
}

static const char *bus_name(struct virtio_device *vdev)
{
	return "shimos";
}

const struct virtio_config_ops shimos_config_ops = {
	.get			= get_config,
	.set			= set_config,
	.generation		= get_generation,
	.get_status		= get_status,
	.set_status		= set_status,
	.reset			= reset,
	.find_vqs		= find_vqs,
	.del_vqs		= del_vqs,
	.synchronize_cbs	= synchronize_calls,
	.get_features		= get_features,
	.finalize_features	= finalize_features,
	.bus_name		= bus_name,
};
