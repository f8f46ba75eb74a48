/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The page that KLoader and the agent of one partition share, and the areas
 * behind it.  It lies in the partition's own memory, outside of what its kernel
 * takes for RAM; the platform description names it (see shimos_acpi.h).
 *
 * KLoader writes the header before it starts the partition.  From then on each
 * field has one writer, named below.  What the other side wrote is read once
 * and checked before it is used.
 */
#ifndef _UAPI_SHIMOS_SHARED_H
#define _UAPI_SHIMOS_SHARED_H

#include <linux/types.h>
#include "shimos_ikc.h"	/* SHIMOS_BELL */

#define SHIMOS_SHARED_MAGIC	0x31534f4d494853ULL	/* "SHIMOS1" */
#define SHIMOS_SHARED_VERSION	4

/* Where things lie, in bytes from the start of the shared area. */
#define SHIMOS_SHARED_SIZE	0x40000
#define SHIMOS_PLATFORM		0x1000	/* what the platform description needs */
#define SHIMOS_CONSOLE_IN	0x2000	/* struct shimos_console_in */
#define SHIMOS_CONSOLE_OUT	0x4000	/* struct shimos_console_out */
#define SHIMOS_LAST_LOG		0x20000	/* struct shimos_last_log */

#define SHIMOS_CONSOLE_IN_LEN	0x1000	/* powers of two */
#define SHIMOS_CONSOLE_OUT_LEN	0x10000
#define SHIMOS_LAST_LOG_LEN	0x10000

/* What the host asks of the agent. */
enum shimos_request {
	SHIMOS_REQUEST_NONE = 0,
	SHIMOS_REQUEST_POWEROFF,
};

struct shimos_shared {
	/* KLoader's, constant while the partition runs */
	__u64 magic;
	__u32 version;		/* SHIMOS_SHARED_VERSION */
	__u32 size;		/* SHIMOS_SHARED_SIZE */
	char name[32];
	__u64 ikc_area;		/* physical address of its chunk 0 */
	__u32 ikc_kernel;	/* its number there */
	__u32 ikc_life;		/* which life this is */

	/* KLoader's */
	__u32 request;		/* enum shimos_request */
	__u32 watchers;		/* ring for console output if not 0 */
	__u64 host_bell;	/* SHIMOS_BELL */
	__u32 stop;		/* 1: CPUs that are interrupted for it shall stand still */

	/* the agent's */
	__u32 agent_version __attribute__((aligned(64)));
	__u32 ready;		/* 1: containment is armed */
	__u32 cause;		/* enum shimos_cause, written when it ends */
	__u32 heartbeat;	/* counts seconds */
	__u64 busy_ns;		/* CPU time spent, of all CPUs; with the heartbeat */
	__u64 bell;		/* SHIMOS_BELL */
	char message[256];	/* panic text */
};

/*
 * Output of the partition's console.  The writer never waits: it overwrites the
 * oldest bytes.  `head` counts all bytes ever written; the byte number n lies
 * at data[n % SHIMOS_CONSOLE_OUT_LEN].
 */
struct shimos_console_out {
	__u64 head;		/* the agent's */
	__u64 reserved[7];
	__u8 data[SHIMOS_CONSOLE_OUT_LEN];
};

/* Keyboard input: one writer (KLoader), one reader (the agent). */
struct shimos_console_in {
	__u64 head;		/* KLoader's: bytes ever written */
	__u64 reserved[7];
	__u64 tail;		/* the agent's: bytes ever read */
	__u64 reserved2[7];
	__u8 data[SHIMOS_CONSOLE_IN_LEN];
};

/* The end of the kernel log as the agent's panic handler saw it. */
struct shimos_last_log {
	__u32 length;		/* the agent's: bytes valid in text */
	__u32 reserved[15];
	char text[SHIMOS_LAST_LOG_LEN];
};

#endif
