// SPDX-License-Identifier: GPL-2.0
/* Starting and stopping a device with its user's driver. */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "backend.h"
#include "core.h"

void backend_stop(struct backend *b)
{
	lockdep_assert_held(&b->mutex);
	if (!b->running)
		return;
	WRITE_ONCE(b->running, false);
	synchronize_rcu();	/* no doorbell looks into it any more */
	b->ops->stop(b);
	user_memory_close(&b->memory);
	spin_lock_irq(&b->lock);
	if (b->life == SHIMOS_DEV_RUNNING)
		b->life = SHIMOS_DEV_OFFERED;
	spin_unlock_irq(&b->lock);
}

static int backend_start(struct backend *b, const struct shimos_virtio_start *start)
{
	int ret;

	if (start->version != SHIMOS_VIRTIO_VERSION || start->size != sizeof(*start)) {
		pr_warn_ratelimited("%s for %s: its transport has version %u and %u bytes, this one %u and %zu: install the same release on both sides\n",
			b->name, b->user_name, start->version, start->size,
			SHIMOS_VIRTIO_VERSION, sizeof(*start));
		return -EPROTO;
	}
	if (start->features & ~b->features || start->queues != b->queues ||
	    !(start->features & BIT_ULL(VIRTIO_F_VERSION_1)))
		return -EINVAL;
	ret = user_memory_open(&b->memory, b->user);
	if (ret)
		return ret;
	ret = ring_open_all(b, start);
	if (ret)
		goto close;
	b->accepted = start->features;
	ret = b->ops->start(b);
	if (ret)
		goto close;
	spin_lock_irq(&b->lock);
	if (b->life != SHIMOS_DEV_LEAVING)
		b->life = SHIMOS_DEV_RUNNING;
	*b->problem = '\0';
	spin_unlock_irq(&b->lock);
	/* pairs with the acquire in ring_kicked() */
	smp_store_release(&b->running, true);
	ring_kick_all(b);
	return 0;

close:
	user_memory_close(&b->memory);
	return ret;
}

int backend_handle_start(struct backend *b, const struct ikc_packet *pkt)
{
	void *block = ikc_pointer(pkt->data);
	struct shimos_virtio_start *copy;
	int ret = -EINVAL;

	backend_stop(b);
	/* once stopped by force it stays so: the user may have given the rings away */
	if (b->ending)
		return -ESHUTDOWN;
	if (pkt->size != sizeof(*copy))
		return ret;
	copy = kmemdup(block, sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	ret = backend_start(b, copy);
	kfree(copy);
	if (ret)
		pr_warn_ratelimited("%s: the driver in %s could not be started: error %d\n", b->name,
			b->user_name, ret);
	return ret;
}
