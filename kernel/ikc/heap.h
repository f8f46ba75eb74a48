/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The allocator of the shared area (SHIMOS 2009, section 3.2), usable by all
 * kernels at once, from any context, without a lock.
 *
 * A chunk is cut into spans, a span into blocks of one size.  Each span has a
 * word that says what it is cut into, each block a tag that says whose it is;
 * both change by one compare-and-exchange.  These are the truth.  Bitmaps say
 * where to look: they may be wrong for a while, which costs a search and nothing
 * else.  So there is no state in which a kernel that stops for ever, at any
 * instruction, keeps another from going on; what it owned carries its name and
 * its life, and the host takes it back by that.
 */
#ifndef _IKC_HEAP_H
#define _IKC_HEAP_H

#include "atomics.h"

#ifdef __KERNEL__
#include <uapi/shimos_ikc.h>
#else
#include "shimos_ikc.h"
#endif

/* One kernel's view of the heap; all its CPUs share it. */
struct ikc_heap {
	struct ikc_chunk *chunk[IKC_MAX_CHUNKS];	/* where each is mapped */
	/* Both only grow. */
	__u32 mapped;		/* how many there are; others may give from all of them */
	__u32 chunks;		/* how many this kernel may give from */
	__u32 owner;		/* ikc_owner() of this kernel */
};

/* How many chunks this kernel may give from: all kernels have mapped them. */
static inline __u32 ikc_heap_chunks(const struct ikc_heap *heap)
{
	/* pairs with the release in ikc_area_use() */
	return smp_load_acquire(&heap->chunks);
}

/*
 * In how many chunks a block may lie.  More than ikc_heap_chunks() when others have
 * learned before this kernel that all have mapped a new one.
 */
static inline __u32 ikc_heap_mapped(const struct ikc_heap *heap)
{
	/* pairs with the release in ikc_area_map() */
	return smp_load_acquire(&heap->mapped);
}

/* Whose a block is: a kernel in one of its lives. */
static inline __u32 ikc_owner(__u32 kernel, __u32 life)
{
	return life << 16 | kernel << 8 | 2;
}

/*
 * A block on its way: still its sender's, so that it is not lost if the sender
 * dies before the message is out, but no longer for the sender to use.
 */
static inline __u32 ikc_in_flight(__u32 sender_owner, __u32 receiver)
{
	return sender_owner | receiver << 12 | 8;
}

/* Make a chunk out of zeroed memory; its first @reserved spans are never given. */
void ikc_chunk_init(struct ikc_chunk *chunk, unsigned int reserved);

/*
 * Allocate.  Returns the offset, or 0 if there is nothing left or @size is 0 or
 * above IKC_ALLOC_MAX.  Blocks of 4 KiB and more start at page boundaries.  The
 * contents are whatever they were.
 */
__u64 ikc_heap_alloc(struct ikc_heap *heap, __u64 size);

/*
 * Give a block back.  -EFAULT: @offset is no block, -EALREADY: it is free
 * already, -EPERM: it belongs to another kernel.
 */
int ikc_heap_free(struct ikc_heap *heap, __u64 offset);

/*
 * Send a block of this kernel on its way to kernel @receiver, before the message
 * that names it.  Errors as above.
 */
int ikc_heap_send(struct ikc_heap *heap, __u64 offset, __u32 receiver);

/* The message could not be sent: the block is this kernel's again, or -EPERM. */
int ikc_heap_unsend(struct ikc_heap *heap, __u64 offset, __u32 receiver);

/*
 * The message has come from @sender (an ikc_owner()): the block, of at least @size
 * bytes, becomes this kernel's.  False: it was not on its way from there to here.
 */
bool ikc_heap_accept(struct ikc_heap *heap, __u64 offset, __u64 size, __u32 sender);

/*
 * Kernel @receiver died: free what this kernel had on its way there.  Nothing more
 * may be sent there: the caller of ikc_heap_send() holds a lock that is taken, too,
 * before this is called, to let go of the receiver's rings.
 * Returns how many blocks that were.
 */
__u64 ikc_heap_recall(struct ikc_heap *heap, __u32 receiver);

/* Whose the block at @offset is (or ikc_in_flight()); 0: nobody's, or no block. */
__u32 ikc_heap_owner(struct ikc_heap *heap, __u64 offset);

/* Its size in bytes; 0 if @offset is no block. */
__u64 ikc_heap_size(struct ikc_heap *heap, __u64 offset);

/*
 * Take back what @owner, which does not run any more, has or had on its way, and
 * mend the hints it may have left wrong.  Returns how many blocks that were.  One caller at a time.
 */
__u64 ikc_heap_reclaim(struct ikc_heap *heap, __u32 owner);

/* Count the blocks that somebody owns, and their bytes. */
void ikc_heap_used(struct ikc_heap *heap, __u64 *blocks, __u64 *bytes);

#endif
