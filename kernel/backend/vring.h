/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device's end of a virtqueue (virtio 1.2, section 2.7, split ring).
 *
 * Everything in the ring was written by another kernel and may change at any time:
 * it is read once, checked, and then only the copy is used.  Compiles in user space
 * as well; tests/host/vring does so.
 */
#ifndef _SHIMOS_VRING_H
#define _SHIMOS_VRING_H

#include <shimos/virtqueue.h>
#include <uapi/shimos_virtio.h>

/* Longest chain: 128 pieces of data and what goes before and after them. */
#define VRING_SEGMENTS	130

struct user_memory;

/*
 * @len bytes at the user's physical address @addr, or NULL if they are not the
 * user's or cannot be reached.  vring.c calls it for every address it finds.
 */
void *user_memory_at(const struct user_memory *memory, u64 addr, u64 len);

/* A piece of the user's memory, physically contiguous. */
struct vring_segment {
	void *data;
	u32 len;
};

/* A request: what the user wrote (out), then room for the answer (in). */
struct vring_chain {
	u16 head;
	u16 out, in;			/* how many segments of each */
	struct vring_segment seg[VRING_SEGMENTS];
};

struct vring_end {
	const struct user_memory *memory;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_ring_state *state;
	u32 size;			/* descriptors, a power of two; 0: not used */
	bool event_idx, indirect;	/* features that were accepted */
	bool broken;
	const char *problem;		/* why */
	u16 taken;			/* position in avail; who takes */
	u16 completed;			/* position in used; who completes */
	u16 called;			/* `completed` when last asked about a call */
};

/* Look the ring up in the user's memory.  0, or -EINVAL: it is no ring of theirs. */
int vring_open(struct vring_end *v, const struct user_memory *memory,
	       const struct shimos_virtio_queue *queue,
	       struct shimos_virtio_ring_state *state, u64 features);

/*
 * Take the next request.  One caller at a time.  1, 0: there is none, or -EBADMSG:
 * nonsense, the ring is broken and v->problem says why.
 */
int vring_take(struct vring_end *v, struct vring_chain *chain);
/* Give back the request taken last, as if it had not been taken; may be repeated. */
void vring_untake(struct vring_end *v, const struct vring_chain *chain);
/* Has the user made more available than was taken? */
bool vring_more(const struct vring_end *v);

/*
 * Be told of new requests, or not.  vring_wait() returns false if there is one
 * already: take it.  One caller at a time, the one who takes.
 */
bool vring_wait(struct vring_end *v);
void vring_poll(struct vring_end *v);

/*
 * A request is done; @written bytes of `in` are valid.  The user sees it, or several
 * at once, after vring_publish().  Of those not yet published the book keeps only the
 * last.  One caller at a time.
 */
void vring_put(struct vring_end *v, u16 head, u32 written);
void vring_publish(struct vring_end *v);
/* Does the user want to be told?  After vring_publish(). */
bool vring_must_call(struct vring_end *v);

#endif
