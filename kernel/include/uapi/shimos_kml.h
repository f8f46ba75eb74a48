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

/**
 * struct shimos_kml_header - begins every argument
 * @size: sizeof the whole argument
 * @version: SHIMOS_KML_VERSION
 */
struct shimos_kml_header {
	__u32 size;
	__u32 version;
};

/**
 * struct shimos_kml_status - SHIMOS_KML_STATUS: since the module was loaded, on all CPUs
 * @hdr: of the argument
 * @tasks: out: trusted threads now
 * @trusted: out: programs that were trusted
 * @refused: out: programs below the directory that were not
 * @syscalls: out: of trusted tasks, by SYSCALL
 * @calls: out: by direct call
 * @promotions: out: returns to CPL 3 that had to be undone
 * @fixes: out: user bits cleared in top-level entries late
 * @retries: out: faults because of a stale TLB
 * @reason: out: why the last one was refused
 */
struct shimos_kml_status {
	struct shimos_kml_header hdr;
	__u64 tasks;
	__u64 trusted;
	__u64 refused;
	__u64 syscalls;
	__u64 calls;
	__u64 promotions;
	__u64 fixes;
	__u64 retries;
	char reason[SHIMOS_KML_REASON_LEN];
};

/**
 * struct shimos_kml_tasks - SHIMOS_KML_TASKS: which threads
 * @hdr: of the argument
 * @tids: pointer to __u32: thread ids, in the caller's namespace
 * @room: in: how many fit there
 * @count: out: how many there are, which may be more
 */
struct shimos_kml_tasks {
	struct shimos_kml_header hdr;
	__u64 tids;
	__u32 room;
	__u32 count;
};

/**
 * struct shimos_kml_trust - SHIMOS_KML_TRUST: the caller's next exec is trusted wherever its file lies
 * @hdr: of the argument
 *
 * All else that makes a file and a caller trusted still has to be so.
 */
struct shimos_kml_trust {
	struct shimos_kml_header hdr;
};

/**
 * struct shimos_kml_entry - SHIMOS_KML_ENTRY: where a trusted program may jump to instead of SYSCALL
 * @hdr: of the argument
 * @entry: out: for all calls
 * @entry_3: out: for calls with three arguments at most
 *
 * With the same registers and the return address in rcx; -EPERM if it is not trusted.  Like a C
 * function it does not preserve rcx, rdx, rsi, rdi, r8 to r11.
 */
struct shimos_kml_entry {
	struct shimos_kml_header hdr;
	__u64 entry;
	__u64 entry_3;
};

/**
 * struct shimos_kml_error - SHIMOS_KML_ERROR: why the last call on this open file was refused
 * @hdr: of the argument
 * @text: out: NUL-terminated, may be empty
 */
struct shimos_kml_error {
	struct shimos_kml_header hdr;
	char text[SHIMOS_KML_ERROR_LEN];
};

#define SHIMOS_KML_STATUS	_IOWR('K', 0x60, struct shimos_kml_status)
#define SHIMOS_KML_TASKS	_IOWR('K', 0x61, struct shimos_kml_tasks)
#define SHIMOS_KML_TRUST	_IOWR('K', 0x62, struct shimos_kml_trust)
#define SHIMOS_KML_ENTRY	_IOWR('K', 0x63, struct shimos_kml_entry)
#define SHIMOS_KML_ERROR	_IOWR('K', 0x64, struct shimos_kml_error)

#endif
