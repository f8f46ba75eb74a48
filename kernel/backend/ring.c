// SPDX-License-Identifier: GPL-2.0
/* The rings of shared devices: doorbells that come in, completions that go out. */
#include <linux/rculist.h>

#include "backend.h"

static unsigned int open_kicks;		/* init and exit of the module */

/* ---- doorbells from users ---- */

/* Hard interrupt, RCU: kernel @user rang bell @context. */
static void ring_kicked(void *context, unsigned int user)
{
	u32 bell = (unsigned long)context;
	struct backend *b;
	u64 kicks, mine;

	list_for_each_entry_rcu(b, &backend_devices, link) {
		/* pairs with the release in backend_start() */
		if (b->user != user || !smp_load_acquire(&b->running))
			continue;
		mine = shimos_virtio_bell_queues(b->ops->type, bell);
		if (!(READ_ONCE(b->state->kicks) & mine))
			continue;
		/* a full barrier: the ring is read after the bit is cleared */
		kicks = atomic64_fetch_andnot(mine, (atomic64_t *)&b->state->kicks) & mine;
		for (; kicks; kicks &= kicks - 1) {
			unsigned int n = __ffs64(kicks);

			if (n >= b->queues || !b->ring[n].v.size)
				continue;
			b->ring[n].count.kicks++;
			b->ops->kick(b, n);
		}
	}
}

static const struct ikc_queue_ops kick_ops = { .notify = ring_kicked };

void ring_close_kicks(void)
{
	while (open_kicks)
		ikc_queue_close(SHIMOS_VIRTIO_KICK + --open_kicks);
}

int ring_open_kicks(void)
{
	int ret;

	while (open_kicks < SHIMOS_VIRTIO_BELLS) {
		ret = ikc_queue_open(SHIMOS_VIRTIO_KICK + open_kicks, 0, &kick_ops,
				     (void *)(unsigned long)open_kicks);
		if (ret) {
			ring_close_kicks();
			return ret;
		}
		open_kicks++;
	}
	return 0;
}

/* ---- beginning ---- */

int ring_open_all(struct backend *b, const struct shimos_virtio_start *start)
{
	unsigned int n;
	int ret = 0;

	b->state = user_memory_at(&b->memory, start->state,
				  struct_size(b->state, ring, b->queues));
	if (!b->state || !IS_ALIGNED(start->state, SHIMOS_VIRTIO_ALIGN))
		return -EFAULT;
	for (n = 0; n < b->queues && !ret; n++) {
		struct backend_ring *ring = &b->ring[n];

		ret = vqueue_open(&ring->v, &b->memory, &start->queue[n], &b->state->ring[n],
				  start->features);
	}
	return ret;
}

void ring_kick_all(struct backend *b)
{
	unsigned int n;

	local_bh_disable();
	for (n = 0; n < b->queues; n++)
		if (b->ring[n].v.size)
			b->ops->kick(b, n);
	local_bh_enable();
}

/* ---- completing ---- */

void backend_complete_together(struct backend_ring *ring, const u16 *head, const u32 *written,
			       unsigned int count)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	while (count--)
		vqueue_push_used(&ring->v, *head++, *written++);
	vqueue_publish_used(&ring->v);
	spin_unlock_irqrestore(&ring->lock, flags);
}

void backend_complete_quiet(struct backend_ring *ring, u16 head, u32 written)
{
	backend_complete_together(ring, &head, &written, 1);
}

static void ring_ring(struct backend_ring *ring)
{
	struct backend *b = ring->backend;
	u32 bell = shimos_virtio_bell(b->ops->type, ring->number);
	u64 called;

	/* a full barrier; if a bit of that bell was set, it is on its way, and for all of them */
	called = atomic64_fetch_or(BIT_ULL(ring->number), (atomic64_t *)&b->state->calls);
	if (called & shimos_virtio_bell_queues(b->ops->type, bell)) {
		ring->count.calls_saved++;
		return;
	}
	ring->count.calls++;
	ikc_ring(b->user, SHIMOS_VIRTIO_CALL + bell);
}

static void ring_call_user(struct backend_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	if (vqueue_must_notify(&ring->v))
		ring_ring(ring);
	else
		ring->count.calls_saved++;
}

void backend_call_anyway(struct backend_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring_ring(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

void backend_call(struct backend_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring_call_user(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

void backend_complete(struct backend_ring *ring, u16 head, u32 written)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	vqueue_push_used(&ring->v, head, written);
	vqueue_publish_used(&ring->v);
	ring_call_user(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}
