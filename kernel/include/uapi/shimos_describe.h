/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos about a partition's platform description, where it is
 * for the caller to write (SHIMOS_NEEDS_DESCRIPTION).
 */
#ifndef _UAPI_SHIMOS_DESCRIBE_H
#define _UAPI_SHIMOS_DESCRIBE_H

#include "shimos_call.h"
#include "shimos_create.h"	/* struct shimos_range */

#define SHIMOS_DESCRIPTION_MAX	0x10000	/* bytes */

/* How the firmware is called. */
#define SHIMOS_CONDUIT_HVC	1
#define SHIMOS_CONDUIT_SMC	2

/**
 * struct shimos_platform - SHIMOS_IOC_PLATFORM: what the description of a partition that has a kernel must say
 * @hdr: of the argument
 * @id: of the partition
 * @conduit: out: SHIMOS_CONDUIT_*
 * @shared: out: physical address of the area shared with the agent
 * @shared_size: out: bytes, as all sizes
 * @initrd: out: physical address, 0: none
 * @initrd_size: out
 * @distributor: out: what it takes for the GIC's
 * @distributor_size: out
 * @redistributors: out: the first frame
 * @redistributors_size: out
 * @timer: out: PPIs: secure, non-secure, virtual, hypervisor; 0: none
 * @timer_flags: out: their trigger, as a device tree has it
 * @cpu_count: out: of @cpus
 * @cpus: out: hardware ids, in the order of the status' cpus
 * @range_count: out: of @ranges
 * @reserved: 0
 * @ranges: out: RAM; the rest is not the kernel's
 *
 * The description is a device tree on arm64.  Refused where the architecture writes it by itself.
 */
struct shimos_platform {
	struct shimos_header hdr;
	__u32 id;
	__u32 conduit;
	__u64 shared;
	__u64 shared_size;
	__u64 initrd;
	__u64 initrd_size;
	__u64 distributor;
	__u64 distributor_size;
	__u64 redistributors;
	__u64 redistributors_size;
	__u32 timer[4];
	__u32 timer_flags;
	__u32 cpu_count;
	__u64 cpus[SHIMOS_MAX_CPUS];
	__u32 range_count;
	__u32 reserved;
	struct shimos_range ranges[SHIMOS_MAX_RANGES];
};

/**
 * struct shimos_describe - SHIMOS_IOC_DESCRIBE: give a partition its platform description
 * @hdr: of the argument
 * @id: of the partition, which has a kernel and does not run
 * @size: bytes, at most SHIMOS_DESCRIPTION_MAX
 * @description: pointer
 * @seed: where each start puts 8 random bytes; 0: nowhere
 * @start: where each puts its number, 10 decimal digits; 0: nowhere
 * @entropy: where each puts 64 more random bytes; 0: nowhere
 * @reserved: 0
 *
 * It is kept, and each start begins with a copy.
 */
struct shimos_describe {
	struct shimos_header hdr;
	__u32 id;
	__u32 size;
	__u64 description;
	__u32 seed;
	__u32 start;
	__u32 entropy;
	__u32 reserved;
};

#endif
