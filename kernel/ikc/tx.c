// SPDX-License-Identifier: GPL-2.0
/*
 * The writing end of a ring: attaching to what the receiver has named in the
 * port, writing, ringing, letting go.
 */
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "local.h"

/* All writing ends to one kernel; made when first needed, kept until detach. */
static struct ikc_tx *ikc_tx_table[IKC_MAX_KERNELS];

static __always_inline struct ikc_tx *ikc_tx_at(unsigned int kernel, unsigned int queue)
{
	/* pairs with the release in ikc_tx_prepare() */
	struct ikc_tx *table = smp_load_acquire(&ikc_tx_table[kernel]);

	return table ? &table[queue] : NULL;
}

/**
 * ikc_tx_find() - the writing end for a queue of a kernel
 * @kernel: below IKC_MAX_KERNELS
 * @queue: below IKC_QUEUES
 *
 * Context: any.
 * Return: it, or NULL: the kernel was never up.
 */
struct ikc_tx *ikc_tx_find(unsigned int kernel, unsigned int queue)
{
	return ikc_tx_at(kernel, queue);
}

/**
 * ikc_tx_prepare() - a kernel is up, maybe for the first time: make all its ends
 * @kernel: which
 *
 * Context: may sleep; ikc_peers_mutex.
 * Return: 0 or -ENOMEM.
 */
int ikc_tx_prepare(unsigned int kernel)
{
	struct ikc_tx *table;
	unsigned int queue;

	lockdep_assert_held(&ikc_peers_mutex);
	if (ikc_tx_table[kernel])
		return 0;
	table = kvcalloc(IKC_QUEUES, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (queue = 0; queue < IKC_QUEUES; queue++)
		raw_spin_lock_init(&table[queue].lock);
	/* pairs with the acquire in ikc_tx_at() */
	smp_store_release(&ikc_tx_table[kernel], table);
	return 0;
}

/**
 * ikc_tx_open() - is a kernel up, and has it named a ring to a queue for this kernel?
 * @kernel: which
 * @queue: of that kernel
 *
 * Context: any.
 */
bool ikc_tx_open(unsigned int kernel, unsigned int queue)
{
	struct ikc_port *port = ikc_port(kernel, ikc_self.number, queue);

	return !ikc_check_peer(kernel) && READ_ONCE(port->ring) &&
	       READ_ONCE(port->life) == ikc_self.life;
}

int ikc_queue_wait(unsigned int kernel, unsigned int queue, unsigned int timeout_ms)
{
	long left;

	if (!ikc_attached())
		return -ENODEV;
	if (kernel >= IKC_MAX_KERNELS || kernel == ikc_self.number || queue >= IKC_QUEUES)
		return -EINVAL;
	/* woken after each look at the table and the ports */
	left = wait_event_interruptible_timeout(ikc_changed, ikc_tx_open(kernel, queue),
						msecs_to_jiffies(timeout_ms));
	return left < 0 ? -EINTR : left ? 0 : -ETIME;
}
EXPORT_SYMBOL_GPL(ikc_queue_wait);

/**
 * ikc_tx_attach() - take the ring that the receiver has named
 * @tx: of ikc_tx_find(), not attached
 * @kernel: the receiver
 * @queue: of it
 * @user: the program that it is for; NULL: the kernel
 *
 * Context: any but NMI; @tx->lock is held.
 * Return: 0; -ENOTCONN: it has named none; -EPROTO: what it named is no ring.
 */
int ikc_tx_attach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue,
		  struct ikc_channel *user)
{
	struct ikc_port *port = ikc_port(kernel, ikc_self.number, queue);
	/* pairs with the release in ikc_rx_publish() */
	u32 offset = smp_load_acquire(&port->ring);
	u64 bytes;
	int ret;

	lockdep_assert_held(&tx->lock);
	if (!offset || READ_ONCE(port->life) != ikc_self.life)
		return -ENOTCONN;
	WRITE_ONCE(port->attached, offset);
	smp_mb();	/* pairs with the one in ikc_rx_destroy() */
	if (READ_ONCE(port->ring) != offset) {
		ret = -ENOTCONN;
		goto let_go;
	}
	bytes = ikc_heap_size(&ikc_self.heap, offset);
	ret = -EPROTO;
	if (bytes >= IKC_RING_ALIGN && !(offset % IKC_RING_ALIGN) &&
	    ikc_heap_owner(&ikc_self.heap, offset) ==
	    ikc_owner(kernel, ikc_peer_life(kernel)))
		ret = ikc_producer_init(&tx->ring, ikc_pointer(offset), bytes);
	if (ret)
		goto let_go;
	tx->offset = offset;
	tx->bytes = bytes;
	tx->user = user;
	tx->complained = false;
	/* for what an earlier writer may have left in the ring without a word */
	if (ikc_must_ring(&tx->ring))
		ikc_ring_queues(kernel, BIT_ULL(queue), queue);
	return 0;

let_go:
	/* as in ikc_tx_detach() */
	smp_store_release(&port->attached, 0);
	ikc_poke(kernel);	/* the receiver may wait for it */
	return ret;
}

/**
 * ikc_tx_detach() - let go of it
 * @tx: attached or not; no program maps it any more
 * @kernel: the receiver
 * @queue: of it
 *
 * Context: any but NMI.
 */
void ikc_tx_detach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue)
{
	struct ikc_port *port = ikc_port(kernel, ikc_self.number, queue);
	unsigned long flags;
	bool was;

	raw_spin_lock_irqsave(&tx->lock, flags);
	was = tx->offset;
	tx->offset = 0;
	tx->user = NULL;
	if (was)	/* pairs with the acquire in ikc_rx_attached(), who may then free the ring */
		smp_store_release(&port->attached, 0);
	raw_spin_unlock_irqrestore(&tx->lock, flags);
	if (was) {
		ikc_poke(kernel);
		ikc_poke(0);	/* who may be waiting to take a dead one's back */
	}
}

static bool ikc_tx_is_stale(const struct ikc_tx *tx, unsigned int kernel, unsigned int queue)
{
	return tx->offset && tx->offset !=
	       READ_ONCE(ikc_port(kernel, ikc_self.number, queue)->ring);
}

/**
 * ikc_tx_update() - let go of rings that are closed; channels do it themselves
 *
 * Context: ikc_peers_mutex.
 */
void ikc_tx_update(void)
{
	unsigned int kernel, queue;

	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		for (queue = 0; ikc_tx_table[kernel] && queue < IKC_QUEUES; queue++) {
			struct ikc_tx *tx = &ikc_tx_table[kernel][queue];

			if (!tx->user && ikc_tx_is_stale(tx, kernel, queue))
				ikc_tx_detach(tx, kernel, queue);
		}
}

/**
 * ikc_tx_detach_all() - a kernel is gone: let go of its rings, but for programs'
 * @kernel: which
 *
 * Context: ikc_peers_mutex.
 */
void ikc_tx_detach_all(unsigned int kernel)
{
	unsigned int queue;

	for (queue = 0; ikc_tx_table[kernel] && queue < IKC_QUEUES; queue++) {
		struct ikc_tx *tx = &ikc_tx_table[kernel][queue];

		if (tx->offset && !tx->user)
			ikc_tx_detach(tx, kernel, queue);
	}
}

/**
 * ikc_tx_exit() - free all ends
 *
 * Context: may sleep; nobody writes any more.
 */
void ikc_tx_exit(void)
{
	unsigned int kernel;

	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++) {
		kvfree(ikc_tx_table[kernel]);
		ikc_tx_table[kernel] = NULL;
	}
}

/*
 * ---- writing ----
 *
 * Inline, so that each caller has code of its own: packets are copied as what has
 * one size.
 */

/* The writing end for a queue of @kernel, or an error. */
static __always_inline struct ikc_tx *ikc_tx_find_end(unsigned int kernel, unsigned int queue)
{
	struct ikc_tx *tx = NULL;
	int ret;

	if (ikc_attached() && kernel < IKC_MAX_KERNELS && queue < IKC_QUEUES)
		tx = ikc_tx_at(kernel, queue);
	if (likely(tx))
		return tx;
	ret = ikc_check_peer(kernel);
	if (!ret)	/* or it is about to be known */
		ret = queue >= IKC_QUEUES ? -EINVAL : -EHOSTDOWN;
	return ERR_PTR(ret);
}

/*
 * The reader closed the ring: what was written there now would get lost.  Caller
 * holds tx->lock.
 */
static void ikc_tx_drop_stale(struct ikc_tx *tx, unsigned int kernel, unsigned int queue)
{
	if (!ikc_tx_is_stale(tx, kernel, queue))
		return;
	tx->offset = 0;
	/* as in ikc_tx_detach() */
	smp_store_release(&ikc_port(kernel, ikc_self.number, queue)->attached, 0);
	ikc_poke(kernel);
}

/* Caller holds tx->lock: the kernel is up and may be written to. */
static __always_inline int ikc_tx_get_attached(struct ikc_tx *tx, unsigned int kernel,
					       unsigned int queue)
{
	/* under the lock: who forgets a peer detaches after that */
	int ret = likely(ikc_peer_is_up(kernel)) ? 0 : ikc_check_peer(kernel);

	if (ret)
		return ret;
	if (tx->user)
		return -EBUSY;
	ikc_tx_drop_stale(tx, kernel, queue);
	return tx->offset ? 0 : ikc_tx_attach(tx, kernel, queue, NULL);
}

static void ikc_tx_complain(struct ikc_tx *tx, unsigned int kernel, unsigned int queue)
{
	if (!tx->complained)
		pr_warn("queue %u of kernel %u is broken: its reader wrote nonsense into the ring\n",
			queue, kernel);
	tx->complained = true;
}

/*
 * Write a message and, if @block is not 0, send that block on its way.  Both under
 * the lock: who forgets a dead receiver detaches under it, and then recalls what
 * is on its way there.
 */
static __always_inline int ikc_tx_send(unsigned int kernel, unsigned int queue, const void *data,
				       u32 len, u64 block)
{
	struct ikc_tx *tx = ikc_tx_find_end(kernel, queue);
	unsigned long flags;
	int ret;

	if (IS_ERR(tx))
		return PTR_ERR(tx);
	raw_spin_lock_irqsave(&tx->lock, flags);
	ret = ikc_tx_get_attached(tx, kernel, queue);
	/* on its way before the receiver can hear of it */
	if (!ret && block)
		ret = ikc_heap_send(&ikc_self.heap, block, kernel);
	if (ret)
		goto unlock;
	ret = ikc_ring_write(&tx->ring, data, len);
	if (ret && block)
		ikc_heap_unsend(&ikc_self.heap, block, kernel);
	if (ret == -EBADMSG)
		ikc_tx_complain(tx, kernel, queue);
unlock:
	raw_spin_unlock_irqrestore(&tx->lock, flags);
	return ret;
}

/**
 * ikc_send() - put a message of any kind into a queue
 * @kernel: whose
 * @queue: which
 * @data: the message
 * @len: its bytes
 *
 * Context: any but NMI.
 * Return: as ikc_write(); -EMSGSIZE: it does not fit into a slot.
 */
int ikc_send(unsigned int kernel, unsigned int queue, const void *data, u32 len)
{
	return ikc_tx_send(kernel, queue, data, len, 0);
}

int ikc_write(const struct ikc_packet *pkt, unsigned int kernel, unsigned int queue)
{
	bool shared = pkt->flags == IKC_DATA_SHARED;

	if (kernel >= IKC_MAX_KERNELS || queue >= IKC_FIRST_CHANNEL ||
	    pkt->flags & ~(IKC_DATA_SHARED | IKC_DATA_PAGE) ||
	    pkt->flags == (IKC_DATA_SHARED | IKC_DATA_PAGE))
		return -EINVAL;
	if (shared && !pkt->data)
		return -EFAULT;
	return ikc_tx_send(kernel, queue, pkt, sizeof(*pkt), shared ? pkt->data : 0);
}
EXPORT_SYMBOL_GPL(ikc_write);

int ikc_notify(unsigned int kernel, unsigned int queue)
{
	struct ikc_tx *tx = ikc_tx_find_end(kernel, queue);
	unsigned long flags;
	bool ring;
	int ret;

	if (IS_ERR(tx))
		return PTR_ERR(tx);
	raw_spin_lock_irqsave(&tx->lock, flags);
	ret = ikc_tx_get_attached(tx, kernel, queue);
	ring = !ret && ikc_must_ring(&tx->ring);
	raw_spin_unlock_irqrestore(&tx->lock, flags);
	if (ring)
		ikc_ring_queues(kernel, BIT_ULL(queue), queue);
	return ret ?: ring;
}
EXPORT_SYMBOL_GPL(ikc_notify);

int ikc_ring(unsigned int kernel, unsigned int queue)
{
	int ret = ikc_check_peer(kernel);

	if (!ret && queue < IKC_QUEUES)
		ikc_ring_queues(kernel, BIT_ULL(queue), queue);
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_ring);

bool ikc_wait_for_room_in(unsigned int kernel, unsigned int queue)
{
	struct ikc_tx *tx = ikc_tx_find_end(kernel, queue);
	bool sleep = false, ring = false;
	unsigned long flags;

	if (IS_ERR(tx))
		return false;
	raw_spin_lock_irqsave(&tx->lock, flags);
	if (!ikc_tx_get_attached(tx, kernel, queue)) {
		/* the reader must know of what is there, else both would wait */
		ring = ikc_must_ring(&tx->ring);
		sleep = ikc_wait_for_room(&tx->ring);
	}
	raw_spin_unlock_irqrestore(&tx->lock, flags);
	if (ring)
		ikc_ring_queues(kernel, BIT_ULL(queue), queue);
	return sleep;
}
EXPORT_SYMBOL_GPL(ikc_wait_for_room_in);
