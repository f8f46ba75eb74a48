// SPDX-License-Identifier: GPL-2.0
/*
 * After the owner's end: this kernel plays the device itself and answers each disk
 * request with an error, so that nobody waits for ever and the disk can be removed.
 *
 * Which requests the owner had taken stands in the book that it kept in our memory
 * (struct shimos_virtio_ring_state); recover.c reads it.  A network's buffers need no
 * answer: there the rings are only declared broken.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_ring.h>

#include "recover.h"
#include "transport.h"

static struct dead_ring fail_get_ring(struct shimos_device *d, unsigned int n)
{
	struct virtqueue *vq = d->vq[n];

	return (struct dead_ring){
		.desc = phys_to_virt(virtqueue_get_desc_addr(vq)),
		.avail = phys_to_virt(virtqueue_get_avail_addr(vq)),
		.used = phys_to_virt(virtqueue_get_used_addr(vq)),
		.state = &d->state->ring[n],
		.size = virtqueue_get_vring_size(vq),
	};
}

/* The work may run on two CPUs at once, if it is queued anew meanwhile. */
static void fail_answer(struct shimos_device *d)
{
	unsigned long flags;
	unsigned int n;

	spin_lock_irqsave(&d->fail_lock, flags);
	for (n = 0; n < d->desc.queues && d->vq[n]; n++) {
		struct dead_ring r = fail_get_ring(d, n);

		if (!d->recovered)
			recover_fail_taken(&r);
		recover_fail_available(&r);
	}
	d->recovered = true;
	spin_unlock_irqrestore(&d->fail_lock, flags);
}

/* Hard interrupt (a thread on PREEMPT_RT). */
static void fail_disk(struct irq_work *work)
{
	struct shimos_device *d = container_of(work, struct shimos_device, fail_work);
	unsigned int n;

	if (!READ_ONCE(d->live))
		return;
	fail_answer(d);
	for (n = 0; n < d->desc.queues && d->vq[n]; n++)
		vring_interrupt(0, d->vq[n]);
}

void fail_init(struct shimos_device *d)
{
	spin_lock_init(&d->fail_lock);
	init_irq_work(&d->fail_work, fail_disk);
}

void fail_device(struct shimos_device *d)
{
	if (d->stuck) {
		/* what it had begun with can be answered now, on unbroken rings */
		__virtio_unbreak_device(&d->vdev);
		d->stuck = false;
		module_put(THIS_MODULE);
	}
	smp_store_mb(d->dead, true);	/* pairs with the acquire in transport_notify() */
	wake_up_all(&d->changed);
	if (d->desc.type == VIRTIO_ID_BLOCK)
		irq_work_queue(&d->fail_work);
	else
		virtio_break_device(&d->vdev);
}

void fail_stuck(struct shimos_device *d)
{
	if (d->stuck)
		return;
	d->stuck = true;
	__module_get(THIS_MODULE);	/* what it may write to is not freed */
	virtio_break_device(&d->vdev);
	pr_err("the owner of %s may still write to this kernel's memory: the device is broken, what it has is not given back\n",
	       d->desc.name);
}

void fail_more(struct shimos_device *d)
{
	if (d->desc.type == VIRTIO_ID_BLOCK)
		irq_work_queue(&d->fail_work);
}
