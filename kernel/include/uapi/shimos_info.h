/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The call of /dev/shimos about KLoader and its host.
 */
#ifndef _UAPI_SHIMOS_INFO_H
#define _UAPI_SHIMOS_INFO_H

#include "shimos_call.h"

/* The architecture can stop a CPU from outside, whatever it does. */
#define SHIMOS_CAN_STOP_CPUS	(1U << 0)
/* What a partition is told of its platform is for the caller to write: SHIMOS_IOC_DESCRIBE. */
#define SHIMOS_NEEDS_DESCRIPTION	(1U << 1)

/**
 * struct shimos_info - SHIMOS_IOC_INFO: what this KLoader is and whether this host can serve
 * @hdr: of the argument
 * @memory_min: out: bytes, least for one partition
 * @memory_align: out: bytes, granule of partition memory
 * @partitions: out: how many exist
 * @host_ok: out: 1 if partitions can be started
 * @capabilities: out: SHIMOS_CAN_STOP_CPUS, SHIMOS_NEEDS_DESCRIPTION
 * @rt_ok: out: 1 if CPUs can be shared
 * @rt_memory_min: out: bytes, least for a real-time partition
 * @rt_memory_max: out: bytes, most
 * @host_problem: out: why partitions cannot be started, and the fix
 * @rt_problem: out: the same, about sharing
 * @guard_ok: out: 1 if partitions can be guarded
 * @reserved: 0
 * @guard_problem: out: why they cannot, and the fix
 */
struct shimos_info {
	struct shimos_header hdr;
	__u64 memory_min;
	__u64 memory_align;
	__u32 partitions;
	__u32 host_ok;
	__u32 capabilities;
	__u32 rt_ok;
	__u64 rt_memory_min;
	__u64 rt_memory_max;
	char host_problem[SHIMOS_ERROR_LEN];
	char rt_problem[SHIMOS_ERROR_LEN];
	__u32 guard_ok;
	__u32 reserved;
	char guard_problem[SHIMOS_ERROR_LEN];
};

#endif
