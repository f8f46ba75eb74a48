/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The ring: one producer, one consumer, no locks, the other side not trusted
 * (SHIMOS 2009, sections 2.3 and 3.3).  Used unchanged by the kernel, by user
 * programs, by the unit tests and by the model checker.
 *
 * A slot carries its own sequence number, so that a packet costs the transfer of
 * its own cache lines and nothing else: no shared head is written.  The consumer
 * publishes its position now and then, for the producer to know what is free.
 *
 * Nothing read from the ring is used as an index or length before it has been
 * checked; positions are each side's own.  All functions return at once.
 *
 * Who sleeps says so first: the consumer stores the position it waits for
 * (`event`), the producer that it waits for room (`room_event`).  Each then
 * looks once more; the other looks after it has written.  A full barrier stands
 * between the two steps on either side, so that one of them sees the other.
 */
#ifndef _IKC_RING_H
#define _IKC_RING_H

#include "atomics.h"

#ifdef __KERNEL__
#include <linux/prefetch.h>
#include <uapi/shimos_ikc.h>
#else
#include "shimos_ikc.h"
#endif

/**
 * ikc_prefetch_write() - have a line here and writable when the store comes
 * @ptr: in it
 *
 * Only a hint.
 */
static inline void ikc_prefetch_write(const void *ptr)
{
#if defined(IKC_MODEL)
	(void)ptr;
#elif defined(__KERNEL__)
	prefetchw(ptr);
#elif defined(__x86_64__)
	/* the builtin only fetches it for reading, unless told of a newer processor */
	__asm__ __volatile__("prefetchw %0" : : "m" (*(const char *)ptr));
#else
	__builtin_prefetch(ptr, 1);
#endif
}

#define IKC_SLOT_HEADER		sizeof(struct ikc_slot)
#define IKC_AHEAD		8	/* slots, see ikc_ring_write() */

/**
 * struct ikc_producer - the producer's own memory
 * @ring: the shared one
 * @slot: for position @head
 * @end: behind the last slot
 * @head: packets written
 * @limit: @head may go up to here
 * @notified: @head at the last ikc_must_ring()
 * @rung: how often the consumer wanted the doorbell
 * @saved: how often it did not
 * @full: how often there was no room
 * @slots: how many
 * @slot_size: bytes, with the slot's header
 * @ahead: bytes, see ikc_ring_write()
 * @broken: the consumer wrote nonsense
 */
struct ikc_producer {
	struct ikc_ring *ring;
	struct ikc_slot *slot, *end;
	__u64 head;
	__u64 limit;
	__u64 notified;
	__u64 rung, saved, full;
	__u32 slots, slot_size;
	__u32 ahead;
	int broken;
};

/**
 * struct ikc_consumer - the consumer's own memory
 * @ring: the shared one
 * @slot: for position @tail
 * @end: behind the last slot
 * @tail: packets read
 * @published: @tail as the producer may know it
 * @slots: how many
 * @slot_size: bytes, with the slot's header
 * @batch: publish after so many
 * @bad_seq: what made it broken
 * @broken: the producer wrote nonsense
 * @ring_back: the producer waits for the room made
 */
struct ikc_consumer {
	struct ikc_ring *ring;
	struct ikc_slot *slot, *end;
	__u64 tail;
	__u64 published;
	__u32 slots, slot_size;
	__u32 batch;
	__u32 bad_seq;
	int broken;
	int ring_back;
};

/**
 * ikc_ring_bytes() - bytes that a ring takes
 * @slots: how many; anything
 * @slot_size: bytes; anything
 *
 * Return: bytes; 0: there is no such ring.
 */
static inline __u64 ikc_ring_bytes(__u32 slots, __u32 slot_size)
{
	if (slots < IKC_MIN_SLOTS || slots > 1U << 24 ||
	    slot_size < IKC_MIN_SLOT_SIZE || slot_size > IKC_MAX_SLOT_SIZE ||
	    slot_size % IKC_SLOT_ALIGN)
		return 0;
	return IKC_RING_HEADER + (__u64)slots * slot_size;
}

/**
 * ikc_ring_fit() - the largest number of slots for which a ring fits
 * @bytes: into this memory
 * @slot_size: bytes
 */
static inline __u32 ikc_ring_fit(__u64 bytes, __u32 slot_size)
{
	return bytes < IKC_RING_HEADER ? 0 : (bytes - IKC_RING_HEADER) / slot_size;
}

/**
 * ikc_first_slot() - where the slots begin
 * @ring: the shared one
 */
static inline struct ikc_slot *ikc_first_slot(struct ikc_ring *ring)
{
	return (struct ikc_slot *)((char *)ring + IKC_RING_HEADER);
}

/**
 * ikc_slot_after() - the slot that is some slots further
 * @slot: from here
 * @bytes: of those slots; the caller wraps around
 */
static inline struct ikc_slot *ikc_slot_after(struct ikc_slot *slot, __u64 bytes)
{
	return (struct ikc_slot *)((char *)slot + bytes);
}

/**
 * ikc_within() - is a position in [from, to)?
 * @a: what a peer wrote; anything
 * @from: the first one
 * @to: behind the last one
 *
 * Positions never wrap.
 */
static inline bool ikc_within(__u64 a, __u64 from, __u64 to)
{
	return a - from < to - from;
}

/**
 * ikc_ring_init() - make a ring that only the consumer knows yet
 * @ring: memory of ikc_ring_bytes(), all zero
 * @slots: how many
 * @slot_size: bytes
 */
static inline void ikc_ring_init(struct ikc_ring *ring, __u32 slots, __u32 slot_size)
{
	ring->magic = IKC_RING_MAGIC;
	ring->slots = slots;
	ring->slot_size = slot_size;
	ring->event = 0;		/* ring for the first packet */
	ring->room_event = ~0ULL;	/* nobody waits */
}

/**
 * ikc_consumer_init() - read a ring from its beginning
 * @c: the reader's own
 * @ring: of ikc_ring_init()
 * @slots: as there, for the ring is not trusted any more
 * @slot_size: as there
 */
static inline void ikc_consumer_init(struct ikc_consumer *c, struct ikc_ring *ring,
				     __u32 slots, __u32 slot_size)
{
	memset(c, 0, sizeof(*c));
	c->ring = ring;
	c->slot = ikc_first_slot(ring);
	c->end = ikc_slot_after(c->slot, (__u64)slots * slot_size);
	c->slots = slots;
	c->slot_size = slot_size;
	c->batch = slots / 4 ? slots / 4 : 1;
}

/**
 * ikc_resume() - find where an earlier producer has stopped
 * @p: for a ring that fits
 *
 * All it wrote behind the consumer's published position still carries its number.
 */
static inline void ikc_resume(struct ikc_producer *p)
{
	/* pairs with the release in ikc_publish() */
	__u64 tail = smp_load_acquire(&p->ring->tail);
	__u32 i;

	p->slot = ikc_slot_after(p->slot, tail % p->slots * p->slot_size);
	for (i = 0; i < p->slots; i++) {
		/* pairs with the release in ikc_ring_write() */
		if (smp_load_acquire(&p->slot->seq) != (__u32)(tail + i + 1))
			break;
		p->slot = ikc_slot_after(p->slot, p->slot_size);
		if (p->slot == p->end)
			p->slot = ikc_first_slot(p->ring);
	}
	p->head = tail + i;
	p->notified = tail;	/* it may have stopped before it rang for the rest */
	p->limit = tail + p->slots;
	p->rung = READ_ONCE(p->ring->rung);
	p->saved = READ_ONCE(p->ring->saved);
	p->full = READ_ONCE(p->ring->full);
}

/**
 * ikc_producer_init() - start writing to a ring, where the last one who did so stopped
 * @p: the writer's own
 * @ring: the shared one
 * @bytes: so many of it are mapped
 *
 * Return: 0; -EPROTO: it is no ring, or does not fit.
 */
static inline int ikc_producer_init(struct ikc_producer *p, struct ikc_ring *ring,
				    __u64 bytes)
{
	__u32 slots = READ_ONCE(ring->slots);
	__u32 slot_size = READ_ONCE(ring->slot_size);
	__u64 need = ikc_ring_bytes(slots, slot_size);

	memset(p, 0, sizeof(*p));
	if (READ_ONCE(ring->magic) != IKC_RING_MAGIC || !need || need > bytes)
		return -EPROTO;
	p->ring = ring;
	p->slot = ikc_first_slot(ring);
	p->end = ikc_slot_after(p->slot, need - IKC_RING_HEADER);
	p->slots = slots;
	p->slot_size = slot_size;
	p->ahead = IKC_AHEAD * slot_size;
	ikc_resume(p);
	return 0;
}

/**
 * ikc_slot_room() - bytes of the largest message
 * @slot_size: bytes, with the slot's header
 */
static inline __u32 ikc_slot_room(__u32 slot_size)
{
	return slot_size - IKC_SLOT_HEADER;
}

/**
 * ikc_find_room() - learn how far the consumer is
 * @p: the writer's own
 *
 * Return: 0; -EAGAIN: no room; -EBADMSG: nonsense, for ever.
 */
static inline int ikc_find_room(struct ikc_producer *p)
{
	/* pairs with the release in ikc_publish(): the slots are free to write */
	__u64 tail = smp_load_acquire(&p->ring->tail);

	if (p->broken || !ikc_within(tail, p->limit - p->slots, p->head + 1)) {
		p->broken = 1;
		return -EBADMSG;
	}
	p->limit = tail + p->slots;
	return p->head == p->limit ? -EAGAIN : 0;
}

/**
 * ikc_has_room() - is there room for a packet?
 * @p: the writer's own
 */
static inline bool ikc_has_room(struct ikc_producer *p)
{
	return p->head != p->limit || !ikc_find_room(p);
}

/**
 * ikc_ring_write() - put a message into the ring
 * @p: the writer's own
 * @data: the message
 * @len: its bytes
 *
 * The consumer can see it at once; ikc_must_ring() says whether it sleeps.
 *
 * The slots to come are still in the consumer's cache.  To take one over only when it is written
 * costs a stall each; so it is asked for early, as many slots ahead as were written at once the
 * last time: who writes single packets to a consumer that keeps up would only have them taken
 * away again.
 *
 * Return: 0; -EAGAIN: the ring is full; -EMSGSIZE; -EBADMSG: the consumer wrote nonsense, and
 * the ring is of no use any more.
 */
static __always_inline int ikc_ring_write(struct ikc_producer *p, const void *data, __u32 len)
{
	struct ikc_slot *slot = p->slot, *ahead = ikc_slot_after(slot, p->ahead);
	int ret;

	if (len > ikc_slot_room(p->slot_size))
		return -EMSGSIZE;
	if (p->head == p->limit) {
		ret = ikc_find_room(p);
		if (ret) {
			p->full++;
			WRITE_ONCE(p->ring->full, p->full);
			return ret;
		}
	}
	if (ahead < p->end)
		ikc_prefetch_write(ahead);
	WRITE_ONCE(slot->len, len);
	ikc_copy_in(slot->data, data, len);
	p->head++;
	p->slot = ikc_slot_after(slot, p->slot_size);
	if (p->slot == p->end)
		p->slot = ikc_first_slot(p->ring);
	/* pairs with the acquire in ikc_ready(): the message comes before it */
	smp_store_release(&slot->seq, (__u32)p->head);
	return 0;
}

/**
 * ikc_must_ring() - after one or several writes: does the consumer want the doorbell?
 * @p: the writer's own
 *
 * Each wish is granted once.
 */
static inline bool ikc_must_ring(struct ikc_producer *p)
{
	__u64 from = p->notified;
	bool ring;

	if (from == p->head)
		return false;
	p->notified = p->head;
	p->ahead = (p->head - from < IKC_AHEAD ? p->head - from : IKC_AHEAD) * p->slot_size;
	smp_mb();	/* pairs with the one in ikc_arm(): seq before event */
	ring = ikc_within(READ_ONCE(p->ring->event), from, p->head);
	if (ring)
		WRITE_ONCE(p->ring->rung, ++p->rung);
	else
		WRITE_ONCE(p->ring->saved, ++p->saved);
	WRITE_ONCE(p->ring->packets, p->head);
	return ring;
}

/**
 * ikc_wait_for_room() - the ring is full and the producer wants to sleep
 * @p: the writer's own
 *
 * Return: true: it may, the doorbell will ring when half of the ring is free; false: there is
 * room after all.
 */
static inline bool ikc_wait_for_room(struct ikc_producer *p)
{
	WRITE_ONCE(p->ring->head, p->head);
	WRITE_ONCE(p->ring->room_event, p->head - p->slots + p->slots / 2 - 1);
	smp_mb();	/* pairs with the one in ikc_publish(): event before tail */
	return ikc_find_room(p) == -EAGAIN;
}

/**
 * ikc_ready() - has the producer written the slot that is next?
 * @c: the reader's own
 *
 * Return: 1, 0, or -EBADMSG: nonsense, for ever.
 */
static inline int ikc_ready(struct ikc_consumer *c)
{
	/* pairs with the release in ikc_ring_write() */
	__u32 seq = smp_load_acquire(&c->slot->seq);

	if (seq == (__u32)(c->tail + 1))
		return 1;
	if (seq == (c->tail < c->slots ? 0 : (__u32)(c->tail + 1 - c->slots)))
		return 0;
	c->bad_seq = seq;
	c->broken = 1;
	return -EBADMSG;
}

/**
 * ikc_publish() - give the slots that were read back; see whether the producer waits for them
 * @c: the reader's own
 */
static inline void ikc_publish(struct ikc_consumer *c)
{
	__u64 from = c->published;

	if (from == c->tail)
		return;
	c->published = c->tail;
	/* pairs with the acquire in ikc_find_room() */
	smp_store_release(&c->ring->tail, c->tail);
	smp_mb();	/* pairs with the one in ikc_wait_for_room() */
	if (ikc_within(READ_ONCE(c->ring->room_event), from, c->tail))
		c->ring_back = 1;
}

/**
 * ikc_ring_read() - take the next message out of the ring
 * @c: the reader's own
 * @data: gets it
 * @size: of @data, bytes
 * @len: gets the message's bytes
 *
 * Return: 0; -EAGAIN: there is none; -EMSGSIZE: it is larger than @size, and stays; -EBADMSG:
 * the producer wrote nonsense: then for ever.
 */
static __always_inline int ikc_ring_read(struct ikc_consumer *c, void *data, __u32 size, __u32 *len)
{
	struct ikc_slot *slot = c->slot;
	__u32 bytes;
	int ret;

	if (c->broken)
		return -EBADMSG;
	ret = ikc_ready(c);
	if (ret <= 0)
		return ret ? ret : -EAGAIN;
	bytes = READ_ONCE(slot->len);
	if (bytes > ikc_slot_room(c->slot_size)) {
		c->broken = 1;
		return -EBADMSG;
	}
	if (bytes > size)
		return -EMSGSIZE;
	/* a copy of constant size, for callers with messages of one size, is inline */
	if (bytes == size)
		ikc_copy_out(data, slot->data, size);
	else
		ikc_copy_out(data, slot->data, bytes);
	*len = bytes;
	c->tail++;
	c->slot = ikc_slot_after(slot, c->slot_size);
	if (c->slot == c->end)
		c->slot = ikc_first_slot(c->ring);
	if (c->tail - c->published >= c->batch)
		ikc_publish(c);
	return 0;
}

/**
 * ikc_arm() - the consumer wants to sleep
 * @c: the reader's own
 *
 * Return: true: it may, the doorbell will ring with the next packet; false: there is one
 * already, or nonsense.
 */
static inline bool ikc_arm(struct ikc_consumer *c)
{
	ikc_publish(c);
	WRITE_ONCE(c->ring->event, c->tail);
	smp_mb();	/* pairs with the one in ikc_must_ring() */
	return !c->broken && !ikc_ready(c);
}

/**
 * ikc_must_ring_back() - did reading make room for which the producer waits?  Then ring it
 * @c: the reader's own
 */
static inline bool ikc_must_ring_back(struct ikc_consumer *c)
{
	bool ring = c->ring_back;

	c->ring_back = 0;
	return ring;
}

#endif
