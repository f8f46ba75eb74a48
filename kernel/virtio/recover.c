// SPDX-License-Identifier: GPL-2.0
/* Answering a dead owner's requests; see recover.h. */
#include "recover.h"

#ifdef __KERNEL__
#include <linux/virtio_blk.h>
#endif

/* The last descriptor of a chain, where a disk request has its status. */
static struct vring_desc *last_of(struct dead_ring *r, u16 head)
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

static void fail_request(struct dead_ring *r, u16 head)
{
	struct vring_desc *last = last_of(r, head);
	u16 idx = r->used->idx;

	if (last->flags & VRING_DESC_F_WRITE && last->len)
		*(u8 *)phys_to_virt(last->addr + last->len - 1) = VIRTIO_BLK_S_IOERR;
	r->used->ring[idx & (r->size - 1)] = (struct vring_used_elem){ head, 1 };
	virt_wmb();	/* pairs with the driver's read barrier behind used->idx */
	WRITE_ONCE(r->used->idx, idx + 1);
}

/* See vring_put() and vring_publish() for the order in which the owner wrote. */
void fail_taken(struct dead_ring *r)
{
	struct shimos_virtio_ring_state *s = r->state;
	u32 head;

	/* not published before the end; if it was, it may have been taken again since */
	if (s->completing && s->completing <= r->size && r->used->idx == s->completing_at)
		s->taken[s->completing - 1] = 1;
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

void fail_available(struct dead_ring *r)
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
