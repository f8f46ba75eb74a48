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

#define SHIMOS_DEV_VERSION	1
#define SHIMOS_DEV_NAME		64	/* with the final NUL */
#define SHIMOS_DEV_IFNAME	16
#define SHIMOS_DEV_ERROR_LEN	512
#define SHIMOS_DEV_PER_USER	32	/* devices that one kernel can be given */

struct shimos_dev_header {
	__u32 size;		/* sizeof the whole argument; out on -EPROTO */
	__u32 version;		/* SHIMOS_DEV_VERSION; out on -EPROTO */
};

/* SHIMOS_DEV_IOC_ERROR */
struct shimos_dev_error {
	struct shimos_dev_header hdr;
	char text[SHIMOS_DEV_ERROR_LEN];	/* out: NUL-terminated, may be empty */
};

#define SHIMOS_DISK_READ_ONLY	(1U << 0)

/*
 * SHIMOS_DEV_IOC_ADD_DISK: share a block device of this kernel.  It is opened
 * anew and claimed: for one user, or read-only for several.
 */
struct shimos_dev_add_disk {
	struct shimos_dev_header hdr;
	__u32 user;		/* kernel number in IKC */
	__s32 fd;		/* the block device, open */
	__u32 flags;		/* SHIMOS_DISK_* */
	__u32 queues;		/* 0: as many as the user has CPUs */
	char name[SHIMOS_DEV_NAME];	/* what the user of the tool called it */
	__u32 id;		/* out: never used again */
	__u32 reserved;
};

/*
 * SHIMOS_DEV_IOC_ADD_NET: make a network device here whose other end is a network
 * device of the user.
 */
struct shimos_dev_add_net {
	struct shimos_dev_header hdr;
	__u32 user;		/* kernel number in IKC */
	__u32 queues;		/* pairs; 0: as many as the user has CPUs */
	char ifname[SHIMOS_DEV_IFNAME];	/* of this end; may have one %d; out */
	char bridge[SHIMOS_DEV_IFNAME];	/* to put it into, or empty */
	__u8 mac[6];		/* of the user's end; zero: derived from names */
	__u16 mtu;		/* 0: the bridge's, or 1500 */
	__u32 id;		/* out */
	__u32 reserved;
};

#define SHIMOS_DEV_FORCE	(1U << 0)	/* even if it is in use there */

/*
 * SHIMOS_DEV_IOC_REMOVE: take a device away from its user and make it free again.
 * Returns when that is done.  -EBUSY: it is in use there (without FORCE).
 */
struct shimos_dev_remove {
	struct shimos_dev_header hdr;
	__u32 id;
	__u32 flags;		/* SHIMOS_DEV_FORCE */
};

enum shimos_dev_type {
	SHIMOS_DEV_NET = 1,	/* virtio's numbers */
	SHIMOS_DEV_DISK = 2,
};

enum shimos_dev_state {
	SHIMOS_DEV_WAITING = 0,	/* the user has not been told: it does not run yet */
	SHIMOS_DEV_OFFERED,	/* it knows; no driver has started it */
	SHIMOS_DEV_RUNNING,	/* a driver uses it */
	SHIMOS_DEV_BROKEN,	/* the user wrote nonsense or refused it: not served */
	SHIMOS_DEV_LEAVING,	/* being removed */
};

#define SHIMOS_DEV_NEXT		(1U << 0)	/* the first with an id above */

/* SHIMOS_DEV_IOC_STATUS */
struct shimos_dev_status {
	struct shimos_dev_header hdr;
	__u32 id;		/* in, and out with NEXT */
	__u32 flags;		/* in: SHIMOS_DEV_NEXT; out: SHIMOS_DISK_* */
	__u32 user;		/* kernel number */
	__u32 type;		/* enum shimos_dev_type */
	__u32 state;		/* enum shimos_dev_state */
	__u32 queues;
	char user_name[32];
	char name[SHIMOS_DEV_NAME];	/* as given; the interface for networks */
	char problem[128];	/* why it is broken */
	__u32 major, minor;	/* disks: the block device */
	__u64 capacity;		/* disks: bytes */
	__u8 mac[6];		/* networks: the user's end */
	__u16 mtu;
	__u32 reserved;
	__u64 features;		/* that the driver accepted */

	/* since it was added; from the user's point of view */
	__u64 reads, read_bytes;	/* requests; packets received */
	__u64 writes, write_bytes;	/* requests; packets sent */
	__u64 others;		/* flushes, discards, … */
	__u64 errors;		/* requests that failed; packets dropped */
	__u64 kicks;		/* doorbells from the user */
	__u64 calls;		/* doorbells to the user */
	__u64 calls_saved;	/* the user did not want one */
	/* payload bytes: handed on in the user's own pages, and copied */
	__u64 direct_bytes, copied_bytes;
};

#define SHIMOS_DEV_IOC_MAGIC	0xB9
#define SHIMOS_DEV_IOC_ERROR	_IOWR(SHIMOS_DEV_IOC_MAGIC, 0, struct shimos_dev_error)
#define SHIMOS_DEV_IOC_ADD_DISK	_IOWR(SHIMOS_DEV_IOC_MAGIC, 1, struct shimos_dev_add_disk)
#define SHIMOS_DEV_IOC_ADD_NET	_IOWR(SHIMOS_DEV_IOC_MAGIC, 2, struct shimos_dev_add_net)
#define SHIMOS_DEV_IOC_REMOVE	_IOW(SHIMOS_DEV_IOC_MAGIC, 3, struct shimos_dev_remove)
#define SHIMOS_DEV_IOC_STATUS	_IOWR(SHIMOS_DEV_IOC_MAGIC, 4, struct shimos_dev_status)

#endif
