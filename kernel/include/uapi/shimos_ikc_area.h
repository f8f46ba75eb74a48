/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: the table of kernels in chunk 0 of the area that
 * all of them share, and the ports, by which they find each other's rings.  Each
 * field has one writer, named below.
 */
#ifndef _UAPI_SHIMOS_IKC_AREA_H
#define _UAPI_SHIMOS_IKC_AREA_H

#include <linux/types.h>
#include "shimos_ikc_chunk.h"
#include "shimos_ikc_limits.h"

#define IKC_MAGIC		0x31434b49534f4d53ULL	/* "SMOSIKC1" */

/* Where things lie in chunk 0, in spans; span 0 of each chunk is its ikc_chunk. */
#define IKC_AREA_SPAN		1		/* struct ikc_area */
#define IKC_PORTS_SPAN		2		/* struct ikc_port[dst][src][queue] */
#define IKC_RESERVED_SPANS	6		/* of chunk 0 */

/**
 * struct ikc_range - a piece of a kernel's memory
 * @start: physical address
 * @size: bytes
 */
struct ikc_range {
	__u64 start;
	__u64 size;
};

/**
 * enum ikc_state - how a kernel is
 * @IKC_ABSENT: there is no such kernel
 * @IKC_DOWN: its CPUs stand still
 * @IKC_UP: its CPUs run
 * @IKC_STUCK: over, but may still write to any memory it was given
 */
enum ikc_state {
	IKC_ABSENT = 0,
	IKC_DOWN,
	IKC_UP,
	IKC_STUCK,
};

/* It sees its own memory and the area only, so it can serve nobody by page transfer. */
#define IKC_FACT_GUARDED	(1U << 0)
/* Its PCI devices reach its own memory only, and can read or write nobody else's. */
#define IKC_FACT_CONFINED	(1U << 1)

/**
 * struct ikc_facts - what KLoader says of a kernel
 * @name: NUL-terminated
 * @state: enum ikc_state
 * @life: counts starts, 1 to 65535, then from 1 again
 * @incarnation: counts the kernels that have had this number
 * @cpus: of @cpu; 0 for the host: all that are no other kernel's
 * @cpu: hardware ids: the APIC id on x86, MPIDR on arm64
 * @bell: SHIMOS_BELL, of one that shares a CPU of the host's; or 0
 * @ranges: of @range
 * @flags: IKC_FACT_*
 * @lasting: of @range, those that it has had since it started; the ones behind may go
 * @reserved: 0
 * @range: its memory, for page transfer
 *
 * The host goes by a copy of its own.
 */
struct ikc_facts {
	char name[IKC_NAME_LEN];
	__u32 state;
	__u32 life;
	__u32 incarnation;
	__u32 cpus;
	__u64 cpu[IKC_MAX_CPUS];
	__u64 bell;
	__u32 ranges;
	__u32 flags;
	__u32 lasting;
	__u32 reserved;
	struct ikc_range range[IKC_MAX_RANGES];
};

/**
 * struct ikc_pending - where one kernel looks for what one other has sent
 * @queues: bit per queue to look at: set by the sender, cleared by the receiver
 */
struct ikc_pending {
	__u64 queues __attribute__((aligned(64)));
};

/**
 * struct ikc_kernel - what a kernel says of itself, and what others tell it
 * @ready: life in which it joined
 * @version: IKC_VERSION
 * @chunks: how many it has mapped
 * @bells: of @bell
 * @holds: bitmap of kernels whose memory it uses
 * @page_size: of its CPUs: programs map whole pages
 * @resizes: it goes by this one, as counted in the area, and all before
 * @reserved: 0
 * @bell: SHIMOS_BELL
 * @events: counts reasons to look at the table and the ports anew
 * @pending: by sender
 */
struct ikc_kernel {
	/* the kernel's own */
	__u32 ready __attribute__((aligned(64)));
	__u32 version;
	__u32 chunks;
	__u32 bells;
	__u32 holds;
	__u32 page_size;
	__u32 resizes;
	__u32 reserved;
	__u64 bell[IKC_MAX_BELLS];

	/* anybody's */
	__u32 events __attribute__((aligned(64)));

	struct ikc_pending pending[IKC_MAX_KERNELS];
};

/**
 * struct ikc_area - the table, at IKC_AREA_SPAN
 * @magic: IKC_MAGIC
 * @version: IKC_VERSION
 * @size: sizeof(struct ikc_area)
 * @chunks: how many exist
 * @usable: how many all kernels have mapped
 * @resizes: counts changes of the memory of kernels that run
 * @reserved: 0
 * @chunk: physical addresses
 * @wanted: the allocator found nothing, the host shall add a chunk
 * @facts: by kernel number
 * @kernel: by kernel number
 */
struct ikc_area {
	/* KLoader's */
	__u64 magic;
	__u32 version;
	__u32 size;
	__u32 chunks;
	__u32 usable;
	__u32 resizes;
	__u32 reserved;
	__u64 chunk[IKC_MAX_CHUNKS];

	/* anybody's */
	__u32 wanted __attribute__((aligned(64)));

	/* KLoader's */
	struct ikc_facts facts[IKC_MAX_KERNELS];

	struct ikc_kernel kernel[IKC_MAX_KERNELS];
};

/**
 * struct ikc_port - where the packets from one kernel for one queue of another go
 * @ring: the receiver's: offset, 0: not open
 * @life: the receiver's: of the sender it is for
 * @attached: the sender's: offset of the ring it uses, or 0
 * @broken: the receiver's: it saw nonsense in this ring
 *
 * The receiver makes the ring and names it here, for one life of the sender.  The sender says that
 * it uses it; as long as it does the ring's memory is not given away.
 */
struct ikc_port {
	__u32 ring;
	__u32 life;
	__u32 attached;
	__u32 broken;
};

#endif
