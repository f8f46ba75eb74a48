/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inter-kernel communication for kernel modules (SHIMOS 2009, sections 2 and 3):
 * packets, the shared area, doorbells.  docs/ikc.md explains how it works.
 *
 * Kernels are named by their number in the shared area; 0 is the host.
 */
#ifndef _SHIMOS_IKC_H
#define _SHIMOS_IKC_H

#include <linux/types.h>
#include <uapi/shimos_ikc.h>

struct module;

/* ---- packets (paper, section 3.3) ---- */

/**
 * struct ikc_queue_ops - what the reader of a queue wants to hear
 * @notify: @kernel rang for the queue: there may be packets, or room to write;
 *          interrupt context (a thread on PREEMPT_RT), may not sleep
 * @peer:   @kernel came up and can write to the queue, or is gone; may sleep;
 *          optional
 * @gone:   @kernel has been removed, its number may be another's soon; may sleep;
 *          optional
 * @changed: some kernel came, went, opened or closed a queue: what failed with
 *          -ENOTCONN or -EHOSTDOWN may succeed now; may sleep; optional
 *
 * Those that may sleep run with IKC's table of kernels locked: they may write
 * packets, but not open or close queues.
 */
struct ikc_queue_ops {
	void (*notify)(void *context, unsigned int kernel);
	void (*peer)(void *context, unsigned int kernel, bool up);
	void (*gone)(void *context, unsigned int kernel);
	void (*changed)(void *context);
};

/**
 * ikc_queue_open() - read a queue of this kernel
 * @queue: 0 to IKC_FIRST_CHANNEL - 1
 * @slots: packets of the ring that every other kernel gets to it; 0: none, the queue is a
 *	doorbell only, for ikc_ring()
 * @ops: what its reader wants to hear
 * @context: handed to @ops
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: somebody does already; -EINVAL, -ENOMEM; -ENODEV: this kernel takes no part
 * in IKC.
 */
int ikc_queue_open(unsigned int queue, unsigned int slots,
		   const struct ikc_queue_ops *ops, void *context);

/**
 * ikc_queue_close() - read it no more
 * @queue: of ikc_queue_open()
 *
 * Context: may sleep.  No callback runs any more when it returns.
 */
void ikc_queue_close(unsigned int queue);

/**
 * ikc_queue_wait() - wait until a kernel is up and reads a queue
 * @kernel: which
 * @queue: of that kernel
 * @timeout_ms: how long, in milliseconds
 *
 * Context: may sleep.
 * Return: 0, -ETIME, -EINTR, -EINVAL or -ENODEV.
 */
int ikc_queue_wait(unsigned int kernel, unsigned int queue, unsigned int timeout_ms);

/**
 * ikc_write() - put a packet into another kernel's queue
 * @pkt: the packet; with IKC_DATA_SHARED the block at @pkt->data changes hands: it is the
 *	receiver's if this returns 0
 * @kernel: whose queue
 * @queue: which
 *
 * Senders of this kernel may compete.  Nobody is woken: see ikc_notify().
 *
 * Context: any but NMI.
 * Return: 0; -EINVAL: no such kernel or queue, bad flags; -ENXIO: no such kernel now;
 * -EHOSTDOWN: it does not run; -ENOTCONN: nobody reads that queue there; -EAGAIN: the queue is
 * full; -EBADMSG: the reader wrote nonsense into it; -EPERM, -EFAULT, -EALREADY: the block is
 * not this kernel's to give.
 */
int ikc_write(const struct ikc_packet *pkt, unsigned int kernel, unsigned int queue);

/**
 * ikc_read() - take a packet out of a queue of this kernel
 * @pkt: gets it
 * @queue: which
 *
 * Senders take turns.  The sender's number and what flags say of the data have been checked: a
 * block is now this kernel's, a page is the sender's own.  A sender who writes nonsense is no
 * longer read.
 *
 * Context: any but NMI.
 * Return: 0; -EAGAIN: there is none; -EINVAL: the queue is not open.
 */
int ikc_read(struct ikc_packet *pkt, unsigned int queue);

/**
 * ikc_notify() - make a kernel look at its queue, if it wants to be told
 * @kernel: whose queue
 * @queue: which
 *
 * To be called after one or several ikc_write().
 *
 * Context: any but NMI.
 * Return: 1: the doorbell was rung; 0: there was no need; or as ikc_write().
 */
int ikc_notify(unsigned int kernel, unsigned int queue);

/**
 * ikc_ring() - ring for a queue without a packet
 * @kernel: whose queue
 * @queue: which
 *
 * What there is to see stands in memory that the two have agreed upon, and is written before.
 *
 * Context: any but NMI.
 * Return: 0, or as ikc_write() for a kernel that is not there.
 */
int ikc_ring(unsigned int kernel, unsigned int queue);

/**
 * ikc_queue_arm() - the queue is empty and its reader stops polling (paper, section 2.3)
 * @queue: of this kernel
 *
 * Context: any but NMI.
 * Return: true: the doorbell will ring for the next packet; false: read on, there is one.
 */
bool ikc_queue_arm(unsigned int queue);

/**
 * ikc_wait_for_room_in() - the queue is full and its writer wants to be told of room
 * @kernel: whose queue
 * @queue: which; the doorbell rings for the same one here
 *
 * A kernel that dies never rings: the @peer of struct ikc_queue_ops has to wake the writer, too.
 *
 * Context: any but NMI.
 * Return: true: it will ring when there is room; false: there is room, or none to wait for.
 */
bool ikc_wait_for_room_in(unsigned int kernel, unsigned int queue);

/* ---- the shared area (paper, sections 2.2.1 and 3.2) ---- */

/**
 * ikc_alloc() - take a block of the shared area
 * @size: bytes, at most IKC_ALLOC_MAX
 *
 * Context: any but NMI; never sleeps.
 * Return: the block, not cleared; NULL: too large, or nothing left: then the host adds memory,
 * and a later try may succeed.
 */
void *ikc_alloc(size_t size);

/**
 * ikc_free() - give back a block that this kernel owns
 * @block: one that it allocated, or one that came with a packet; NULL is none
 *
 * Anything else is refused with a warning and counted.
 *
 * Context: any but NMI; never sleeps.
 */
void ikc_free(void *block);

/**
 * ikc_offset() - what packets carry for a place in the area
 * @block: where this kernel has it mapped
 *
 * Context: any.
 * Return: an offset; 0: it is not in the area.
 */
u64 ikc_offset(const void *block);

/**
 * ikc_pointer() - where this kernel has mapped what a packet names
 * @offset: in the area; anything
 *
 * Context: any.
 * Return: an address; NULL: it is not in the area.
 */
void *ikc_pointer(u64 offset);

/* ---- page transfer (paper, section 2.2.2) ---- */

/**
 * ikc_map() - map memory of another kernel that came by IKC_DATA_PAGE
 * @kernel: whose it is, which keeps the pages until told
 * @physical: where
 * @size: bytes
 *
 * Context: may sleep.
 * Return: an address; NULL: it is not that kernel's, or no memory.
 */
void *ikc_map(unsigned int kernel, u64 physical, u32 size);

/**
 * ikc_unmap() - undo ikc_map()
 * @address: what it returned
 *
 * Context: may sleep.
 */
void ikc_unmap(void *address);

/**
 * ikc_peer_owns() - is this a kernel's own memory?
 * @kernel: which
 * @start: physical address
 * @size: bytes
 *
 * Context: any.
 */
bool ikc_peer_owns(unsigned int kernel, u64 start, u64 size);

/**
 * ikc_peer_ranges() - copy a kernel's memory ranges
 * @kernel: which
 * @range: gets them
 * @lasting: gets how many of them, from the first, stay the same for as long as it is up; the
 *	others may be gone at any time that this kernel does not hold its memory; may be NULL
 *
 * Of the host's, and only of those, parts may be partitions': ask ikc_peer_owns().
 *
 * Context: any.
 * Return: how many; 0: the kernel is not known.
 */
unsigned int ikc_peer_ranges(unsigned int kernel, struct ikc_range range[IKC_MAX_RANGES],
			     unsigned int *lasting);

/**
 * ikc_hold() - this kernel, or a device it drives, uses memory of another
 * @kernel: whose
 *
 * As long as it does, the memory is neither given to anybody else nor loaded with a new kernel,
 * even if @kernel ends.  Holds are counted.
 *
 * Context: any.
 * Return: 0; -EHOSTDOWN: it does not run; or as ikc_write() for a kernel that is not there.
 */
int ikc_hold(unsigned int kernel);

/**
 * ikc_unhold() - it uses it no more
 * @kernel: of ikc_hold()
 *
 * Context: any.
 */
void ikc_unhold(unsigned int kernel);

/* ---- kernels ---- */

/**
 * ikc_get() - keep this kernel a part of IKC: the area stays until ikc_put()
 *
 * An open queue does so by itself; who only writes or allocates has to ask.
 *
 * Context: may sleep.
 * Return: 0; -ENODEV: it takes no part.
 */
int ikc_get(void);

/**
 * ikc_put() - undo ikc_get()
 *
 * Context: any.
 */
void ikc_put(void);

/**
 * ikc_self_number() - this kernel's number
 *
 * Context: any.
 * Return: it, or -ENODEV: it takes no part.
 */
int ikc_self_number(void);

/**
 * ikc_kernel_name() - what the user calls a kernel, safe to print
 * @kernel: which
 * @name: gets it, filled up with zeros; empty: not known
 *
 * Context: any.
 */
void ikc_kernel_name(unsigned int kernel, char name[IKC_NAME_LEN]);

/**
 * ikc_kernel_cpus() - how many CPUs a kernel has
 * @kernel: which
 *
 * Context: any.
 * Return: how many; 0: not known.
 */
unsigned int ikc_kernel_cpus(unsigned int kernel);

/**
 * ikc_kernel_is_guarded() - does a kernel reach no memory but its own and the area?
 * @kernel: which
 *
 * Context: any.
 */
bool ikc_kernel_is_guarded(unsigned int kernel);

/**
 * ikc_kernel_is_confined() - do a kernel's PCI devices reach its own memory only?
 * @kernel: which
 *
 * Context: any.
 */
bool ikc_kernel_is_confined(unsigned int kernel);

/**
 * ikc_kernel_ready() - does a kernel take packets?
 * @kernel: which
 *
 * Context: any.
 */
bool ikc_kernel_ready(unsigned int kernel);

/**
 * ikc_kernel_stuck() - is a kernel over, but may it, or a device it drives, still write?
 * @kernel: which
 *
 * Then what it was given may not be used for anything else.
 *
 * Context: any.
 */
bool ikc_kernel_stuck(unsigned int kernel);

/* ---- for KLoader and the agent ---- */

/**
 * ikc_attach() - take part
 * @area: physical address of the area's first chunk
 * @number: this kernel's
 * @life: of it, not 0
 * @owner: until it detaches; while somebody uses IKC, it cannot be unloaded
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: it does already; -EINVAL, -ENOMEM; -EPROTO: that is no area, or one of
 * another release.
 */
int ikc_attach(u64 area, u32 number, u32 life, struct module *owner);

/**
 * ikc_detach() - take part no more
 *
 * Context: may sleep.  All queues and channels are closed.
 */
void ikc_detach(void);

/* ---- the control doorbell, between KLoader and an agent ---- */

/**
 * struct ikc_bell_user - somebody who wants to hear the control doorbell
 * @rang:  called in hard interrupt context each time it rings
 * @moved: the bell has another CPU or vector: a SHIMOS_BELL to be published anew;
 *         hard interrupt context, interrupts off
 */
struct ikc_bell_user {
	void (*rang)(void);
	void (*moved)(u64 place);
};

/**
 * ikc_bell_open() - hear the control doorbell: KLoader on the host, the agent in a partition
 * @user: the only one of this kernel
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: there is one.
 */
int ikc_bell_open(const struct ikc_bell_user *user);

/**
 * ikc_bell_close() - hear it no more
 *
 * Context: may sleep.  No callback runs any more when it returns.
 */
void ikc_bell_close(void);

/**
 * ikc_bell_get() - where this kernel's control doorbell is now
 *
 * Context: any.
 * Return: a SHIMOS_BELL.
 */
u64 ikc_bell_get(void);

/**
 * ikc_bell_ring() - ring a doorbell that a peer has published
 * @place: whether its CPU is that peer's is for the caller to know
 *
 * Context: any, NMI included.
 * Return: false: that is no bell.
 */
bool ikc_bell_ring(u64 place);

#endif
