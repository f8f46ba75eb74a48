/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: what lies in the area that all kernels share, and
 * the ioctl interface of /dev/ikc.
 *
 * The area consists of chunks of IKC_CHUNK_SIZE bytes.  A place in it is named
 * by its offset: chunk number * IKC_CHUNK_SIZE + byte; no kernel's pointers are
 * inside.  Each field has one writer, named below.  docs/ikc.md explains the
 * protocol.
 */
#ifndef _UAPI_SHIMOS_IKC_H
#define _UAPI_SHIMOS_IKC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IKC_MAGIC		0x31434b49534f4d53ULL	/* "SMOSIKC1" */
#define IKC_VERSION		3

#define IKC_MAX_KERNELS		16	/* kernel 0 is the host */
#define IKC_QUEUES		64	/* per kernel; see below */
#define IKC_CHANNELS		32	/* the upper half is user programs' */
#define IKC_FIRST_CHANNEL	(IKC_QUEUES - IKC_CHANNELS)
#define IKC_MAX_BELLS		8
#define IKC_MAX_RANGES		16
#define IKC_MAX_CPUS		64	/* of one kernel */
#define IKC_NAME_LEN		32	/* with the final NUL */
#define IKC_HOST_NAME		"host"	/* kernel 0; no partition is called so */

/* ---- packets ---- */

/*
 * A packet (SHIMOS 2009, figure 3).  The paper's fields, with `data` as wide as
 * an address and a length beside it.
 */
struct ikc_packet {
	__u16 cmd;		/* NetworkPacket, BlockRead, …: the queue's users agree */
	__u16 sender;		/* kernel number; ikc_read() fills in the true one */
	__u32 flags;		/* IKC_DATA_* */
	__u32 param[6];		/* depends on cmd */
	__u64 data;		/* offset or physical address, see flags */
	__u32 size;		/* bytes at data */
	__u32 reserved;
};

/* Shared-memory transfer (section 2.2.1): a block of the area changes hands. */
#define IKC_DATA_SHARED		(1U << 0)
/* Page transfer (section 2.2.2): the sender's own memory, physical address. */
#define IKC_DATA_PAGE		(1U << 1)

/* ---- rings ---- */

#define IKC_RING_MAGIC		0x474e4952	/* "RING" */
#define IKC_RING_HEADER		256		/* bytes before the first slot */
#define IKC_RING_ALIGN		4096		/* where a ring may begin */

/*
 * One direction of a queue: a single producer and a single consumer, which may
 * be kernels or user programs.  Positions count packets from 0 and never wrap;
 * position n lies in slot n % slots.  kernel/ikc/ring.h has the code.
 */
struct ikc_ring {
	/* the consumer's, constant; both sides keep copies they have checked */
	__u32 magic;		/* IKC_RING_MAGIC */
	__u32 slots;
	__u32 slot_size;	/* bytes, a multiple of 16 */
	__u32 closed;		/* consumer's kernel: the producer is gone */

	/* the producer's */
	__u64 head __attribute__((aligned(64)));	/* published before it waits */
	__u64 room_event;	/* ring when tail passes this position */

	/* the consumer's */
	__u64 tail __attribute__((aligned(64)));	/* everything below is free again */
	__u64 event;		/* ring when this position has been written */

	/* the producer's, for `shimos show`; nothing depends on them */
	__u64 packets __attribute__((aligned(64)));
	__u64 rung;		/* doorbells */
	__u64 saved;		/* notifications that needed none */
	__u64 full;		/* writes that found no room */
};

struct ikc_slot {
	__u32 seq;		/* position + 1: written last, by the producer */
	__u32 len;		/* bytes of data */
	__u8 data[];
};

/* ---- the area ---- */

#define IKC_CHUNK_SHIFT		21
#define IKC_CHUNK_SIZE		(1U << IKC_CHUNK_SHIFT)
#define IKC_MAX_CHUNKS		32
#define IKC_SPAN_SHIFT		16
#define IKC_SPAN_SIZE		(1U << IKC_SPAN_SHIFT)
#define IKC_SPANS		(IKC_CHUNK_SIZE / IKC_SPAN_SIZE)
#define IKC_BLOCK_SHIFT		8		/* the smallest block */
#define IKC_CLASSES		(IKC_SPAN_SHIFT - IKC_BLOCK_SHIFT + 1)
#define IKC_SPAN_BLOCKS		(IKC_SPAN_SIZE >> IKC_BLOCK_SHIFT)
#define IKC_ALLOC_MAX		IKC_SPAN_SIZE

/*
 * The allocator's part of a chunk, at its start; kernel/ikc/heap.c has the code.
 * `span` and `tag` are the truth, each changed by single compare-and-exchange;
 * the bitmaps only say where to look.
 */
struct ikc_chunk {
	__u32 span[IKC_SPANS];		/* what a span is cut into */
	__u32 tag[IKC_SPANS][IKC_SPAN_BLOCKS];	/* who owns a block */
	__u64 blocks[IKC_SPANS][IKC_SPAN_BLOCKS / 64];	/* hint: free blocks */
	__u32 partial[IKC_CLASSES];	/* hint: spans with free blocks of a class */
	__u32 free_spans;		/* hint */
};

/* Where things lie in chunk 0, in spans; span 0 of each chunk is its ikc_chunk. */
#define IKC_AREA_SPAN		1		/* struct ikc_area */
#define IKC_PORTS_SPAN		2		/* struct ikc_port[dst][src][queue] */
#define IKC_RESERVED_SPANS	6		/* of chunk 0 */

/*
 * How to wake a kernel: an interrupt vector of one of its CPUs, in one word, so that
 * a reader never sees half of a change.  0: no bell.
 */
#define SHIMOS_BELL_READY	(1ULL << 15)
#define SHIMOS_BELL(cpu, vector) \
	((__u64)(cpu) << 16 | SHIMOS_BELL_READY | (vector))
#define SHIMOS_BELL_CPU(bell)		((__u64)(bell) >> 16)	/* hardware id */
#define SHIMOS_BELL_VECTOR(bell)	((__u32)(bell) & 0x7fff)

struct ikc_range {
	__u64 start;		/* physical address */
	__u64 size;		/* bytes */
};

enum ikc_state {
	IKC_ABSENT = 0,		/* no such kernel */
	IKC_DOWN,		/* its CPUs stand still */
	IKC_UP,			/* its CPUs run */
	IKC_STUCK,		/* over, but may still write to any memory it was given */
};

/* It sees its own memory and the area only, so it can serve nobody by page transfer. */
#define IKC_FACT_GUARDED	(1U << 0)

/* What KLoader says of a kernel.  The host goes by a copy of its own. */
struct ikc_facts {
	char name[IKC_NAME_LEN];
	__u32 state;		/* enum ikc_state */
	__u32 life;		/* counts starts, 1 to 65535, then from 1 again */
	__u32 incarnation;	/* counts the kernels that have had this number */
	__u32 cpus;		/* 0 for the host: all that are no other kernel's */
	__u64 cpu[IKC_MAX_CPUS];	/* hardware ids: the APIC id on x86, MPIDR on arm64 */
	__u64 bell;		/* SHIMOS_BELL, of one that shares a CPU of the host's; or 0 */
	__u32 ranges;
	__u32 flags;		/* IKC_FACT_* */
	struct ikc_range range[IKC_MAX_RANGES];	/* its memory, for page transfer */
};

struct ikc_pending {
	/* bit per queue to look at: set by the sender, cleared by the receiver */
	__u64 queues __attribute__((aligned(64)));
};

struct ikc_kernel {
	/* the kernel's own */
	__u32 ready __attribute__((aligned(64)));	/* life in which it joined */
	__u32 version;		/* IKC_VERSION */
	__u32 chunks;		/* how many it has mapped */
	__u32 bells;
	__u32 holds;		/* bitmap of kernels whose memory it uses */
	__u32 page_size;	/* of its CPUs: programs map whole pages */
	__u64 bell[IKC_MAX_BELLS];	/* SHIMOS_BELL */

	/* anybody's: counts reasons to look at the table and the ports anew */
	__u32 events __attribute__((aligned(64)));

	struct ikc_pending pending[IKC_MAX_KERNELS];	/* by sender */
};

struct ikc_area {
	/* KLoader's */
	__u64 magic;		/* IKC_MAGIC */
	__u32 version;		/* IKC_VERSION */
	__u32 size;		/* sizeof(struct ikc_area) */
	__u32 chunks;		/* how many exist */
	__u32 usable;		/* how many all kernels have mapped */
	__u64 chunk[IKC_MAX_CHUNKS];	/* physical addresses */

	/* anybody's: the allocator found nothing, the host shall add a chunk */
	__u32 wanted __attribute__((aligned(64)));

	/* KLoader's */
	struct ikc_facts facts[IKC_MAX_KERNELS];

	struct ikc_kernel kernel[IKC_MAX_KERNELS];
};

/*
 * Where the packets from one kernel for one queue of another go.  The receiver
 * makes the ring and names it here, for one life of the sender.  The sender says
 * that it uses it; as long as it does the ring's memory is not given away.
 */
struct ikc_port {
	__u32 ring;		/* the receiver's: offset, 0: not open */
	__u32 life;		/* the receiver's: of the sender it is for */
	__u32 attached;		/* the sender's: offset of the ring it uses, or 0 */
	__u32 broken;		/* the receiver's: it saw nonsense in this ring */
};

/* ---- /dev/ikc ---- */

/*
 * A channel connects two programs (or a program and a kernel) with a ring each
 * way.  OPEN makes the ring this program reads; CONNECT waits for the peer's and
 * takes its writing end.  Then mmap(2) gives both: the own ring at offset
 * IKC_MMAP_RECEIVE, the peer's at IKC_MMAP_SEND.  poll(2) reports POLLIN if a
 * packet is there, POLLOUT if there is room, POLLHUP when the peer is gone.
 *
 * As with /dev/shimos every argument starts with size and version, and a
 * mismatch is refused with -EPROTO, the right ones in their places;
 * IKC_IOC_ERROR has the text of the last refusal on the same open file.
 */
struct ikc_header {
	__u32 size;		/* sizeof the whole argument; out on -EPROTO */
	__u32 version;		/* IKC_VERSION; out on -EPROTO */
};

#define IKC_ANY_CHANNEL		(~0U)
#define IKC_ECHO_CHANNEL	(IKC_CHANNELS - 1)	/* a service of every kernel */

#define IKC_SLOT_ALIGN		16
#define IKC_MIN_SLOT_SIZE	16
#define IKC_MAX_SLOT_SIZE	16384
#define IKC_MIN_SLOTS		2

/* IKC_IOC_OPEN: once per open file */
struct ikc_open {
	struct ikc_header hdr;
	__u32 peer;		/* kernel number */
	__u32 channel;		/* own, where the peer sends to; out if IKC_ANY_CHANNEL */
	__u32 peer_channel;	/* where this one sends to */
	__u32 slots;		/* of the own ring */
	__u32 slot_size;	/* the same, bytes */
	__u32 reserved;
};

/* IKC_IOC_CONNECT: -ETIME if the peer has not opened its end by then */
struct ikc_connect {
	struct ikc_header hdr;
	__u32 timeout_ms;	/* 0: look once */
	__u32 slots;		/* out: of the peer's ring */
	__u32 slot_size;	/* out */
	__u32 reserved;
};

/* IKC_IOC_EVENTFD: signalled when the peer rings; -1 takes it away */
struct ikc_eventfd {
	struct ikc_header hdr;
	__s32 fd;
	__u32 reserved;
};

#define IKC_KERNEL_NEXT		(1U << 0)	/* the first at or above the number */

/* IKC_IOC_KERNEL: who is there */
struct ikc_kernel_info {
	struct ikc_header hdr;
	__u32 number;		/* in, and out with NEXT */
	__u32 flags;
	char name[IKC_NAME_LEN];
	__u32 state;		/* enum ikc_state */
	__u32 life;
	__u32 ready;		/* 1: it takes packets */
	__u32 self;		/* 1: it is this kernel */
};

/* IKC_IOC_QUEUE: the first open queue at or above (receiver, sender, queue) */
struct ikc_queue_info {
	struct ikc_header hdr;
	__u32 receiver;		/* in and out, kernel number */
	__u32 sender;
	__u32 queue;
	__u32 slots;
	__u32 slot_size;
	__u32 attached;		/* 1: the sender uses it */
	__u32 broken;		/* 1: the receiver saw nonsense in it */
	__u32 reserved;
	__u64 packets;
	__u64 rung;
	__u64 saved;
	__u64 full;
};

/* IKC_IOC_AREA: the shared area and this kernel's use of it */
struct ikc_area_info {
	struct ikc_header hdr;
	__u64 bytes;		/* size of the area */
	__u64 used;		/* bytes in blocks that somebody owns */
	__u64 blocks;		/* such blocks */
	__u64 failed;		/* allocations this kernel could not make */
	__u64 too_large;	/* asked for more than IKC_ALLOC_MAX */
	__u64 double_free;	/* refused */
	__u64 foreign_free;	/* refused: no block, or somebody else's */
	__u64 reclaimed;	/* blocks taken back from dead kernels (host) */
};

/* IKC_IOC_ERROR: any version may ask */
struct ikc_error {
	struct ikc_header hdr;
	char text[512];		/* out: NUL-terminated, may be empty */
};

#define IKC_IOC_MAGIC		0xB8
#define IKC_IOC_OPEN		_IOWR(IKC_IOC_MAGIC, 0, struct ikc_open)
#define IKC_IOC_CONNECT		_IOWR(IKC_IOC_MAGIC, 1, struct ikc_connect)
/* Ring the peer: there are packets, or there is room. */
#define IKC_IOC_NOTIFY		_IO(IKC_IOC_MAGIC, 2)
#define IKC_IOC_EVENTFD		_IOWR(IKC_IOC_MAGIC, 3, struct ikc_eventfd)
#define IKC_IOC_KERNEL		_IOWR(IKC_IOC_MAGIC, 4, struct ikc_kernel_info)
#define IKC_IOC_QUEUE		_IOWR(IKC_IOC_MAGIC, 5, struct ikc_queue_info)
#define IKC_IOC_AREA		_IOWR(IKC_IOC_MAGIC, 6, struct ikc_area_info)

#define IKC_IOC_ERROR		_IOWR(IKC_IOC_MAGIC, 7, struct ikc_error)

#define IKC_MMAP_RECEIVE	0
#define IKC_MMAP_SEND		(1UL << 30)

/* ---- the echo service behind IKC_ECHO_CHANNEL ---- */

enum ikc_echo_op {
	IKC_ECHO = 0,		/* send the message back */
	IKC_SINK,		/* count it */
	IKC_COUNT,		/* send back how many were counted, and begin at 0 */
};

/* Each message starts with this; the answer goes to the channel it names. */
struct ikc_echo_message {
	__u16 op;		/* enum ikc_echo_op */
	__u16 channel;		/* the sender's, for the answer */
	__u32 reserved;
	__u64 cookie;		/* comes back; the count for IKC_COUNT */
	__u64 bytes;		/* the same for bytes, IKC_COUNT */
};

#endif
