// SPDX-License-Identifier: GPL-2.0
/*
 * Channels: what an open /dev/ikc is.  Two programs in two kernels, each with a
 * ring to read and the other's to write, both mapped; the kernels only connect
 * them, ring, and clean up.
 *
 * When the peer closes or dies, the mapping of its ring is replaced by a page of
 * scratch memory: the program writes on without harm until it looks at `closed`.
 */
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <shimos/compat.h>
#include <shimos/complaint.h>

#include "channel.h"
#include "local.h"

struct ikc_channel {
	struct list_head link;		/* ikc_peers_mutex */
	wait_queue_head_t wait;

	struct mutex mutex;		/* serialises OPEN, CONNECT, EVENTFD; may be held long */
	unsigned int peer, own, other;	/* kernel, queue numbers here and there */
	u32 life;			/* the peer's */
	/* set once, by release; what is beside them before them */
	struct ikc_rx *rx;		/* NULL: not open */
	u32 tx_offset, tx_bytes;
	struct ikc_tx *tx;		/* NULL: not connected */
	struct eventfd_ctx __rcu *eventfd;

	struct mutex fault_mutex;	/* guards gone against page faults */
	bool gone;			/* the peer; for good */
	struct page *scratch;
	struct address_space *mapping;
};

static LIST_HEAD(ikc_channels);		/* ikc_peers_mutex */
/* By who writes to us and by whom we write to; changed under ikc_peers_mutex. */
static struct ikc_channel __rcu *ikc_channel_readers[IKC_MAX_KERNELS][IKC_CHANNELS];
static struct ikc_channel __rcu *ikc_channel_writers[IKC_MAX_KERNELS][IKC_CHANNELS];

static struct ikc_rx *ikc_channel_opened(struct ikc_channel *ch)
{
	return smp_load_acquire(&ch->rx);	/* pairs with ikc_channel_open_locked() */
}

static struct ikc_tx *ikc_channel_connected(struct ikc_channel *ch)
{
	return smp_load_acquire(&ch->tx);	/* pairs with ikc_channel_connect_locked() */
}

static struct ikc_channel __rcu **ikc_channel_reader_at(unsigned int kernel, unsigned int queue)
{
	return &ikc_channel_readers[kernel][queue - IKC_FIRST_CHANNEL];
}

static struct ikc_channel __rcu **ikc_channel_writer_at(unsigned int kernel, unsigned int queue)
{
	return &ikc_channel_writers[kernel][queue - IKC_FIRST_CHANNEL];
}

static void ikc_channel_wake(struct ikc_channel *ch)
{
	struct eventfd_ctx *eventfd = rcu_dereference(ch->eventfd);

	if (eventfd)
		compat_eventfd_signal(eventfd);
	wake_up_interruptible_all(&ch->wait);
}

void ikc_channel_rang(unsigned int kernel, unsigned int queue)
{
	struct ikc_channel *ch;

	if (queue < IKC_FIRST_CHANNEL)
		return;
	ch = rcu_dereference(*ikc_channel_reader_at(kernel, queue));
	if (ch)
		ikc_channel_wake(ch);
	ch = rcu_dereference(*ikc_channel_writer_at(kernel, queue));
	if (ch)
		ikc_channel_wake(ch);
}

/* ---- the peer goes away ---- */

static void ikc_channel_hang_up(struct ikc_channel *ch)
{
	mutex_lock(&ch->fault_mutex);
	ch->gone = true;
	mutex_unlock(&ch->fault_mutex);
	/* known before the scratch page can be taken for nonsense */
	WRITE_ONCE(ch->rx->ring.ring->closed, 1);
	if (ch->tx) {
		/*
		 * All files of the device share a mapping: other channels fault
		 * their pages in again, which costs them a little.
		 */
		if (READ_ONCE(ch->mapping))
			unmap_mapping_range(ch->mapping, IKC_MMAP_SEND,
					    ch->tx_bytes, 1);
		RCU_INIT_POINTER(*ikc_channel_writer_at(ch->peer, ch->other), NULL);
		ikc_tx_detach(ch->tx, ch->peer, ch->other);
	}
	rcu_read_lock();
	ikc_channel_wake(ch);
	rcu_read_unlock();
}

void ikc_channels_update(void)
{
	struct ikc_channel *ch;

	lockdep_assert_held(&ikc_peers_mutex);
	list_for_each_entry(ch, &ikc_channels, link) {
		bool closed = ch->tx && ch->tx_offset !=
			READ_ONCE(ikc_port(ch->peer, ikc_self.number, ch->other)->ring);

		if (!ch->gone && (closed || ikc_peer_life(ch->peer) != ch->life))
			ikc_channel_hang_up(ch);
	}
}

/* ---- open, connect, close ---- */

struct ikc_channel *ikc_channel_new(void)
{
	struct ikc_channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);

	if (!ch)
		return NULL;
	INIT_LIST_HEAD(&ch->link);
	init_waitqueue_head(&ch->wait);
	mutex_init(&ch->mutex);
	mutex_init(&ch->fault_mutex);
	return ch;
}

/* ikc_peers_mutex: a free channel, or the one asked for; -EBUSY. */
static int ikc_channel_pick(unsigned int peer, u32 wanted)
{
	int channel;

	if (wanted != IKC_ANY_CHANNEL)
		return rcu_access_pointer(ikc_channel_readers[peer][wanted]) ? -EBUSY : (int)wanted;
	for (channel = IKC_ECHO_CHANNEL - 1; channel >= 0; channel--)
		if (!rcu_access_pointer(ikc_channel_readers[peer][channel]))
			return channel;
	return -EBUSY;
}

static int ikc_channel_open_locked(struct ikc_channel *ch, struct ikc_open *arg)
{
	struct ikc_rx *rx;
	int channel;

	lockdep_assert_held(&ikc_peers_mutex);
	channel = ikc_channel_pick(arg->peer, arg->channel);
	if (channel < 0)
		return channel;
	rx = ikc_rx_create(arg->peer, IKC_FIRST_CHANNEL + channel, arg->slots,
			   arg->slot_size);
	if (IS_ERR(rx))
		return PTR_ERR(rx);
	arg->channel = channel;
	ch->peer = arg->peer;
	ch->own = IKC_FIRST_CHANNEL + channel;
	ch->other = IKC_FIRST_CHANNEL + arg->peer_channel;
	ch->life = ikc_peer_life(arg->peer);
	smp_store_release(&ch->rx, rx);		/* pairs with ikc_channel_opened() */
	rcu_assign_pointer(*ikc_channel_reader_at(ch->peer, ch->own), ch);
	list_add_tail(&ch->link, &ikc_channels);
	ikc_rx_publish(rx);
	return 0;
}

/*
 * A program maps whole pages of the peer's ring: they may hold nothing else.  Both
 * kernels know each other's page size, so another ring is made by another version.
 */
static int ikc_channel_check_pages(const struct ikc_tx *tx)
{
	u64 bytes = ikc_ring_bytes(tx->ring.slots, tx->ring.slot_size);

	return tx->offset % PAGE_SIZE || PAGE_ALIGN(bytes) > tx->bytes ? -EOPNOTSUPP : 0;
}

/* Wait for memory, if the area has to grow first. */
static void ikc_channel_make_room(unsigned int peer, u64 bytes)
{
	ikc_free(ikc_alloc_wait(ALIGN(bytes, ikc_peer_page(peer))));
}

static int ikc_channel_check_open(const struct ikc_open *arg, struct complaint *c)
{
	u64 bytes = ikc_ring_bytes(arg->slots, arg->slot_size);

	if (arg->peer_channel >= IKC_CHANNELS ||
	    (arg->channel >= IKC_ECHO_CHANNEL && arg->channel != IKC_ANY_CHANNEL))
		return shimos_refuse(c, -EINVAL,
				     "channels of programs are 0 to %u; %u and %u were asked for",
				     IKC_ECHO_CHANNEL - 1, arg->channel, arg->peer_channel);
	if (!bytes)
		return shimos_refuse(c, -EINVAL,
				     "a ring of %u slots of %u bytes cannot be: at least %u slots, of %u to %u bytes in steps of %u",
				     arg->slots, arg->slot_size, IKC_MIN_SLOTS,
				     IKC_MIN_SLOT_SIZE, IKC_MAX_SLOT_SIZE, IKC_SLOT_ALIGN);
	if (bytes > IKC_ALLOC_MAX)
		return shimos_refuse(c, -ENOSPC, "the ring has %llu bytes; at most %u are given",
				     bytes, IKC_ALLOC_MAX);
	return 0;
}

int ikc_channel_open(struct ikc_channel *ch, struct ikc_open *arg, struct complaint *c)
{
	u64 bytes = ikc_ring_bytes(arg->slots, arg->slot_size);
	int ret;

	ret = ikc_channel_check_open(arg, c) ?: ikc_check_peer(arg->peer);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&ch->mutex))
		return -EINTR;
	if (ch->rx) {
		ret = -EBUSY;
		goto unlock;
	}
	/* the area has to stay as long as a program has it mapped */
	ret = ikc_get();
	if (ret)
		goto unlock;
	ikc_channel_make_room(arg->peer, bytes);
	mutex_lock(&ikc_peers_mutex);
	ret = ikc_check_peer(arg->peer) ?: ikc_channel_open_locked(ch, arg);
	mutex_unlock(&ikc_peers_mutex);
	if (ret)
		ikc_put();
unlock:
	mutex_unlock(&ch->mutex);
	return ret;
}

static int ikc_channel_connect_locked(struct ikc_channel *ch)
{
	struct ikc_tx *tx = ikc_tx_find(ch->peer, ch->other);
	unsigned long flags;
	int ret;

	lockdep_assert_held(&ikc_peers_mutex);
	if (ch->gone)
		return -EPIPE;
	ret = ikc_check_peer(ch->peer);
	if (ret)
		return ret;
	raw_spin_lock_irqsave(&tx->lock, flags);
	ret = tx->offset ? -EBUSY : ikc_tx_attach(tx, ch->peer, ch->other, ch);
	if (!ret) {
		ch->tx_offset = tx->offset;
		ch->tx_bytes = tx->bytes;
		ret = ikc_channel_check_pages(tx);
	}
	raw_spin_unlock_irqrestore(&tx->lock, flags);
	if (ret == -EOPNOTSUPP)
		ikc_tx_detach(tx, ch->peer, ch->other);
	if (!ret) {
		smp_store_release(&ch->tx, tx);		/* pairs with ikc_channel_connected() */
		rcu_assign_pointer(*ikc_channel_writer_at(ch->peer, ch->other), ch);
	}
	return ret;
}

static int ikc_channel_try_connect(struct ikc_channel *ch)
{
	int ret;

	mutex_lock(&ikc_peers_mutex);
	ret = ikc_channel_connect_locked(ch);
	mutex_unlock(&ikc_peers_mutex);
	return ret;
}

/* Is there an end to take, or will there never be? */
static bool ikc_channel_worth_a_try(struct ikc_channel *ch)
{
	return READ_ONCE(ch->gone) || ikc_check_peer(ch->peer) ||
	       ikc_tx_open(ch->peer, ch->other);
}

/* Wait until the peer has opened its end, and take it. */
static int ikc_channel_wait_and_connect(struct ikc_channel *ch, u32 timeout_ms)
{
	long left = msecs_to_jiffies(timeout_ms);
	int ret;

	if (!ch->rx)
		return -ENOTCONN;
	if (ch->tx)
		return 0;
	if (!ch->scratch)
		ch->scratch = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!ch->scratch)
		return -ENOMEM;
	for (;;) {
		ret = ikc_channel_try_connect(ch);
		if (ret != -ENOTCONN)
			return ret;
		if (!left)
			return -ETIME;
		/* woken after each look at the ports */
		left = wait_event_interruptible_timeout(ikc_changed, ikc_channel_worth_a_try(ch), left);
		if (left < 0)
			return -EINTR;
	}
}

int ikc_channel_connect(struct ikc_channel *ch, struct ikc_connect *arg,
			struct complaint *c)
{
	int ret;

	if (mutex_lock_interruptible(&ch->mutex))
		return -EINTR;
	ret = ikc_channel_wait_and_connect(ch, arg->timeout_ms);
	if (ret == -EOPNOTSUPP)
		shimos_refuse(c, ret,
			      "the ring of kernel %u does not fill whole pages of this kernel (%lu bytes): install the same release on both sides",
			      ch->peer, PAGE_SIZE);
	if (!ret) {
		arg->slots = ch->tx->ring.slots;
		arg->slot_size = ch->tx->ring.slot_size;
	}
	mutex_unlock(&ch->mutex);
	return ret;
}

void ikc_channel_free(struct ikc_channel *ch)
{
	struct eventfd_ctx *eventfd = rcu_access_pointer(ch->eventfd);

	if (ch->rx) {
		mutex_lock(&ikc_peers_mutex);
		list_del(&ch->link);
		RCU_INIT_POINTER(*ikc_channel_reader_at(ch->peer, ch->own), NULL);
		if (ch->tx && !ch->gone) {
			RCU_INIT_POINTER(*ikc_channel_writer_at(ch->peer, ch->other), NULL);
			ikc_tx_detach(ch->tx, ch->peer, ch->other);
		}
		ikc_rx_destroy(ch->rx);
		ikc_poke(ch->peer);
		mutex_unlock(&ikc_peers_mutex);
		synchronize_rcu();
		ikc_put();
	}
	if (eventfd)
		eventfd_ctx_put(eventfd);
	if (ch->scratch)
		__free_page(ch->scratch);
	kfree(ch);
}

/* ---- ringing and waiting ---- */

int ikc_channel_notify(struct ikc_channel *ch)
{
	if (!ikc_channel_connected(ch))
		return -ENOTCONN;
	if (READ_ONCE(ch->gone))
		return -EPIPE;
	/* packets for the peer's ring, or room in ours: it looks at both */
	ikc_ring_queues(ch->peer, BIT_ULL(ch->other) | BIT_ULL(ch->own), ch->other);
	return 0;
}

int ikc_channel_eventfd(struct ikc_channel *ch, int fd)
{
	struct eventfd_ctx *eventfd = NULL;

	if (fd >= 0) {
		eventfd = eventfd_ctx_fdget(fd);
		if (IS_ERR(eventfd))
			return PTR_ERR(eventfd);
	}
	if (mutex_lock_interruptible(&ch->mutex)) {
		if (eventfd)
			eventfd_ctx_put(eventfd);
		return -EINTR;
	}
	eventfd = rcu_replace_pointer(ch->eventfd, eventfd,
				      lockdep_is_held(&ch->mutex));
	mutex_unlock(&ch->mutex);
	synchronize_rcu();
	if (eventfd)
		eventfd_ctx_put(eventfd);
	return 0;
}

/* Is there a packet behind the position the program has published? */
static bool ikc_channel_has_packet(const struct ikc_rx *rx)
{
	u64 tail = READ_ONCE(rx->ring.ring->tail);
	u32 slots = rx->ring.slots, size = rx->ring.slot_size;
	const struct ikc_slot *slot;

	slot = (void *)ikc_first_slot(rx->ring.ring) + tail % slots * size;
	return READ_ONCE(slot->seq) == (u32)(tail + 1);
}

/* The same for room behind what it has written. */
static bool ikc_channel_has_room(struct ikc_channel *ch)
{
	struct ikc_ring *ring = ikc_pointer(ch->tx_offset);

	return READ_ONCE(ring->head) - READ_ONCE(ring->tail) < ch->tx->ring.slots;
}

__poll_t ikc_channel_poll(struct ikc_channel *ch, struct file *file, poll_table *table)
{
	struct ikc_rx *rx = ikc_channel_opened(ch);
	__poll_t events = 0;

	poll_wait(file, &ch->wait, table);
	if (!rx)
		return EPOLLERR;
	if (ikc_channel_has_packet(rx))
		events |= EPOLLIN | EPOLLRDNORM;
	/* who detaches takes this mutex first: the ring stays while we look */
	mutex_lock(&ch->fault_mutex);
	if (ch->gone)
		events |= EPOLLHUP;
	else if (ikc_channel_connected(ch) && ikc_channel_has_room(ch))
		events |= EPOLLOUT | EPOLLWRNORM;
	mutex_unlock(&ch->fault_mutex);
	return events;
}

/* ---- mapping ---- */

static unsigned long ikc_channel_pfn(u64 offset)
{
	return PHYS_PFN(ikc_self.physical[offset >> IKC_CHUNK_SHIFT] +
			offset % IKC_CHUNK_SIZE);
}

static vm_fault_t ikc_channel_fault(struct vm_fault *vmf)
{
	const unsigned long send = IKC_MMAP_SEND >> PAGE_SHIFT;
	struct ikc_channel *ch = vmf->vma->vm_private_data;
	unsigned long pfn;
	vm_fault_t ret;

	mutex_lock(&ch->fault_mutex);
	if (vmf->pgoff < send)
		pfn = ikc_channel_pfn(ch->rx->offset) + vmf->pgoff;
	else if (ch->gone)
		pfn = page_to_pfn(ch->scratch);
	else
		pfn = ikc_channel_pfn(ch->tx_offset) + vmf->pgoff - send;
	ret = vmf_insert_pfn(vmf->vma, vmf->address, pfn);
	mutex_unlock(&ch->fault_mutex);
	return ret;
}

static const struct vm_operations_struct ikc_channel_vm_ops = {
	.fault = ikc_channel_fault,
};

/* How much may be mapped from @start on: 0 if nothing lies there; -ENOTCONN. */
static s64 ikc_channel_mappable(struct ikc_channel *ch, u64 start)
{
	if (start == IKC_MMAP_RECEIVE) {
		if (!ikc_channel_opened(ch))
			return -ENOTCONN;
		return ch->rx->bytes;
	}
	if (start == IKC_MMAP_SEND) {
		if (!ikc_channel_connected(ch))
			return -ENOTCONN;
		return ch->tx_bytes;
	}
	return 0;
}

int ikc_channel_mmap(struct ikc_channel *ch, struct vm_area_struct *vma)
{
	s64 size = vma->vm_end - vma->vm_start;
	s64 room = ikc_channel_mappable(ch, (u64)vma->vm_pgoff << PAGE_SHIFT);

	if (room < 0)
		return room;
	if (size > room || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	WRITE_ONCE(ch->mapping, vma->vm_file->f_mapping);
	compat_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = ch;
	vma->vm_ops = &ikc_channel_vm_ops;
	return 0;
}
