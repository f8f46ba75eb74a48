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

/*
 * Read queue @queue (0 to IKC_FIRST_CHANNEL - 1) of this kernel: every other
 * kernel gets a ring of @slots packets to it, or none if @slots is 0: then the queue
 * is a doorbell only, for ikc_ring().  May sleep.  -EBUSY: somebody does already,
 * -EINVAL, -ENOMEM, -ENODEV: this kernel takes no part in IKC.
 */
int ikc_queue_open(unsigned int queue, unsigned int slots,
		   const struct ikc_queue_ops *ops, void *context);
/* Returns when no callback runs any more.  May sleep. */
void ikc_queue_close(unsigned int queue);

/*
 * Wait until @kernel is up and reads its queue @queue.  May sleep.  0, -ETIME,
 * -EINTR, -EINVAL or -ENODEV.
 */
int ikc_queue_wait(unsigned int kernel, unsigned int queue, unsigned int timeout_ms);

/**
 * ikc_write() - put a packet into queue @queue of @kernel
 *
 * Any context but NMI; senders of this kernel may compete.  With IKC_DATA_SHARED
 * the block at pkt->data changes hands: it is the receiver's if this returns 0.
 * Nobody is woken: see ikc_notify().
 *
 * Returns 0; -EINVAL: no such kernel or queue, bad flags; -ENXIO: no such kernel
 * now; -EHOSTDOWN: it does not run; -ENOTCONN: nobody reads that queue there;
 * -EAGAIN: the queue is full; -EBADMSG: the reader wrote nonsense into it;
 * -EPERM, -EFAULT, -EALREADY: the block is not this kernel's to give.
 */
int ikc_write(const struct ikc_packet *pkt, unsigned int kernel, unsigned int queue);

/**
 * ikc_read() - take a packet out of this kernel's queue @queue
 *
 * Any context but NMI.  Senders take turns.  The sender's number and what flags
 * say of the data have been checked: a block is now this kernel's, a page
 * is the sender's own.  Returns 0, -EAGAIN if there is none, -EINVAL if the queue
 * is not open.  A sender who writes nonsense is no longer read.
 */
int ikc_read(struct ikc_packet *pkt, unsigned int queue);

/**
 * ikc_notify() - make @kernel look at its queue @queue, if it wants to be told
 *
 * To be called after one or several ikc_write().  Any context but NMI.  Returns 1
 * if the doorbell was rung, 0 if there was no need, or as ikc_write().
 */
int ikc_notify(unsigned int kernel, unsigned int queue);

/*
 * Ring for @queue of @kernel without a packet: what there is to see stands in memory
 * that the two have agreed upon, and is written before.  Any context but NMI.
 * Returns 0, or as ikc_write() for a kernel that is not there.
 */
int ikc_ring(unsigned int kernel, unsigned int queue);

/*
 * The queue is empty and its reader stops polling.  True: the doorbell will ring
 * for the next packet.  False: read on, there is one.  (Paper, section 2.3.)
 */
bool ikc_queue_arm(unsigned int queue);

/*
 * The queue of @kernel is full.  True: the doorbell will ring for @queue here when
 * there is room.  False: there is room.
 */
bool ikc_wait_for_room_in(unsigned int kernel, unsigned int queue);

/* ---- the shared area (paper, sections 2.2.1 and 3.2) ---- */

/*
 * A block of the shared area, or NULL: too large (IKC_ALLOC_MAX), or nothing
 * left; then the host adds memory, and a later try may succeed.  Any context but
 * NMI, never sleeps.  Not cleared.
 */
void *ikc_alloc(size_t size);
/*
 * Give back a block that this kernel owns: one it allocated, or one that came
 * with a packet.  Anything else is refused with a warning and counted.
 */
void ikc_free(void *block);

/* Offsets are what packets carry.  0 and NULL for what is not in the area. */
u64 ikc_offset(const void *block);
void *ikc_pointer(u64 offset);

/* ---- page transfer (paper, section 2.2.2) ---- */

/*
 * Map memory of another kernel that came by IKC_DATA_PAGE; refuses (NULL) what is
 * not that kernel's.  May sleep.  The other kernel keeps the pages until told.
 */
void *ikc_map(unsigned int kernel, u64 physical, u32 size);
void ikc_unmap(void *address);

/* Is this @kernel's own memory?  Any context. */
bool ikc_peer_owns(unsigned int kernel, u64 start, u64 size);
/*
 * Copy @kernel's memory ranges; they stay the same for as long as it is up.  Of the
 * host's, and only of those, parts may be partitions': ask ikc_peer_owns().
 * Returns how many, 0 if the kernel is not known.  Any context.
 */
unsigned int ikc_peer_ranges(unsigned int kernel, struct ikc_range range[IKC_MAX_RANGES]);

/*
 * This kernel, or a device it drives, uses memory of @kernel: as long as it does,
 * the memory is neither given to anybody else nor loaded with a new kernel, even
 * if @kernel ends.  Holds are counted.  Any context.  -EHOSTDOWN: it does not run.
 */
int ikc_hold(unsigned int kernel);
void ikc_unhold(unsigned int kernel);

/* ---- kernels ---- */

/*
 * Keep this kernel a part of IKC: between the two, the area stays.  An open queue
 * does so by itself; who only writes or allocates has to ask.  -ENODEV: it takes
 * no part.
 */
int ikc_get(void);
void ikc_put(void);
/* This kernel's number; -ENODEV if it takes no part. */
int ikc_self_number(void);
/* What the user calls @kernel, safe to print; filled up with zeros.  Any context. */
void ikc_kernel_name(unsigned int kernel, char name[IKC_NAME_LEN]);
/* How many CPUs @kernel has; 0: not known.  Any context. */
unsigned int ikc_kernel_cpus(unsigned int kernel);
/* Does @kernel reach no memory but its own and the area?  Any context. */
bool ikc_kernel_is_guarded(unsigned int kernel);
/* Does @kernel take packets?  Any context. */
bool ikc_kernel_ready(unsigned int kernel);
/*
 * Is @kernel over, but may it, or a device it drives, still write to memory that it
 * was given?  Then what it was given may not be used for anything else.  Any context.
 */
bool ikc_kernel_stuck(unsigned int kernel);

/* ---- for KLoader and the agent ---- */

/*
 * Take part, as kernel @number in life @life, until @owner detaches; while
 * somebody uses IKC, @owner cannot be unloaded.  May sleep.
 */
int ikc_attach(u64 area, u32 number, u32 life, struct module *owner);
void ikc_detach(void);

/*
 * Make the area and attach as kernel 0.  @share is told of each chunk's physical address
 * before any other kernel hears of it, and may sleep.  May sleep.
 */
int ikc_host_init(struct module *owner, void (*share)(unsigned int chunk, u64 physical));
/* All other kernels are gone. */
void ikc_host_exit(void);
u64 ikc_host_area(void);		/* physical address of chunk 0 */
/*
 * A new kernel: its number, or -ENOSPC.  @cpu has the hardware ids of its CPUs; @bell is
 * the SHIMOS_BELL of one that has none of its own, else 0; @guarded: it reaches no memory
 * but its own and the area.
 */
int ikc_host_add(const char *name, const struct ikc_range *range, u32 ranges,
		 const u64 *cpu, u32 cpus, u64 bell, bool guarded);
void ikc_host_remove(u32 number);
/* One that was added with a bell has another; on return the host rings only that.  May sleep. */
void ikc_host_move_bell(u32 number, u64 bell);
/* Its CPUs are about to run; returns the number of this life. */
u32 ikc_host_up(u32 number);
/*
 * It does not run any more.  @stuck: not even that is sure, or its devices may still
 * write: nobody talks to it, and what it has is not taken back until this is called
 * again.  May sleep.
 */
void ikc_host_down(u32 number, bool stuck);

/*
 * Wait until nobody holds memory of kernel @number, which is down.  May sleep.
 * Returns -1, or the number of a kernel that held it all of the time.
 */
int ikc_host_wait_unheld(u32 number, unsigned int timeout_ms);

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

/* One user per kernel: KLoader on the host, the agent in a partition. */
int ikc_bell_open(const struct ikc_bell_user *user);
void ikc_bell_close(void);

/* Where this kernel's control doorbell is now: a SHIMOS_BELL.  Any context. */
u64 ikc_bell_get(void);

/*
 * Ring a doorbell that a peer has published.  Whether its CPU is that peer's is for
 * the caller to know.  Any context, NMI included.  Returns false if that is no bell.
 */
bool ikc_bell_ring(u64 place);

#endif
