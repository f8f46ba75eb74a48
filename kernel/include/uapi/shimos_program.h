/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface by which a program serves a device of another kernel, as a
 * vhost-user daemon or a vhost driver of Linux does for a virtual machine.
 *
 * SHIMOS_DEV_IOC_ADD_PROGRAM makes the device and returns a descriptor, which can be
 * polled: EPOLLIN if there is something to be done (SHIMOS_PROGRAM_IOC_NEXT), EPOLLHUP
 * if the device is gone.  The device goes when the descriptor is closed.
 *
 * Arguments begin with a struct shimos_dev_header with SHIMOS_DEV_VERSION.
 */
#ifndef _UAPI_SHIMOS_PROGRAM_H
#define _UAPI_SHIMOS_PROGRAM_H

#include "shimos_devices.h"

#define SHIMOS_PROGRAM_CONFIG	128	/* bytes of configuration space */
#define SHIMOS_PROGRAM_QUEUES	16	/* at most */
#define SHIMOS_PROGRAM_RANGES	16	/* of the user's memory, at most */

/**
 * struct shimos_dev_add_program - SHIMOS_DEV_IOC_ADD_PROGRAM: share a device that the caller serves
 * @hdr: of the argument
 * @user: kernel number in IKC; not the host
 * @type: SHIMOS_DEV_VSOCK or SHIMOS_DEV_FS
 * @features: of virtio, what is offered: the device's own and the ring's; VERSION_1,
 *	EVENT_IDX and INDIRECT_DESC must be among them
 * @queues: virtqueues
 * @ring: largest ring: a power of two
 * @config_len: bytes of @config
 * @fd: out: the descriptor
 * @id: out: never used again
 * @reserved: 0
 * @name: what the user of the tool called it
 * @config: virtio's configuration space
 */
struct shimos_dev_add_program {
	struct shimos_dev_header hdr;
	__u32 user;
	__u32 type;
	__u64 features;
	__u32 queues;
	__u32 ring;
	__u32 config_len;
	__s32 fd;
	__u32 id;
	__u32 reserved;
	char name[SHIMOS_DEV_NAME];
	__u8 config[SHIMOS_PROGRAM_CONFIG];
};

/**
 * enum shimos_program_event - what a program is asked to do
 * @SHIMOS_PROGRAM_NOTHING: nothing more than before
 * @SHIMOS_PROGRAM_START: a driver is there: begin
 * @SHIMOS_PROGRAM_STOP: take nothing more from the rings, finish what was taken
 */
enum shimos_program_event {
	SHIMOS_PROGRAM_NOTHING = 0,
	SHIMOS_PROGRAM_START,
	SHIMOS_PROGRAM_STOP,
};

/**
 * struct shimos_program_range - a piece of the user's memory
 * @start: physical address, which is the offset in SHIMOS_PROGRAM_IOC_MEMORY's file
 * @size: bytes
 */
struct shimos_program_range {
	__u64 start;
	__u64 size;
};

/**
 * struct shimos_program_ring - where a virtqueue is
 * @desc: descriptors: physical address, as the next two
 * @avail: what the driver offers
 * @used: what the device has done
 * @size: descriptors; 0: not used
 * @reserved: 0
 */
struct shimos_program_ring {
	__u64 desc, avail, used;
	__u32 size;
	__u32 reserved;
};

/**
 * struct shimos_program_next - SHIMOS_PROGRAM_IOC_NEXT: what is to be done
 * @hdr: of the argument
 * @event: out: enum shimos_program_event
 * @sequence: out: for the answer
 * @features: out: that the driver accepted; this and all below with START
 * @ranges: out: of the user's memory
 * @queues: out: virtqueues
 * @range: out: of each
 * @ring: out: of each
 *
 * What the addresses lead to was written by another kernel, and may change at any time.
 */
struct shimos_program_next {
	struct shimos_dev_header hdr;
	__u32 event;
	__u32 sequence;
	__u64 features;
	__u32 ranges;
	__u32 queues;
	struct shimos_program_range range[SHIMOS_PROGRAM_RANGES];
	struct shimos_program_ring ring[SHIMOS_PROGRAM_QUEUES];
};

/**
 * struct shimos_program_answer - SHIMOS_PROGRAM_IOC_ANSWER: it is done
 * @hdr: of the argument
 * @sequence: of what
 * @error: 0 or an errno: START failed
 *
 * After STOP is answered the memory cannot be reached any more: who still tries gets SIGBUS.
 */
struct shimos_program_answer {
	struct shimos_dev_header hdr;
	__u32 sequence;
	__u32 error;
};

/**
 * struct shimos_program_events - SHIMOS_PROGRAM_IOC_EVENTS: by which eventfds a virtqueue's two sides call each other
 * @hdr: of the argument
 * @queue: which
 * @kick: signalled when the driver has made buffers available; -1: none
 * @call: to be signalled for the driver to look at what was used; -1: none
 * @reserved: 0
 */
struct shimos_program_events {
	struct shimos_dev_header hdr;
	__u32 queue;
	__s32 kick;
	__s32 call;
	__u32 reserved;
};

/**
 * struct shimos_program_memory - SHIMOS_PROGRAM_IOC_MEMORY: a file on the user's memory
 * @hdr: of the argument
 * @fd: out: to be mapped, shared; it may be handed to another program
 * @reserved: 0
 */
struct shimos_program_memory {
	struct shimos_dev_header hdr;
	__s32 fd;
	__u32 reserved;
};

#define SHIMOS_DEV_IOC_ADD_PROGRAM	_IOWR(SHIMOS_DEV_IOC_MAGIC, 5, struct shimos_dev_add_program)
#define SHIMOS_PROGRAM_IOC_NEXT		_IOWR(SHIMOS_DEV_IOC_MAGIC, 16, struct shimos_program_next)
#define SHIMOS_PROGRAM_IOC_ANSWER	_IOW(SHIMOS_DEV_IOC_MAGIC, 17, struct shimos_program_answer)
#define SHIMOS_PROGRAM_IOC_EVENTS	_IOW(SHIMOS_DEV_IOC_MAGIC, 18, struct shimos_program_events)
#define SHIMOS_PROGRAM_IOC_MEMORY	_IOWR(SHIMOS_DEV_IOC_MAGIC, 19, struct shimos_program_memory)

#endif
