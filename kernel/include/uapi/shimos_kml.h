/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface of /dev/shimos-kml: programs in kernel mode.
 *
 * Every argument starts with struct shimos_kml_header. A caller fills in the size
 * and the version it was built with; the module refuses others with -EPROTO, the
 * right ones in their places, and a text that names both. SHIMOS_KML_ERROR reads the
 * text of the last refusal on the same open file, whatever version the caller has.
 */
#ifndef _UAPI_SHIMOS_KML_H
#define _UAPI_SHIMOS_KML_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SHIMOS_KML_VERSION	1
#define SHIMOS_KML_DEVICE	"/dev/shimos-kml"
#define SHIMOS_KML_REASON_LEN	128	/* with the final NUL */
#define SHIMOS_KML_ERROR_LEN	512	/* with the final NUL */

struct shimos_kml_header {
	__u32 size;		/* sizeof the whole argument */
	__u32 version;		/* SHIMOS_KML_VERSION */
};

/* SHIMOS_KML_STATUS: since the module was loaded, on all CPUs. */
struct shimos_kml_status {
	struct shimos_kml_header hdr;
	__u64 tasks;		/* out: trusted threads now */
	__u64 trusted;		/* out: programs that were trusted */
	__u64 refused;		/* out: programs below the directory that were not */
	__u64 syscalls;		/* out: of trusted tasks, by SYSCALL */
	__u64 calls;		/* out: by direct call */
	__u64 promotions;	/* out: returns to CPL 3 that had to be undone */
	__u64 fixes;		/* out: user bits cleared in top-level entries late */
	__u64 retries;		/* out: faults because of a stale TLB */
	char reason[SHIMOS_KML_REASON_LEN];	/* out: why the last one was refused */
};

/* SHIMOS_KML_TASKS: which threads. */
struct shimos_kml_tasks {
	struct shimos_kml_header hdr;
	__u64 tids;		/* pointer to __u32: thread ids, in the caller's namespace */
	__u32 room;		/* in: how many fit there */
	__u32 count;		/* out: how many there are, which may be more */
};

/*
 * SHIMOS_KML_TRUST: the caller's next exec is trusted wherever its file lies; all
 * else that makes a file and a caller trusted still has to be so.
 */
struct shimos_kml_trust {
	struct shimos_kml_header hdr;
};

/*
 * SHIMOS_KML_ENTRY: where a trusted program may jump to instead of SYSCALL, with
 * the same registers and the return address in rcx; -EPERM if it is not trusted.
 * Like a C function it does not preserve rcx, rdx, rsi, rdi, r8 to r11.
 */
struct shimos_kml_entry {
	struct shimos_kml_header hdr;
	__u64 entry;		/* out */
	__u64 entry_3;		/* out: for calls with three arguments at most */
};

/* SHIMOS_KML_ERROR: why the last call on this open file was refused. */
struct shimos_kml_error {
	struct shimos_kml_header hdr;
	char text[SHIMOS_KML_ERROR_LEN];	/* out: NUL-terminated, may be empty */
};

#define SHIMOS_KML_STATUS	_IOWR('K', 0x60, struct shimos_kml_status)
#define SHIMOS_KML_TASKS	_IOWR('K', 0x61, struct shimos_kml_tasks)
#define SHIMOS_KML_TRUST	_IOWR('K', 0x62, struct shimos_kml_trust)
#define SHIMOS_KML_ENTRY	_IOWR('K', 0x63, struct shimos_kml_entry)
#define SHIMOS_KML_ERROR	_IOWR('K', 0x64, struct shimos_kml_error)

#endif
