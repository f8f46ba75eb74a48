/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device's end of a virtqueue (virtio 1.2, section 2.7, split ring).
 *
 * Everything in the ring was written by another kernel and may change at any time:
 * it is read once, checked, and then only the copy is used.  Compiles in user space
 * as well; tests/host/vring does so.
 */
#ifndef _SHIMOS_VQUEUE_H
#define _SHIMOS_VQUEUE_H

#include <shimos/virtqueue.h>
#include <uapi/shimos_virtio.h>

/* Longest chain: 128 pieces of data and what goes before and after them. */
#define VQUEUE_SEGMENTS	130

struct user_memory;

/**
 * user_memory_at() - where is a piece of the user's memory?
 * @memory: the user's
 * @addr:   its physical address
 * @len:    bytes
 *
 * vqueue.c asks for every address it finds.
 *
 * Context: Any.
 * Return: the address here, or NULL: it is not the user's, or cannot be reached.
 */
void *user_memory_at(const struct user_memory *memory, u64 addr, u64 len);

/**
 * struct vqueue_segment - a piece of the user's memory, physically contiguous
 * @data: where this kernel has it
 * @len: bytes
 */
struct vqueue_segment {
	void *data;
	u32 len;
};

/**
 * struct vqueue_chain - a request: what the user wrote (out), then room for the answer (in)
 * @head: its number in the ring
 * @out: how many segments the user wrote
 * @in: how many are room
 * @seg: those that were written first
 */
struct vqueue_chain {
	u16 head;
	u16 out, in;
	struct vqueue_segment seg[VQUEUE_SEGMENTS];
};

/**
 * struct vqueue - a virtqueue, as the device sees it
 * @memory: the user's
 * @desc: the user's descriptors
 * @avail: what it offers
 * @used: what was done
 * @state: this side's book, which the user can read
 * @size: descriptors, a power of two; 0: not used
 * @event_idx: the feature of that name was accepted
 * @indirect: the same
 * @broken: the user wrote nonsense
 * @problem: why
 * @taken: position in avail; who takes
 * @completed: position in used; who completes
 * @called: `completed` when last asked about a call
 */
struct vqueue {
	const struct user_memory *memory;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_ring_state *state;
	u32 size;
	bool event_idx, indirect;
	bool broken;
	const char *problem;
	u16 taken;
	u16 completed;
	u16 called;
};

/**
 * vqueue_open() - look a ring up in the user's memory
 * @v:        filled in
 * @memory:   the user's
 * @queue:    where the ring is, a copy
 * @state:    its book, in the user's memory
 * @features: that the driver has accepted
 *
 * Context: Any.
 * Return: 0, or -EINVAL: there cannot be a ring.
 */
int vqueue_open(struct vqueue *v, const struct user_memory *memory,
		const struct shimos_virtio_queue *queue,
		struct shimos_virtio_ring_state *state, u64 features);

/**
 * vqueue_pop() - take the next request
 * @v:     the ring
 * @chain: filled in
 *
 * Context: Any; one caller at a time.
 * Return: 1, 0: there is none, or -EBADMSG: the user wrote nonsense, the ring is broken
 * and v->problem says why.
 */
int vqueue_pop(struct vqueue *v, struct vqueue_chain *chain);
/**
 * vqueue_unpop() - give back the request taken last, as if it had not been taken
 * @v:     the ring
 * @chain: of that request; only its head is used
 *
 * May be repeated, for the one before.
 *
 * Context: Any; as vqueue_pop().
 */
void vqueue_unpop(struct vqueue *v, const struct vqueue_chain *chain);
/**
 * vqueue_has_more() - has the user made more available than was taken?
 * @v: the ring
 *
 * Context: Any.
 * Return: whether it has.
 */
bool vqueue_has_more(const struct vqueue *v);

/**
 * vqueue_enable_notify() - have the user ring for the next request
 * @v: the ring
 *
 * Context: Any; as vqueue_pop().
 * Return: false: there is a request already, take it.
 */
bool vqueue_enable_notify(struct vqueue *v);
/**
 * vqueue_disable_notify() - let the user make requests available without ringing
 * @v: the ring
 *
 * Context: Any; as vqueue_pop().
 */
void vqueue_disable_notify(struct vqueue *v);

/**
 * vqueue_push_used() - a request is done
 * @v:       the ring
 * @head:    of its chain
 * @written: how many bytes of `in` are valid
 *
 * The user sees it, or several at once, after vqueue_publish_used().  Of those not yet
 * published the book has only the last.
 *
 * Context: Any; one caller at a time.
 */
void vqueue_push_used(struct vqueue *v, u16 head, u32 written);
/**
 * vqueue_publish_used() - have the user see what was pushed
 * @v: the ring
 *
 * Context: Any; as vqueue_push_used().
 */
void vqueue_publish_used(struct vqueue *v);
/**
 * vqueue_must_notify() - does the user want to be told of what was published?
 * @v: the ring
 *
 * Context: Any; as vqueue_push_used().
 * Return: whether it does; asked again, whether there was more since.
 */
bool vqueue_must_notify(struct vqueue *v);

#endif
