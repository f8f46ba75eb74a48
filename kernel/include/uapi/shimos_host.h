/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos about the host's own CPUs, while real-time programs
 * share some of them.
 */
#ifndef _UAPI_SHIMOS_HOST_H
#define _UAPI_SHIMOS_HOST_H

#include "shimos_call.h"

/**
 * struct shimos_host_move - SHIMOS_IOC_HOST_MOVE: one of the host's own CPUs runs on another one's core from now on
 * @hdr: of the argument
 * @cpu: the one that moves
 * @core: the other one's number; its own: it comes home
 *
 * It takes turns there with who is there already; while a CPU is shared, so refused without a
 * real-time partition.  All come home when the last one is removed.
 */
struct shimos_host_move {
	struct shimos_header hdr;
	__u32 cpu;
	__u32 core;
};

/* Where the host's CPUs are while real-time programs share some of them. */
#define SHIMOS_HOST_POLICY_FIXED	0	/* where they were moved to; one whose core a program has waits */
#define SHIMOS_HOST_POLICY_LHP		1	/* such a one runs elsewhere, so who waits for its locks need not */
#define SHIMOS_HOST_POLICY_SPREAD	2	/* on the cores that no program shares */
#define SHIMOS_HOST_POLICY_PACK		3	/* all on the core that the first program shares */
#define SHIMOS_HOST_POLICY_USER_ONLY	4	/* the kernel runs on no core that a program shares */

#define SHIMOS_HOST_POLICY_SET	(1u << 0)

/**
 * struct shimos_host_policy - SHIMOS_IOC_HOST_POLICY: which one it is, and another one with SET
 * @hdr: of the argument
 * @policy: SHIMOS_HOST_POLICY_*; in with SET, and out
 * @flags: SHIMOS_HOST_POLICY_SET
 */
struct shimos_host_policy {
	struct shimos_header hdr;
	__u32 policy;
	__u32 flags;
};

/**
 * struct shimos_host_priority - SHIMOS_IOC_HOST_PRIORITY: up to which priority tasks go before programs
 * @hdr: of the argument
 * @cpu: one of the host's, which is shared
 * @priority: up to this one a task has its own; 0: the CPU goes after all programs
 *
 * Real-time tasks of that CPU go before real-time programs that are less urgent from now on.
 */
struct shimos_host_priority {
	struct shimos_header hdr;
	__u32 cpu;
	__u32 priority;
};

#define SHIMOS_HOST_CPUS	16

/**
 * struct shimos_host_cpu - where one of the host's CPUs is, and how it came there
 * @cpu: its number
 * @core: where it is
 * @exits: times that it was left, since the layer is under it
 * @moves: from one core to another
 * @moved_ns: how long it was on none, the last time
 * @moved_max_ns: and the longest
 * @priority: up to this one its tasks go before programs; 0: they do not
 * @lost: not 0: it has had a triple fault, and never runs again
 */
struct shimos_host_cpu {
	__u32 cpu;
	__u32 core;
	__u64 exits;
	__u64 moves;
	__u64 moved_ns;
	__u64 moved_max_ns;
	__u32 priority;
	__u32 lost;
};

/**
 * struct shimos_host_cpus - SHIMOS_IOC_HOST_CPUS: the host's own CPUs that can move, and under which the layer is now
 * @hdr: of the argument
 * @count: out: so many of @at
 * @reserved: 0
 * @at: out
 */
struct shimos_host_cpus {
	struct shimos_header hdr;
	__u32 count;
	__u32 reserved;
	struct shimos_host_cpu at[SHIMOS_HOST_CPUS];
};

#endif
