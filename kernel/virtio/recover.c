// SPDX-License-Identifier: GPL-2.0
/* Answering a dead owner's requests; see recover.h. */
#include "recover.h"

#ifdef __KERNEL__
#include <linux/io.h>
#include <linux/virtio_blk.h>
#endif

/* The last descriptor of a chain, where a disk request has its status. */
static struct vq_desc recover_last_of(struct dead_ring *r, u16 head)
{
	struct vring_desc *table = r->desc;
	struct vq_desc desc = vq_get_desc(&table[head]);
	u32 entries = r->size, steps = 0;

	if (desc.flags & VRING_DESC_F_INDIRECT) {
		entries = desc.len / sizeof(*table);
		table = phys_to_virt(desc.addr);
		desc = vq_get_desc(table);
	}
	while (desc.flags & VRING_DESC_F_NEXT && desc.next < entries && steps++ < entries)
		desc = vq_get_desc(&table[desc.next]);
	return desc;
}

static void recover_fail_request(struct dead_ring *r, u16 head)
{
	struct vq_desc last = recover_last_of(r, head);
	u16 idx = vq_get16(&r->used->idx);
	struct vring_used_elem *elem = &r->used->ring[idx & (r->size - 1)];

	if (last.flags & VRING_DESC_F_WRITE && last.len)
		*(u8 *)phys_to_virt(last.addr + last.len - 1) = VIRTIO_BLK_S_IOERR;
	vq_put32(&elem->id, head);
	vq_put32(&elem->len, 1);
	virt_wmb();	/* pairs with the driver's read barrier behind used->idx */
	vq_put16(&r->used->idx, idx + 1);
}

/* See vqueue_push_used() and vqueue_publish_used() for the order in which the owner wrote. */
void recover_fail_taken(struct dead_ring *r)
{
	struct shimos_virtio_ring_state *s = r->state;
	u32 head;

	/* not published before the end; if it was, it may have been taken again since */
	if (s->completing && s->completing <= r->size &&
	    vq_get16(&r->used->idx) == s->completing_at)
		s->taken[s->completing - 1] = 1;
	s->completing = 0;
	/* taken, but not counted yet */
	if (s->next != vq_get16(&r->avail->idx)) {
		virt_rmb();	/* pairs with the driver's before avail->idx: it may add more */
		head = vq_get16(&r->avail->ring[s->next & (r->size - 1)]);
		if (head < r->size && s->taken[head])
			s->next++;
	}
	for (head = 0; head < r->size; head++) {
		if (s->taken[head])
			recover_fail_request(r, head);
		s->taken[head] = 0;
	}
}

void recover_fail_available(struct dead_ring *r)
{
	__virtio16 *event = (__virtio16 *)&r->used->ring[r->size];
	struct shimos_virtio_ring_state *s = r->state;
	u16 head;

	for (;;) {
		while (s->next != vq_get16(&r->avail->idx)) {
			virt_rmb();	/* pairs with the driver's before avail->idx */
			head = vq_get16(&r->avail->ring[s->next++ & (r->size - 1)]);
			recover_fail_request(r, head & (r->size - 1));
		}
		/* be told of the next one, however the driver decides that */
		vq_put16(event, s->next);
		vq_put16(&r->used->flags, 0);
		virt_mb();	/* pairs with the driver's before it reads them */
		if (s->next == vq_get16(&r->avail->idx))
			break;
	}
}
