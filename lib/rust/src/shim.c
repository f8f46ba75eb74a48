/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * kernel/ikc/ring.h consists of inline functions; here they get names that Rust
 * can call.  sys.rs declares them.
 */
#include "ring.h"

/* Rust keeps these two as opaque memory of this size. */
_Static_assert(sizeof(struct ikc_producer) <= 128, "sys.rs: STATE_WORDS");
_Static_assert(sizeof(struct ikc_consumer) <= 128, "sys.rs: STATE_WORDS");

__u64 shimos_ring_bytes(__u32 slots, __u32 slot_size)
{
	return ikc_ring_bytes(slots, slot_size);
}

void shimos_ring_init(struct ikc_ring *ring, __u32 slots, __u32 slot_size)
{
	ikc_ring_init(ring, slots, slot_size);
}

__u32 shimos_ring_closed(struct ikc_ring *ring)
{
	return READ_ONCE(ring->closed);
}

void shimos_ring_close(struct ikc_ring *ring)
{
	smp_store_release(&ring->closed, 1);
}

int shimos_producer_init(struct ikc_producer *p, struct ikc_ring *ring, __u64 bytes)
{
	return ikc_producer_init(p, ring, bytes);
}

__u32 shimos_producer_max(struct ikc_producer *p)
{
	return ikc_slot_room(p->slot_size);
}

/* packets, rung, saved, full */
void shimos_producer_counts(struct ikc_producer *p, __u64 counts[4])
{
	counts[0] = p->head;
	counts[1] = p->rung;
	counts[2] = p->saved;
	counts[3] = p->full;
}

int shimos_write(struct ikc_producer *p, const void *data, __u32 len)
{
	return ikc_ring_write(p, data, len);
}

int shimos_must_ring(struct ikc_producer *p)
{
	return ikc_must_ring(p);
}

/* Not more of what nobody would read: a broken ring counts as ready to fail. */
int shimos_has_room(struct ikc_producer *p)
{
	return ikc_has_room(p) || p->broken;
}

int shimos_wait_for_room(struct ikc_producer *p)
{
	return ikc_wait_for_room(p);
}

void shimos_consumer_init(struct ikc_consumer *c, struct ikc_ring *ring, __u32 slots,
			  __u32 slot_size)
{
	ikc_consumer_init(c, ring, slots, slot_size);
}

int shimos_read(struct ikc_consumer *c, void *data, __u32 size, __u32 *len)
{
	return ikc_ring_read(c, data, size, len);
}

int shimos_ready(struct ikc_consumer *c)
{
	return ikc_ready(c) != 0;
}

int shimos_arm(struct ikc_consumer *c)
{
	return ikc_arm(c);
}

int shimos_must_ring_back(struct ikc_consumer *c)
{
	return ikc_must_ring_back(c);
}
