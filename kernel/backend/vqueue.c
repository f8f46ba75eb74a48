// SPDX-License-Identifier: GPL-2.0
/* The device's end of a virtqueue; see vqueue.h. */
#include "vqueue.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <linux/virtio_config.h>
#endif

int vqueue_open(struct vqueue *v, const struct user_memory *memory,
		const struct shimos_virtio_queue *queue,
		struct shimos_virtio_ring_state *state, u64 features)
{
	u32 size = queue->size;

	memset(v, 0, sizeof(*v));
	v->memory = memory;
	v->state = state;
	/* who finds it broken by somebody else has something to say, too */
	v->problem = "another ring of the device is broken";
	v->event_idx = features & (1ULL << VIRTIO_RING_F_EVENT_IDX);
	v->indirect = features & (1ULL << VIRTIO_RING_F_INDIRECT_DESC);
	if (!size)
		return 0;
	if (size & (size - 1) || size > SHIMOS_VIRTIO_RING || queue->desc % 16 ||
	    queue->avail % 2 || queue->used % 4)
		return -EINVAL;
	v->desc = user_memory_at(memory, queue->desc, 16ULL * size);
	/* both with the event position behind the ring */
	v->avail = user_memory_at(memory, queue->avail, 6 + 2ULL * size);
	v->used = user_memory_at(memory, queue->used, 6 + 8ULL * size);
	if (!v->desc || !v->avail || !v->used)
		return -EINVAL;
	v->size = size;
	return 0;
}

static int vqueue_set_broken(struct vqueue *v, const char *problem)
{
	if (!v->broken)
		v->problem = problem;
	WRITE_ONCE(v->broken, true);
	return -EBADMSG;
}

static int vqueue_add_segment(struct vqueue *v, struct vqueue_chain *chain,
			      const struct vq_desc *d)
{
	bool in = d->flags & VRING_DESC_F_WRITE;
	unsigned int n = chain->out + chain->in;
	void *data;

	if (n == VQUEUE_SEGMENTS)
		return vqueue_set_broken(v, "a chain that is too long, or a loop");
	if (!in && chain->in)
		return vqueue_set_broken(v, "a chain with data behind the room for the answer");
	if (!d->len)
		return vqueue_set_broken(v, "an empty buffer");
	data = user_memory_at(v->memory, d->addr, d->len);
	if (!data)
		return vqueue_set_broken(v, "a buffer outside of the user's memory");
	chain->seg[n].data = data;
	chain->seg[n].len = d->len;
	if (in)
		chain->in++;
	else
		chain->out++;
	return 0;
}

/* The chain that starts with @d in @table of @entries. */
static int vqueue_walk(struct vqueue *v, struct vqueue_chain *chain,
		       const struct vring_desc *table, u32 entries, struct vq_desc d)
{
	int ret;

	for (;;) {
		if (d.flags & VRING_DESC_F_INDIRECT)
			return vqueue_set_broken(v, "an indirect table where none may be");
		ret = vqueue_add_segment(v, chain, &d);
		if (ret || !(d.flags & VRING_DESC_F_NEXT))
			return ret;
		if (d.next >= entries)
			return vqueue_set_broken(v, "a chain that leaves its table");
		d = vq_get_desc(&table[d.next]);
	}
}

static int vqueue_read_chain(struct vqueue *v, struct vqueue_chain *chain)
{
	struct vq_desc d = vq_get_desc(&v->desc[chain->head]);
	const struct vring_desc *table;

	if (!(d.flags & VRING_DESC_F_INDIRECT))
		return vqueue_walk(v, chain, v->desc, v->size, d);
	if (!v->indirect || d.flags & VRING_DESC_F_NEXT || !d.len ||
	    d.len % sizeof(*table) || d.len > VQUEUE_SEGMENTS * sizeof(*table) ||
	    d.addr % __alignof__(*table))
		return vqueue_set_broken(v, "a bad indirect table");
	table = user_memory_at(v->memory, d.addr, d.len);
	if (!table)
		return vqueue_set_broken(v, "an indirect table outside of the user's memory");
	return vqueue_walk(v, chain, table, d.len / sizeof(*table), vq_get_desc(table));
}

bool vqueue_has_more(const struct vqueue *v)
{
	return v->size && !READ_ONCE(v->broken) && vq_get16(&v->avail->idx) != v->taken;
}

int vqueue_pop(struct vqueue *v, struct vqueue_chain *chain)
{
	u16 waiting;
	int ret;

	if (READ_ONCE(v->broken))
		return -EBADMSG;
	if (!v->size)
		return 0;
	waiting = vq_get16(&v->avail->idx) - v->taken;
	if (!waiting)
		return 0;
	if (waiting > v->size)
		return vqueue_set_broken(v, "more available than the ring has room for");
	virt_rmb();	/* pairs with the user's write barrier before avail->idx */
	chain->head = vq_get16(&v->avail->ring[v->taken & (v->size - 1)]);
	chain->out = chain->in = 0;
	if (chain->head >= v->size)
		return vqueue_set_broken(v, "a descriptor that does not exist");
	ret = vqueue_read_chain(v, chain);
	if (ret)
		return ret;
	v->taken++;
	/* in this order: a request is in the book, or still available, or both */
	WRITE_ONCE(v->state->taken[chain->head], 1);
	virt_wmb();	/* for the user, who reads it after our death */
	WRITE_ONCE(v->state->next, v->taken);
	return 1;
}

void vqueue_unpop(struct vqueue *v, const struct vqueue_chain *chain)
{
	v->taken--;
	WRITE_ONCE(v->state->next, v->taken);
	virt_wmb();	/* as above */
	WRITE_ONCE(v->state->taken[chain->head], 0);
}

bool vqueue_enable_notify(struct vqueue *v)
{
	if (!v->size)
		return true;
	if (v->event_idx)
		vq_put16((__virtio16 *)&v->used->ring[v->size], v->taken);
	else
		vq_put16(&v->used->flags, 0);
	virt_mb();	/* pairs with the user's between avail->idx and this */
	return !vqueue_has_more(v);
}

void vqueue_disable_notify(struct vqueue *v)
{
	/* with event positions the user tells once, and no more until asked */
	if (v->size && !v->event_idx)
		vq_put16(&v->used->flags, VRING_USED_F_NO_NOTIFY);
}

void vqueue_push_used(struct vqueue *v, u16 head, u32 written)
{
	struct vring_used_elem *elem = &v->used->ring[v->completed & (v->size - 1)];

	vq_put32(&elem->id, head);
	vq_put32(&elem->len, written);
	/*
	 * While the head is in neither book nor ring, it stands here: the user finds
	 * it if we die now, unless used->idx shows that it was published.
	 */
	WRITE_ONCE(v->state->completing_at, v->completed);
	virt_wmb();	/* for the user after our death: as all in its book */
	WRITE_ONCE(v->state->completing, head + 1);
	virt_wmb();	/* the same */
	WRITE_ONCE(v->state->taken[head], 0);
	v->completed++;
}

void vqueue_publish_used(struct vqueue *v)
{
	virt_wmb();	/* pairs with the user's read barrier behind used->idx */
	vq_put16(&v->used->idx, v->completed);
	virt_wmb();	/* as above */
	WRITE_ONCE(v->state->completing, 0);
}

bool vqueue_must_notify(struct vqueue *v)
{
	u16 old = v->called, new = v->completed;

	v->called = new;
	virt_mb();	/* pairs with the user's between its event and used->idx */
	if (v->event_idx)
		return vring_need_event(vq_get16(&v->avail->ring[v->size]), new, old);
	return !(vq_get16(&v->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
}
