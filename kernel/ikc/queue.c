// SPDX-License-Identifier: GPL-2.0
/*
 * Queues: packets between kernels.
 *
 * Each kernel that may send to a queue has a ring of its own there, so a ring has
 * one producer and one consumer.  Where a kernel has many senders they meet at a
 * lock in that kernel's memory, which no other kernel can hold.
 *
 * The receiver makes the ring, owns its memory and names it in the port; the
 * sender attaches.  The receiver frees the ring when it has taken the name back
 * and nobody is attached: rx.c and tx.c have the two ends.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "local.h"

struct ikc_queue {
	const struct ikc_queue_ops *ops;
	void *context;
	u32 slots, slot_size;
	spinlock_t lock;		/* one reader at a time; guards below */
	unsigned int last;		/* who was read last */
	u32 senders;			/* bitmap of rx */
	struct ikc_rx *rx[IKC_MAX_KERNELS];
};

/* Changed under ikc_peers_mutex; doorbells and readers look under RCU. */
static struct ikc_queue __rcu *ikc_queues[IKC_QUEUES];

static struct ikc_queue *ikc_queue_held(unsigned int number)
{
	return rcu_dereference_protected(ikc_queues[number],
					 lockdep_is_held(&ikc_peers_mutex));
}

/**
 * ikc_queue_rang() - a kernel rang for a queue
 * @kernel: which
 * @number: of the queue
 *
 * Context: RCU; interrupt.
 */
void ikc_queue_rang(unsigned int kernel, unsigned int number)
{
	struct ikc_queue *queue = rcu_dereference(ikc_queues[number]);

	if (queue)
		queue->ops->notify(queue->context, kernel);
}

static void ikc_queue_add_sender(struct ikc_queue *queue, unsigned int number, unsigned int kernel)
{
	unsigned long flags;
	struct ikc_rx *rx;

	if (!queue->slots)
		return;		/* a doorbell only */
	rx = ikc_rx_create(kernel, number, queue->slots, queue->slot_size);
	if (IS_ERR(rx)) {
		pr_warn("no ring for kernel %u to queue %u: error %ld\n", kernel, number,
			PTR_ERR(rx));
		return;
	}
	spin_lock_irqsave(&queue->lock, flags);
	queue->rx[kernel] = rx;
	queue->senders |= BIT(kernel);
	spin_unlock_irqrestore(&queue->lock, flags);
	ikc_rx_publish(rx);
}

static void ikc_queue_remove_sender(struct ikc_queue *queue, unsigned int kernel)
{
	struct ikc_rx *rx = queue->rx[kernel];
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->rx[kernel] = NULL;
	queue->senders &= ~BIT(kernel);
	spin_unlock_irqrestore(&queue->lock, flags);
	if (rx)
		ikc_rx_destroy(rx);
}

/**
 * ikc_queues_peer() - a kernel came or went
 * @kernel: which
 * @up: it came.  What a dead one had sent and nobody read is gone
 *
 * Context: may sleep; ikc_peers_mutex.
 */
void ikc_queues_peer(unsigned int kernel, bool up)
{
	unsigned int number;

	lockdep_assert_held(&ikc_peers_mutex);
	if (!up)
		ikc_tx_detach_all(kernel);
	for (number = 0; number < IKC_QUEUES; number++) {
		struct ikc_queue *queue = ikc_queue_held(number);

		if (!queue)
			continue;
		if (up)
			ikc_queue_add_sender(queue, number, kernel);
		else
			ikc_queue_remove_sender(queue, kernel);
		if (queue->ops->peer)
			queue->ops->peer(queue->context, kernel, up);
	}
}

/**
 * ikc_queues_gone() - a kernel does not exist any more; it had been reported down
 * @kernel: which
 *
 * Context: may sleep; ikc_peers_mutex.
 */
void ikc_queues_gone(unsigned int kernel)
{
	unsigned int number;

	lockdep_assert_held(&ikc_peers_mutex);
	for (number = 0; number < IKC_QUEUES; number++) {
		struct ikc_queue *queue = ikc_queue_held(number);

		if (queue && queue->ops->gone)
			queue->ops->gone(queue->context, kernel);
	}
}

/**
 * ikc_queues_changed() - what failed before may succeed now: tell all readers
 *
 * Context: may sleep; ikc_peers_mutex.
 */
void ikc_queues_changed(void)
{
	unsigned int number;

	lockdep_assert_held(&ikc_peers_mutex);
	for (number = 0; number < IKC_QUEUES; number++) {
		struct ikc_queue *queue = ikc_queue_held(number);

		if (queue && queue->ops->changed)
			queue->ops->changed(queue->context);
	}
}

/**
 * ikc_queues_update() - make broken rings whose writer has let go anew, for the next writer
 *
 * Context: may sleep; ikc_peers_mutex.
 */
void ikc_queues_update(void)
{
	unsigned int number, kernel;

	lockdep_assert_held(&ikc_peers_mutex);
	for (number = 0; number < IKC_QUEUES; number++) {
		struct ikc_queue *queue = ikc_queue_held(number);

		for (kernel = 0; queue && kernel < IKC_MAX_KERNELS; kernel++) {
			struct ikc_rx *rx = queue->rx[kernel];

			if (!rx || !rx->ring.broken || ikc_rx_attached(rx))
				continue;
			ikc_queue_remove_sender(queue, kernel);
			ikc_queue_add_sender(queue, number, kernel);
		}
	}
}

/**
 * ikc_queue_open_any() - read a queue with messages of any kind
 * @number: of the queue, below IKC_QUEUES
 * @slots: of each sender's ring; 0: none
 * @slot_size: bytes, with the slot's header
 * @ops: what its reader wants to hear
 * @context: handed to @ops
 *
 * Context: may sleep.
 * Return: as ikc_queue_open().
 */
int ikc_queue_open_any(unsigned int number, u32 slots, u32 slot_size,
		       const struct ikc_queue_ops *ops, void *context)
{
	struct ikc_queue *queue;
	unsigned int kernel;
	int ret = 0;

	if (!ikc_attached())
		return -ENODEV;
	if (number >= IKC_QUEUES)
		return -EINVAL;
	if (slots && (!ikc_ring_bytes(slots, slot_size) ||
		      ikc_ring_bytes(slots, slot_size) > IKC_ALLOC_MAX))
		return -EINVAL;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	queue->ops = ops;
	queue->context = context;
	queue->slots = slots;
	queue->slot_size = slot_size;
	spin_lock_init(&queue->lock);

	mutex_lock(&ikc_peers_mutex);
	if (ikc_queue_held(number)) {
		ret = -EBUSY;
		kfree(queue);
		goto unlock;
	}
	rcu_assign_pointer(ikc_queues[number], queue);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		if (kernel != ikc_self.number && ikc_peer_life(kernel))
			ikc_queue_add_sender(queue, number, kernel);
unlock:
	mutex_unlock(&ikc_peers_mutex);
	return ret;
}

int ikc_queue_open(unsigned int number, unsigned int slots,
		   const struct ikc_queue_ops *ops, void *context)
{
	int ret;

	if (number >= IKC_FIRST_CHANNEL)
		return -EINVAL;
	ret = ikc_get();
	if (ret)
		return ret;
	ret = ikc_queue_open_any(number, slots,
				 ALIGN(sizeof(struct ikc_slot) + sizeof(struct ikc_packet), 64),
				 ops, context);
	if (ret)
		ikc_put();
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_queue_open);

void ikc_queue_close(unsigned int number)
{
	ikc_queue_close_any(number);
	ikc_put();
}
EXPORT_SYMBOL_GPL(ikc_queue_close);

/**
 * ikc_queue_close_any() - the counterpart of ikc_queue_open_any()
 * @number: of the queue
 *
 * Context: may sleep.  No callback runs any more when it returns.
 */
void ikc_queue_close_any(unsigned int number)
{
	struct ikc_queue *queue;
	unsigned int kernel;

	mutex_lock(&ikc_peers_mutex);
	queue = ikc_queue_held(number);
	RCU_INIT_POINTER(ikc_queues[number], NULL);
	mutex_unlock(&ikc_peers_mutex);
	synchronize_rcu();
	if (!queue)
		return;
	mutex_lock(&ikc_peers_mutex);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		ikc_queue_remove_sender(queue, kernel);
	mutex_unlock(&ikc_peers_mutex);
	kfree(queue);
}

/*
 * ---- reading ----
 *
 * Inline, so that each caller has code of its own: packets are copied as what has
 * one size, and checked without an indirect call.
 */

static __always_inline int ikc_queue_read_from(struct ikc_queue *queue, unsigned int kernel,
					       void *data, u32 size, u32 *len)
{
	struct ikc_rx *rx = queue->rx[kernel];
	int ret;

	if (rx->ring.broken)
		return -EBADMSG;
	ret = ikc_ring_read(&rx->ring, data, size, len);
	if (ret == -EBADMSG)
		ikc_rx_broken(rx);
	if (ret == -EMSGSIZE)	/* a packet has one size only */
		ikc_rx_break(rx, "a message too long");
	return ret;
}

/* Senders take turns: those behind the last one first. */
static __always_inline int ikc_queue_read_next(struct ikc_queue *queue, void *data, u32 size,
					       u32 *len, unsigned int *sender)
{
	u32 behind = queue->senders & ~(BIT(queue->last + 1) - 1);
	u32 rest = queue->senders & ~behind;

	while (behind | rest) {
		u32 *turn = behind ? &behind : &rest;

		*sender = __ffs(*turn);
		*turn &= *turn - 1;
		if (!ikc_queue_read_from(queue, *sender, data, size, len))
			return 0;
	}
	return -EAGAIN;
}

/* Take the next message; @check, if given, may find that it is nonsense. */
static __always_inline int ikc_queue_receive(unsigned int number, void *data, u32 size, u32 *len,
					     unsigned int *sender,
					     const char *(*check)(void *data, u32 len,
								  unsigned int sender))
{
	bool ring_back = false;
	struct ikc_queue *queue;
	unsigned long flags;
	const char *wrong;
	int ret = -EINVAL;

	if (number >= IKC_QUEUES)
		return ret;
	rcu_read_lock();
	queue = rcu_dereference(ikc_queues[number]);
	if (queue) {
		spin_lock_irqsave(&queue->lock, flags);
		do {
			ret = ikc_queue_read_next(queue, data, size, len, sender);
			wrong = !ret && check ? check(data, *len, *sender) : NULL;
			if (wrong)
				ikc_rx_break(queue->rx[*sender], wrong);
		} while (wrong);	/* at most once per sender: it is broken now */
		if (!ret) {
			queue->last = *sender;
			ring_back = ikc_must_ring_back(&queue->rx[*sender]->ring);
		}
		spin_unlock_irqrestore(&queue->lock, flags);
	}
	rcu_read_unlock();
	if (ring_back)
		ikc_ring_queues(*sender, BIT_ULL(number), number);
	return ret;
}

/**
 * ikc_receive() - take a message of any kind out of a queue
 * @number: of the queue
 * @data: gets it
 * @size: of @data, bytes
 * @len: gets the message's bytes
 * @sender: gets who sent it
 *
 * Context: any but NMI.
 * Return: as ikc_read().
 */
int ikc_receive(unsigned int number, void *data, u32 size, u32 *len, unsigned int *sender)
{
	return ikc_queue_receive(number, data, size, len, sender, NULL);
}

/* What is wrong with a packet; NULL: nothing. */
static const char *ikc_queue_check_packet(void *data, u32 len, unsigned int sender)
{
	struct ikc_packet *pkt = data;

	if (len != sizeof(*pkt))
		return "a message that is no packet";
	switch (pkt->flags) {
	case 0:
		return NULL;
	case IKC_DATA_SHARED:
		return ikc_heap_accept(&ikc_self.heap, pkt->data, pkt->size,
				       ikc_owner(sender, ikc_peer_life(sender))) ?
		       NULL : "a block that was not handed over";
	case IKC_DATA_PAGE:
		return ikc_peer_owns(sender, pkt->data, pkt->size) ?
		       NULL : "memory that is not the sender's";
	default:
		return "a packet with unknown flags";
	}
}

int ikc_read(struct ikc_packet *pkt, unsigned int number)
{
	unsigned int sender;
	u32 len;
	int ret = ikc_queue_receive(number, pkt, sizeof(*pkt), &len, &sender, ikc_queue_check_packet);

	if (!ret)
		pkt->sender = sender;
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_read);

bool ikc_queue_arm(unsigned int number)
{
	u32 back = 0;			/* kernels that wait for room */
	bool sleep = true;
	struct ikc_queue *queue;
	unsigned long flags;
	u32 senders;

	if (number >= IKC_QUEUES)
		return true;
	rcu_read_lock();
	queue = rcu_dereference(ikc_queues[number]);
	if (queue) {
		spin_lock_irqsave(&queue->lock, flags);
		for (senders = queue->senders; senders; senders &= senders - 1) {
			struct ikc_rx *rx = queue->rx[__ffs(senders)];

			if (rx->ring.broken)
				continue;
			if (!ikc_arm(&rx->ring))
				sleep = false;
			if (rx->ring.broken)
				ikc_rx_broken(rx);
			if (ikc_must_ring_back(&rx->ring))
				back |= BIT(rx->sender);
		}
		spin_unlock_irqrestore(&queue->lock, flags);
	}
	rcu_read_unlock();
	for (; back; back &= back - 1)
		ikc_ring_queues(__ffs(back), BIT_ULL(number), number);
	return sleep;
}
EXPORT_SYMBOL_GPL(ikc_queue_arm);
