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

/*
 * ikc_packet.cmd.  param[0] is the device's number, given by its owner and never
 * used again; param[1] tells an answer what it answers.
 */
enum shimos_virtio_cmd {
	/* owner to user */
	SHIMOS_VIRTIO_ADD = 1,	/* data: struct shimos_virtio_device */
	SHIMOS_VIRTIO_CHANGE,	/* the same: config space has changed */
	SHIMOS_VIRTIO_REMOVE,	/* let go of it; param[2]: enum shimos_virtio_remove */
	SHIMOS_VIRTIO_ANSWER,	/* to START, RESET; param[2]: an errno or 0 */

	/* user to owner */
	SHIMOS_VIRTIO_START,	/* data: struct shimos_virtio_start; is answered */
	SHIMOS_VIRTIO_RESET,	/* stop, finish what is under way; is answered */
	/*
	 * Let go; param[2]: 0, EBUSY: not, for it is in use, or another errno: the
	 * user does not accept it.
	 */
	SHIMOS_VIRTIO_REMOVED,
};

enum shimos_virtio_remove {
	SHIMOS_VIRTIO_ASK = 0,	/* refuse with EBUSY if somebody uses it there */
	SHIMOS_VIRTIO_GONE,	/* the owner serves it no longer */
};

/* All of this in a block of the shared area that changes hands. */
struct shimos_virtio_device {
	__u32 version;		/* SHIMOS_VIRTIO_VERSION */
	__u32 size;		/* of this structure */
	__u64 features;		/* offered */
	__u32 type;		/* virtio device id: 1 network, 2 block */
	__u32 queues;
	__u32 ring;		/* largest ring: a power of two */
	__u32 config_len;
	__u8 config[SHIMOS_VIRTIO_CONFIG];
	char name[SHIMOS_VIRTIO_NAME];	/* for messages */
};

struct shimos_virtio_queue {
	__u64 desc, avail, used;	/* physical addresses */
	__u32 size;			/* descriptors; 0: not used */
	__u32 reserved;
};

struct shimos_virtio_start {
	__u32 version;		/* SHIMOS_VIRTIO_VERSION */
	__u32 size;		/* of this structure */
	__u64 features;		/* accepted */
	__u64 state;		/* physical address of struct shimos_virtio_state */
	__u32 queues;
	__u32 reserved;
	struct shimos_virtio_queue queue[SHIMOS_VIRTIO_QUEUES];
};

/*
 * In the user's memory, page aligned.  The owner keeps book there of what it has
 * taken, so that if it dies, the user can end those requests with an error.
 */
struct shimos_virtio_ring_state {
	/* the owner's */
	__u16 next;		/* position in the avail ring that it takes next */
	__u16 completing;	/* head + 1 while it is being put into the used ring */
	__u16 completing_at;	/* the position there */
	__u16 reserved[29];
	__u8 taken[SHIMOS_VIRTIO_RING];	/* by head: 1 from taking to completing */
};

struct shimos_virtio_state {
	__u64 kicks;		/* bit per ring: set by the user, cleared by the owner */
	__u64 reserved[7];
	__u64 calls;		/* bit per ring: set by the owner, cleared by the user */
	__u64 reserved2[7];
	struct shimos_virtio_ring_state ring[];	/* one for each queue */
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
