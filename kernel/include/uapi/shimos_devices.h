/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface of /dev/shimos-devices: which devices of this kernel are
 * shared with other kernels.  The same on the host and in a partition; who opens
 * it needs CAP_SYS_ADMIN.
 *
 * As with /dev/shimos every argument starts with size and version, a mismatch is
 * refused with -EPROTO, and SHIMOS_DEV_IOC_ERROR has the text of the last refusal
 * on the same open file.  Reserved fields must be zero.
 */
#ifndef _UAPI_SHIMOS_DEVICES_H
#define _UAPI_SHIMOS_DEVICES_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SHIMOS_DEV_VERSION	2
#define SHIMOS_DEV_NAME		64	/* with the final NUL */
#define SHIMOS_DEV_IFNAME	16
#define SHIMOS_DEV_ERROR_LEN	512
#define SHIMOS_DEV_PER_USER	32	/* devices that one kernel can be given */

/**
 * struct shimos_dev_header - begins every argument
 * @size: sizeof the whole argument; out on -EPROTO
 * @version: SHIMOS_DEV_VERSION; out on -EPROTO
 */
struct shimos_dev_header {
	__u32 size;
	__u32 version;
};

/**
 * struct shimos_dev_error - SHIMOS_DEV_IOC_ERROR: why the last call on this open file was refused
 * @hdr: of the argument
 * @text: out: NUL-terminated, may be empty
 */
struct shimos_dev_error {
	struct shimos_dev_header hdr;
	char text[SHIMOS_DEV_ERROR_LEN];
};

#define SHIMOS_DISK_READ_ONLY	(1U << 0)

/**
 * struct shimos_dev_add_disk - SHIMOS_DEV_IOC_ADD_DISK: share a block device of this kernel
 * @hdr: of the argument
 * @user: kernel number in IKC
 * @fd: the block device, open
 * @flags: SHIMOS_DISK_*
 * @queues: 0: as many as the user has CPUs
 * @name: what the user of the tool called it
 * @id: out: never used again
 * @reserved: 0
 *
 * It is opened anew and claimed: for one user, or read-only for several.
 */
struct shimos_dev_add_disk {
	struct shimos_dev_header hdr;
	__u32 user;
	__s32 fd;
	__u32 flags;
	__u32 queues;
	char name[SHIMOS_DEV_NAME];
	__u32 id;
	__u32 reserved;
};

/**
 * struct shimos_dev_add_net - SHIMOS_DEV_IOC_ADD_NET: make a network device here whose other end is a network device of the user
 * @hdr: of the argument
 * @user: kernel number in IKC
 * @queues: pairs; 0: as many as the user has CPUs
 * @ifname: of this end; may have one %d; out
 * @bridge: to put it into, or empty
 * @mac: of the user's end; zero: derived from names
 * @mtu: 0: the bridge's, or 1500
 * @id: out: never used again
 * @reserved: 0
 */
struct shimos_dev_add_net {
	struct shimos_dev_header hdr;
	__u32 user;
	__u32 queues;
	char ifname[SHIMOS_DEV_IFNAME];
	char bridge[SHIMOS_DEV_IFNAME];
	__u8 mac[6];
	__u16 mtu;
	__u32 id;
	__u32 reserved;
};

#define SHIMOS_DEV_FORCE	(1U << 0)	/* even if it is in use there */

/**
 * struct shimos_dev_remove - SHIMOS_DEV_IOC_REMOVE: take a device away from its user and make it free again
 * @hdr: of the argument
 * @id: of the device
 * @flags: SHIMOS_DEV_FORCE
 *
 * Returns when that is done.  -EBUSY: it is in use there (without FORCE).
 */
struct shimos_dev_remove {
	struct shimos_dev_header hdr;
	__u32 id;
	__u32 flags;
};

/**
 * enum shimos_dev_type - what a device is
 * @SHIMOS_DEV_NET: a network device; virtio's number, as the other one
 * @SHIMOS_DEV_DISK: a disk
 * @SHIMOS_DEV_VSOCK: sockets between kernels; a program serves it, as the next one
 * @SHIMOS_DEV_FS: a file system
 */
enum shimos_dev_type {
	SHIMOS_DEV_NET = 1,
	SHIMOS_DEV_DISK = 2,
	SHIMOS_DEV_VSOCK = 19,
	SHIMOS_DEV_FS = 26,
};

/**
 * enum shimos_dev_state - how a device is
 * @SHIMOS_DEV_WAITING: the user has not been told: it does not run yet
 * @SHIMOS_DEV_OFFERED: it knows; no driver has started it
 * @SHIMOS_DEV_RUNNING: a driver uses it
 * @SHIMOS_DEV_BROKEN: the user wrote nonsense or refused it: not served
 * @SHIMOS_DEV_LEAVING: being removed
 */
enum shimos_dev_state {
	SHIMOS_DEV_WAITING = 0,
	SHIMOS_DEV_OFFERED,
	SHIMOS_DEV_RUNNING,
	SHIMOS_DEV_BROKEN,
	SHIMOS_DEV_LEAVING,
};

#define SHIMOS_DEV_NEXT		(1U << 0)	/* the first with an id above */

/**
 * struct shimos_dev_status - SHIMOS_DEV_IOC_STATUS: how a device is, and what it did
 * @hdr: of the argument
 * @id: in, and out with NEXT
 * @flags: in: SHIMOS_DEV_NEXT; out: SHIMOS_DISK_*
 * @user: kernel number
 * @type: enum shimos_dev_type
 * @state: enum shimos_dev_state
 * @queues: rings of a disk, pairs of a network
 * @user_name: what the user's kernel is called
 * @name: as given; the interface for networks
 * @problem: why it is broken
 * @major: disks: the block device's
 * @minor: the same
 * @capacity: disks: bytes
 * @mac: networks: the user's end
 * @mtu: networks: of this end
 * @reserved: 0
 * @features: that the driver accepted
 * @reads: requests; packets received: since it was added, from the user's point of view, as all
 *	below
 * @read_bytes: of these
 * @writes: requests; packets sent
 * @write_bytes: of these
 * @others: flushes, discards, …
 * @errors: requests that failed; packets dropped
 * @kicks: doorbells from the user
 * @calls: doorbells to the user
 * @calls_saved: the user did not want one
 * @direct_bytes: payload that was handed on in the user's own pages
 * @copied_bytes: payload that was copied
 * @polled_ns: threads of this kernel looked for requests, and there were none yet
 */
struct shimos_dev_status {
	struct shimos_dev_header hdr;
	__u32 id;
	__u32 flags;
	__u32 user;
	__u32 type;
	__u32 state;
	__u32 queues;
	char user_name[32];
	char name[SHIMOS_DEV_NAME];
	char problem[128];
	__u32 major, minor;
	__u64 capacity;
	__u8 mac[6];
	__u16 mtu;
	__u32 reserved;
	__u64 features;

	/* since it was added; from the user's point of view */
	__u64 reads, read_bytes;
	__u64 writes, write_bytes;
	__u64 others;
	__u64 errors;
	__u64 kicks;
	__u64 calls;
	__u64 calls_saved;
	/* payload bytes: handed on in the user's own pages, and copied */
	__u64 direct_bytes, copied_bytes;
	__u64 polled_ns;
};

#define SHIMOS_DEV_IOC_MAGIC	0xB9
#define SHIMOS_DEV_IOC_ERROR	_IOWR(SHIMOS_DEV_IOC_MAGIC, 0, struct shimos_dev_error)
#define SHIMOS_DEV_IOC_ADD_DISK	_IOWR(SHIMOS_DEV_IOC_MAGIC, 1, struct shimos_dev_add_disk)
#define SHIMOS_DEV_IOC_ADD_NET	_IOWR(SHIMOS_DEV_IOC_MAGIC, 2, struct shimos_dev_add_net)
#define SHIMOS_DEV_IOC_REMOVE	_IOW(SHIMOS_DEV_IOC_MAGIC, 3, struct shimos_dev_remove)
#define SHIMOS_DEV_IOC_STATUS	_IOWR(SHIMOS_DEV_IOC_MAGIC, 4, struct shimos_dev_status)

#endif
