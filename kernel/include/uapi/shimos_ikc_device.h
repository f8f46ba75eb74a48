/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The ioctl interface of /dev/ikc.
 *
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
#ifndef _UAPI_SHIMOS_IKC_DEVICE_H
#define _UAPI_SHIMOS_IKC_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include "shimos_ikc_limits.h"

/**
 * struct ikc_header - begins every argument
 * @size: sizeof the whole argument; out on -EPROTO
 * @version: IKC_VERSION; out on -EPROTO
 */
struct ikc_header {
	__u32 size;
	__u32 version;
};

#define IKC_ANY_CHANNEL		(~0U)

#define IKC_SLOT_ALIGN		16
#define IKC_MIN_SLOT_SIZE	16
#define IKC_MAX_SLOT_SIZE	16384
#define IKC_MIN_SLOTS		2

/**
 * struct ikc_open - IKC_IOC_OPEN: once per open file
 * @hdr: of the argument
 * @peer: kernel number
 * @channel: own, where the peer sends to; out if IKC_ANY_CHANNEL
 * @peer_channel: where this one sends to
 * @slots: of the own ring
 * @slot_size: the same, bytes
 * @reserved: 0
 */
struct ikc_open {
	struct ikc_header hdr;
	__u32 peer;
	__u32 channel;
	__u32 peer_channel;
	__u32 slots;
	__u32 slot_size;
	__u32 reserved;
};

/**
 * struct ikc_connect - IKC_IOC_CONNECT: -ETIME if the peer has not opened its end by then
 * @hdr: of the argument
 * @timeout_ms: 0: look once
 * @slots: out: of the peer's ring
 * @slot_size: out: the same, bytes
 * @reserved: 0
 */
struct ikc_connect {
	struct ikc_header hdr;
	__u32 timeout_ms;
	__u32 slots;
	__u32 slot_size;
	__u32 reserved;
};

/**
 * struct ikc_eventfd - IKC_IOC_EVENTFD: what is signalled when the peer rings
 * @hdr: of the argument
 * @fd: an eventfd; -1 takes it away
 * @reserved: 0
 */
struct ikc_eventfd {
	struct ikc_header hdr;
	__s32 fd;
	__u32 reserved;
};

#define IKC_KERNEL_NEXT		(1U << 0)	/* the first at or above the number */

/**
 * struct ikc_kernel_info - IKC_IOC_KERNEL: who is there
 * @hdr: of the argument
 * @number: in, and out with NEXT
 * @flags: IKC_KERNEL_NEXT
 * @name: NUL-terminated
 * @state: enum ikc_state
 * @life: which one it is in
 * @ready: 1: it takes packets
 * @self: 1: it is this kernel
 */
struct ikc_kernel_info {
	struct ikc_header hdr;
	__u32 number;
	__u32 flags;
	char name[IKC_NAME_LEN];
	__u32 state;
	__u32 life;
	__u32 ready;
	__u32 self;
};

/**
 * struct ikc_queue_info - IKC_IOC_QUEUE: the first open queue at or above (receiver, sender, queue)
 * @hdr: of the argument
 * @receiver: in and out, kernel number
 * @sender: the same
 * @queue: in and out
 * @slots: of the ring
 * @slot_size: the same, bytes
 * @attached: 1: the sender uses it
 * @broken: 1: the receiver saw nonsense in it
 * @reserved: 0
 * @packets: as struct ikc_ring has it, and all below
 * @rung: doorbells
 * @saved: notifications that needed none
 * @full: writes that found no room
 */
struct ikc_queue_info {
	struct ikc_header hdr;
	__u32 receiver;
	__u32 sender;
	__u32 queue;
	__u32 slots;
	__u32 slot_size;
	__u32 attached;
	__u32 broken;
	__u32 reserved;
	__u64 packets;
	__u64 rung;
	__u64 saved;
	__u64 full;
};

/**
 * struct ikc_area_info - IKC_IOC_AREA: the shared area and this kernel's use of it
 * @hdr: of the argument
 * @bytes: size of the area
 * @used: bytes in blocks that somebody owns
 * @blocks: such blocks
 * @failed: allocations this kernel could not make
 * @too_large: asked for more than IKC_ALLOC_MAX
 * @double_free: refused
 * @foreign_free: refused: no block, or somebody else's
 * @reclaimed: blocks taken back from dead kernels (host)
 */
struct ikc_area_info {
	struct ikc_header hdr;
	__u64 bytes;
	__u64 used;
	__u64 blocks;
	__u64 failed;
	__u64 too_large;
	__u64 double_free;
	__u64 foreign_free;
	__u64 reclaimed;
};

/**
 * struct ikc_error - IKC_IOC_ERROR: why the last call on this open file was refused; any version may ask
 * @hdr: of the argument
 * @text: out: NUL-terminated, may be empty
 */
struct ikc_error {
	struct ikc_header hdr;
	char text[512];
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

#endif
