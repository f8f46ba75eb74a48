// SPDX-License-Identifier: GPL-2.0
/*
 * After the owner's end: this kernel plays the device itself and answers each disk
 * request with an error, so that nobody waits for ever and the disk can be removed.
 *
 * Which requests the owner had taken stands in the book that it kept in our memory
 * (struct shimos_virtio_ring_state).  A network's buffers need no answer: there the
 * rings are only declared broken.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_ring.h>

#include "transport.h"

/* A ring as the device sees it.  Nobody else is at it: the owner is gone. */
struct ring {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_ring_state *state;
	u32 size;
};

static struct ring get_ring(struct shimos_device *d, unsigned int n)
{
	struct virtqueue *vq = d->vq[n];

	return (struct ring){
		.desc = phys_to_virt(virtqueue_get_desc_addr(vq)),
		.avail = phys_to_virt(virtqueue_get_avail_addr(vq)),
		.used = phys_to_virt(virtqueue_get_used_addr(vq)),
		.state = &d->state->ring[n],
		.size = virtqueue_get_vring_size(vq),
	};
}

/* The last descriptor of a chain, where a disk request has its status. */
static struct vring_desc *last_of(struct ring *r, u16 head)
{
	struct vring_desc *table = r->desc, *desc = &r->desc[head];
	u32 entries = r->size, steps = 0;

	if (desc->flags & VRING_DESC_F_INDIRECT) {
		entries = desc->len / sizeof(*desc);
		table = desc = phys_to_virt(desc->addr);
	}
	while (desc->flags & VRING_DESC_F_NEXT && desc->next < entries && steps++ < entries)
		desc = &table[desc->next];
	return desc;
}

static void fail_request(struct ring *r, u16 head)
{
	struct vring_desc *last = last_of(r, head);
	u16 idx = r->used->idx;

	if (last->flags & VRING_DESC_F_WRITE && last->len)
		*(u8 *)phys_to_virt(last->addr + last->len - 1) = VIRTIO_BLK_S_IOERR;
	r->used->ring[idx & (r->size - 1)] = (struct vring_used_elem){ head, 1 };
	virt_wmb();	/* pairs with the driver's read barrier behind used->idx */
	WRITE_ONCE(r->used->idx, idx + 1);
}

/* What the owner had begun with; see vring_complete() for the order it wrote in. */
static void fail_taken(struct ring *r)
{
	struct shimos_virtio_ring_state *s = r->state;
	u32 head;

	if (s->completing && s->completing <= r->size)
		/* was it published before the end? */
		s->taken[s->completing - 1] = r->used->idx == s->completing_at;
	s->completing = 0;
	/* taken, but not counted yet */
	if (s->next != READ_ONCE(r->avail->idx)) {
		head = r->avail->ring[s->next & (r->size - 1)];
		if (head < r->size && s->taken[head])
			s->next++;
	}
	for (head = 0; head < r->size; head++) {
		if (s->taken[head])
			fail_request(r, head);
		s->taken[head] = 0;
	}
}

static void fail_available(struct ring *r)
{
	u16 *event = (u16 *)&r->used->ring[r->size];
	struct shimos_virtio_ring_state *s = r->state;

	for (;;) {
		while (s->next != READ_ONCE(r->avail->idx)) {
			virt_rmb();	/* pairs with the driver's before avail->idx */
			fail_request(r, r->avail->ring[s->next++ & (r->size - 1)] &
					(r->size - 1));
		}
		/* be told of the next one, however the driver decides that */
		WRITE_ONCE(*event, s->next);
		WRITE_ONCE(r->used->flags, 0);
		virt_mb();	/* pairs with the driver's before it reads them */
		if (s->next == READ_ONCE(r->avail->idx))
			break;
	}
}

/* Hard interrupt (a thread on PREEMPT_RT). */
static void fail_disk(struct irq_work *work)
{
	struct shimos_device *d = container_of(work, struct shimos_device, fail_work);
	unsigned int n;

	if (!READ_ONCE(d->live))
		return;
	for (n = 0; n < d->desc.queues && d->vq[n]; n++) {
		struct ring r = get_ring(d, n);

		if (!d->recovered)
			fail_taken(&r);
		fail_available(&r);
		vring_interrupt(0, d->vq[n]);
	}
	d->recovered = true;
}

void shimos_fail_init(struct shimos_device *d)
{
	init_irq_work(&d->fail_work, fail_disk);
}

void shimos_fail(struct shimos_device *d)
{
	smp_store_mb(d->dead, true);	/* pairs with the acquire in notify() */
	wake_up_all(&d->changed);
	if (d->desc.type == VIRTIO_ID_BLOCK)
		irq_work_queue(&d->fail_work);
	else
		virtio_break_device(&d->vdev);
}

void shimos_fail_more(struct shimos_device *d)
{
	if (d->desc.type == VIRTIO_ID_BLOCK)
		irq_work_queue(&d->fail_work);
}
