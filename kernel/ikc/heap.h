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

/**
 * struct ikc_heap - one kernel's view of the heap; all its CPUs share it
 * @chunk: where each is mapped
 * @mapped: how many there are; others may give from all of them.  Only grows
 * @chunks: how many this kernel may give from.  Only grows
 * @owner: ikc_owner() of this kernel
 */
struct ikc_heap {
	struct ikc_chunk *chunk[IKC_MAX_CHUNKS];
	__u32 mapped;
	__u32 chunks;
	__u32 owner;
};

/**
 * ikc_heap_chunks() - how many chunks this kernel may give from: all kernels have mapped them
 * @heap: this kernel's
 */
static inline __u32 ikc_heap_chunks(const struct ikc_heap *heap)
{
	/* pairs with the release in ikc_area_use() */
	return smp_load_acquire(&heap->chunks);
}

/**
 * ikc_heap_mapped() - in how many chunks a block may lie
 * @heap: this kernel's
 *
 * More than ikc_heap_chunks() when others have learned before this kernel that all have mapped a
 * new one.
 */
static inline __u32 ikc_heap_mapped(const struct ikc_heap *heap)
{
	/* pairs with the release in ikc_area_map() */
	return smp_load_acquire(&heap->mapped);
}

/**
 * ikc_owner() - whose a block is: a kernel in one of its lives
 * @kernel: its number
 * @life: not 0
 */
static inline __u32 ikc_owner(__u32 kernel, __u32 life)
{
	return life << 16 | kernel << 8 | 2;
}

/**
 * ikc_in_flight() - whose a block on its way is
 * @sender_owner: ikc_owner() of its sender
 * @receiver: the other kernel's number
 *
 * Still its sender's, so that it is not lost if the sender dies before the message is out, but
 * no longer for the sender to use.
 */
static inline __u32 ikc_in_flight(__u32 sender_owner, __u32 receiver)
{
	return sender_owner | receiver << 12 | 8;
}

/**
 * ikc_chunk_init() - make a chunk
 * @chunk: zeroed memory
 * @reserved: its first spans, which are never given
 *
 * Context: any; nobody else knows it.
 */
void ikc_chunk_init(struct ikc_chunk *chunk, unsigned int reserved);

/**
 * ikc_heap_alloc() - allocate a block
 * @heap: this kernel's
 * @size: bytes
 *
 * Blocks of 4 KiB and more start at page boundaries.  The contents are whatever they were.
 *
 * Context: any, without a lock.
 * Return: the offset, or 0: nothing is left, or @size is 0 or above IKC_ALLOC_MAX.
 */
__u64 ikc_heap_alloc(struct ikc_heap *heap, __u64 size);

/**
 * ikc_heap_free() - give a block back
 * @heap: this kernel's
 * @offset: of the block; anything
 *
 * Context: any, without a lock.
 * Return: 0; -EFAULT: @offset is no block; -EALREADY: it is free already; -EPERM: it belongs to
 * another kernel.
 */
int ikc_heap_free(struct ikc_heap *heap, __u64 offset);

/**
 * ikc_heap_send() - send a block of this kernel on its way, before the message that names it
 * @heap: this kernel's
 * @offset: of the block
 * @receiver: the other kernel's number
 *
 * Context: any; see ikc_heap_recall().
 * Return: as ikc_heap_free().
 */
int ikc_heap_send(struct ikc_heap *heap, __u64 offset, __u32 receiver);

/**
 * ikc_heap_unsend() - the message could not be sent: the block is this kernel's again
 * @heap: this kernel's
 * @offset: of the block
 * @receiver: as ikc_heap_send() had it
 *
 * Context: any, without a lock.
 * Return: 0 or -EPERM.
 */
int ikc_heap_unsend(struct ikc_heap *heap, __u64 offset, __u32 receiver);

/**
 * ikc_heap_accept() - the message has come: the block becomes this kernel's
 * @heap: this kernel's
 * @offset: as the message says; anything
 * @size: bytes that it has at least
 * @sender: its ikc_owner()
 *
 * Context: any, without a lock.
 * Return: false: it was not on its way from there to here.
 */
bool ikc_heap_accept(struct ikc_heap *heap, __u64 offset, __u64 size, __u32 sender);

/**
 * ikc_heap_recall() - a kernel died: free what this kernel had on its way there
 * @heap: this kernel's
 * @receiver: the dead one's number
 *
 * Nothing more may be sent there: the caller of ikc_heap_send() holds a lock that is taken, too,
 * before this is called, to let go of the receiver's rings.
 *
 * Context: any; long.
 * Return: how many blocks that were.
 */
__u64 ikc_heap_recall(struct ikc_heap *heap, __u32 receiver);

/**
 * ikc_heap_owner() - whose a block is
 * @heap: this kernel's
 * @offset: of the block; anything
 *
 * Context: any, without a lock.
 * Return: an ikc_owner(), or ikc_in_flight(); 0: nobody's, or no block.
 */
__u32 ikc_heap_owner(struct ikc_heap *heap, __u64 offset);

/**
 * ikc_heap_size() - how large a block is
 * @heap: this kernel's
 * @offset: of the block; anything
 *
 * Context: any, without a lock.
 * Return: bytes; 0: @offset is no block.
 */
__u64 ikc_heap_size(struct ikc_heap *heap, __u64 offset);

/**
 * ikc_heap_reclaim() - take back what a dead kernel has or had on its way
 * @heap: the host's
 * @owner: which does not run any more
 *
 * Mends the hints that it may have left wrong.
 *
 * Context: one caller at a time; long.
 * Return: how many blocks that were.
 */
__u64 ikc_heap_reclaim(struct ikc_heap *heap, __u32 owner);

/**
 * ikc_heap_used() - count the blocks that somebody owns
 * @heap: this kernel's
 * @blocks: gets how many
 * @bytes: gets their bytes
 *
 * Context: any; long.  They may change meanwhile.
 */
void ikc_heap_used(struct ikc_heap *heap, __u64 *blocks, __u64 *bytes);

#endif
