/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: the rings that packets and messages go through.
 * Each field has one writer, named below.  kernel/ikc/ring.h has the code.
 */
#ifndef _UAPI_SHIMOS_IKC_RING_H
#define _UAPI_SHIMOS_IKC_RING_H

#include <linux/types.h>

#define IKC_RING_MAGIC		0x474e4952	/* "RING" */
#define IKC_RING_HEADER		256		/* bytes before the first slot */
#define IKC_RING_ALIGN		4096		/* where a ring may begin */

/**
 * struct ikc_ring - one direction of a queue
 * @magic: IKC_RING_MAGIC
 * @slots: how many there are
 * @slot_size: bytes, a multiple of 16
 * @closed: consumer's kernel: the producer is gone
 * @head: published before the producer waits
 * @room_event: ring when @tail passes this position
 * @tail: everything below is free again
 * @event: ring when this position has been written
 * @packets: written
 * @rung: doorbells
 * @saved: notifications that needed none
 * @full: writes that found no room
 *
 * It has a single producer and a single consumer, which may be kernels or user programs.
 * Positions count packets from 0 and never wrap; position n lies in slot n % slots.
 */
struct ikc_ring {
	/* the consumer's, constant; both sides keep copies they have checked */
	__u32 magic;
	__u32 slots;
	__u32 slot_size;
	__u32 closed;

	/* the producer's */
	__u64 head __attribute__((aligned(64)));
	__u64 room_event;

	/* the consumer's */
	__u64 tail __attribute__((aligned(64)));
	__u64 event;

	/* the producer's, for `shimos show`; nothing depends on them */
	__u64 packets __attribute__((aligned(64)));
	__u64 rung;
	__u64 saved;
	__u64 full;
};

/**
 * struct ikc_slot - one of a ring's
 * @seq: position + 1: written last, by the producer
 * @len: bytes of data
 * @data: the packet, or a program's message
 */
struct ikc_slot {
	__u32 seq;
	__u32 len;
	__u8 data[];
};

#endif
