/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Virtio devices between kernels: what the owner of a device (the back end) and
 * its user (a stock virtio driver over our transport) say to each other.
 *
 * A device's rings are virtio's own (virtio 1.2, section 2.7, split), lie in the
 * user's memory and hold physical addresses.  Everything that would be a register
 * is a packet of IKC; that a ring has work is a bit in memory and a doorbell.
 * docs/devices.md explains the protocol.
 */
#ifndef _UAPI_SHIMOS_VIRTIO_H
#define _UAPI_SHIMOS_VIRTIO_H

#include <linux/types.h>

#define SHIMOS_VIRTIO_ALIGN	4096	/* of struct shimos_virtio_state, whatever a page is */
#define SHIMOS_VIRTIO_VERSION	1
/* "SHIM", as our ACPI table: the vendor of the virtio devices that a user sees. */
#define SHIMOS_VIRTIO_VENDOR	0x4d494853

/* Queues of IKC. */
#define SHIMOS_VIRTIO_OWNER	8	/* packets to owners */
#define SHIMOS_VIRTIO_USER	9	/* packets to users */
/* Doorbells, without packets; shimos_virtio_bell() says which for a virtqueue. */
#define SHIMOS_VIRTIO_KICK	16	/* user to owner: buffers are available */
#define SHIMOS_VIRTIO_CALL	24	/* owner to user: buffers are used */
#define SHIMOS_VIRTIO_BELLS	8

#define SHIMOS_VIRTIO_DEVICES	32	/* at most, of one owner in one user */
#define SHIMOS_VIRTIO_QUEUES	64	/* at most, per device */
#define SHIMOS_VIRTIO_RING	1024	/* largest ring */
#define SHIMOS_VIRTIO_CONFIG	128	/* bytes of config space */
#define SHIMOS_VIRTIO_NAME	32	/* with the final NUL */

/**
 * enum shimos_virtio_cmd - what a packet between a device's owner and its user says: ikc_packet.cmd
 * @SHIMOS_VIRTIO_ADD: data: struct shimos_virtio_device
 * @SHIMOS_VIRTIO_CHANGE: the same: config space has changed
 * @SHIMOS_VIRTIO_REMOVE: let go of it; param[2]: enum shimos_virtio_remove
 * @SHIMOS_VIRTIO_ANSWER: to START, RESET; param[2]: an errno or 0
 * @SHIMOS_VIRTIO_START: data: struct shimos_virtio_start; is answered
 * @SHIMOS_VIRTIO_RESET: stop, finish what is under way; is answered
 * @SHIMOS_VIRTIO_REMOVED: let go; param[2]: 0, EBUSY: not, for it is in use, or another errno:
 *	the user does not accept it
 *
 * param[0] is the device's number, given by its owner and never used again; param[1] tells an
 * answer what it answers.
 */
enum shimos_virtio_cmd {
	/* owner to user */
	SHIMOS_VIRTIO_ADD = 1,
	SHIMOS_VIRTIO_CHANGE,
	SHIMOS_VIRTIO_REMOVE,
	SHIMOS_VIRTIO_ANSWER,

	/* user to owner */
	SHIMOS_VIRTIO_START,
	SHIMOS_VIRTIO_RESET,
	SHIMOS_VIRTIO_REMOVED,
};

/**
 * enum shimos_virtio_remove - how urgently a user shall let go of a device
 * @SHIMOS_VIRTIO_ASK: refuse with EBUSY if somebody uses it there
 * @SHIMOS_VIRTIO_GONE: the owner serves it no longer
 */
enum shimos_virtio_remove {
	SHIMOS_VIRTIO_ASK = 0,
	SHIMOS_VIRTIO_GONE,
};

/**
 * struct shimos_virtio_device - a device, as its owner describes it
 * @version: SHIMOS_VIRTIO_VERSION
 * @size: of this structure
 * @features: offered
 * @type: virtio device id: 1 network, 2 block; from the host also 19 vsock, 26 file system
 * @queues: virtqueues
 * @ring: largest ring: a power of two
 * @config_len: bytes of @config
 * @config: virtio's configuration space
 * @name: for messages
 *
 * All of this in a block of the shared area that changes hands.
 */
struct shimos_virtio_device {
	__u32 version;
	__u32 size;
	__u64 features;
	__u32 type;
	__u32 queues;
	__u32 ring;
	__u32 config_len;
	__u8 config[SHIMOS_VIRTIO_CONFIG];
	char name[SHIMOS_VIRTIO_NAME];
};

/**
 * struct shimos_virtio_queue - where a virtqueue is
 * @desc: descriptors: physical address, as the next two
 * @avail: what the driver offers
 * @used: what the device has done
 * @size: descriptors; 0: not used
 * @reserved: 0
 */
struct shimos_virtio_queue {
	__u64 desc, avail, used;
	__u32 size;
	__u32 reserved;
};

/**
 * struct shimos_virtio_start - a driver has set a device up
 * @version: SHIMOS_VIRTIO_VERSION
 * @size: of this structure
 * @features: accepted
 * @state: physical address of struct shimos_virtio_state
 * @queues: virtqueues
 * @reserved: 0
 * @queue: of each
 */
struct shimos_virtio_start {
	__u32 version;
	__u32 size;
	__u64 features;
	__u64 state;
	__u32 queues;
	__u32 reserved;
	struct shimos_virtio_queue queue[SHIMOS_VIRTIO_QUEUES];
};

/**
 * struct shimos_virtio_ring_state - the owner's book on a ring
 * @next: position in the avail ring that it takes next
 * @completing: head + 1 while it is being put into the used ring
 * @completing_at: the position there
 * @reserved: the owner's cache line goes on
 * @taken: by head: 1 from taking to completing
 *
 * In the user's memory, page aligned.  The owner keeps book there of what it has taken, so that
 * if it dies, the user can end those requests with an error.
 */
struct shimos_virtio_ring_state {
	/* the owner's */
	__u16 next;
	__u16 completing;
	__u16 completing_at;
	__u16 reserved[29];
	__u8 taken[SHIMOS_VIRTIO_RING];
};

/**
 * struct shimos_virtio_state - what both sides say of a device's rings
 * @kicks: bit per ring: set by the user, cleared by the owner
 * @reserved: the user's cache line goes on
 * @calls: bit per ring: set by the owner, cleared by the user
 * @reserved2: the owner's cache line goes on
 * @ring: one for each queue
 */
struct shimos_virtio_state {
	__u64 kicks;
	__u64 reserved[7];
	__u64 calls;
	__u64 reserved2[7];
	struct shimos_virtio_ring_state ring[];
};

/**
 * shimos_virtio_bell() - which doorbell is for a virtqueue
 * @type: of the device, virtio's number
 * @n: of the virtqueue
 *
 * Return: the same for a network's rx and tx of a pair.
 */
static inline __u32 shimos_virtio_bell(__u32 type, __u32 n)
{
	return (type == 1 ? n / 2 : n) % SHIMOS_VIRTIO_BELLS;
}

/**
 * shimos_virtio_bell_queues() - the virtqueues for which a doorbell is
 * @type: of the device, virtio's number
 * @bell: which
 *
 * Return: a bitmap.
 */
static inline __u64 shimos_virtio_bell_queues(__u32 type, __u32 bell)
{
	return type == 1 ? 0x0003000300030003ULL << 2 * bell : 0x0101010101010101ULL << bell;
}

#endif
