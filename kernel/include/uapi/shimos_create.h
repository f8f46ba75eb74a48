/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos that make a partition: its CPUs and memory, its PCIe
 * devices, and its kernel.
 */
#ifndef _UAPI_SHIMOS_CREATE_H
#define _UAPI_SHIMOS_CREATE_H

#include "shimos_call.h"

#define SHIMOS_NAME_LEN		32	/* with the final NUL */
#define SHIMOS_CMDLINE_LEN	1536	/* what a user may pass, with the NUL */
#define SHIMOS_MAX_RANGES	16
#define SHIMOS_MAX_CPUS		64	/* per partition */
#define SHIMOS_MAX_PCI		16	/* PCI functions per partition */

/**
 * enum shimos_kind - what runs in a partition
 * @SHIMOS_KIND_LINUX: a stock Linux, on CPUs of its own
 * @SHIMOS_KIND_RT: a real-time program that shares a CPU with the host and goes before it; see
 *	shimos_rt.h.  It has no initrd and no command line
 */
enum shimos_kind {
	SHIMOS_KIND_LINUX = 0,
	SHIMOS_KIND_RT,
};

/* How long a real-time partition may have its CPU; what is left of a period is the host's. */
#define SHIMOS_RT_MIN_PERIOD_NS		100000ULL
#define SHIMOS_RT_MAX_PERIOD_NS		1000000000ULL
#define SHIMOS_RT_MIN_BUDGET_NS		10000ULL
#define SHIMOS_RT_MAX_BUDGET_PERCENT	95
#define SHIMOS_RT_DEFAULT_PERIOD_NS	10000000ULL	/* with the most that is allowed */

/* Which real-time partition of a CPU goes first: the highest; the host goes last. */
#define SHIMOS_RT_MIN_PRIORITY		1
#define SHIMOS_RT_MAX_PRIORITY		99
#define SHIMOS_RT_DEFAULT_PRIORITY	50

#define SHIMOS_CREATE_RESTART	(1U << 0)	/* start again when it reboots */
/*
 * SHIMOS_KIND_RT: while it runs, the host can read and write no more of its memory than
 * both use.
 */
#define SHIMOS_CREATE_PROTECTED	(1U << 1)
/*
 * SHIMOS_KIND_LINUX: its kernel sees and reaches no more of the machine than what is the
 * partition's; needs a processor that can do that.
 */
#define SHIMOS_CREATE_GUARDED	(1U << 2)
/* SHIMOS_KIND_RT: start again from its image when it ends by SHIMOS_CAUSE_CHANGED. */
#define SHIMOS_CREATE_RENEW	(1U << 3)

/**
 * struct shimos_create - SHIMOS_IOC_CREATE: take CPUs and memory
 * @hdr: of the argument
 * @name: [A-Za-z0-9][A-Za-z0-9._-]*, not "host"
 * @memory: bytes, multiple of memory_align
 * @cpus: pointer to __u32 logical CPU numbers
 * @cpu_count: how many; the first one boots
 * @flags: SHIMOS_CREATE_*
 * @id: out: never reused
 * @kind: enum shimos_kind
 * @budget_ns: SHIMOS_KIND_RT: how long it may have its CPU in each period; 0 with @period_ns: the
 *	default.  Others: 0
 * @period_ns: SHIMOS_KIND_RT: the period.  Others: 0
 * @priority: SHIMOS_KIND_RT: SHIMOS_RT_*_PRIORITY; 0: the default.  Others: 0
 * @node: SHIMOS_KIND_LINUX: one more than the number of the node that all of its memory is to be
 *	in; 0: that of its first CPU, and of other nodes what is missing.  Others: 0
 * @watch: SHIMOS_KIND_RT: the name of another such partition, whose program it watches whenever
 *	both run; empty: none
 * @more_cpus: SHIMOS_KIND_LINUX: pointer to __u32 numbers of CPUs that it may get later, by
 *	SHIMOS_IOC_RESIZE; they stay whose they are
 * @more_count: how many
 * @reserved: 0
 *
 * Until it is started, the partition belongs to the open file that made it and is destroyed with
 * it.
 */
struct shimos_create {
	struct shimos_header hdr;
	char name[SHIMOS_NAME_LEN];
	__u64 memory;
	__u64 cpus;
	__u32 cpu_count;
	__u32 flags;
	__u32 id;
	__u32 kind;
	__u64 budget_ns;
	__u64 period_ns;
	__u32 priority;
	__u32 node;
	char watch[SHIMOS_NAME_LEN];
	__u64 more_cpus;
	__u32 more_count;
	__u32 reserved;
};

/* Of a device that is given: what it may reach is not confined to its partition's memory. */
#define SHIMOS_PCI_UNSAFE	(1U << 0)

/**
 * struct shimos_pci - SHIMOS_IOC_PCI: give a PCIe device to a partition that has no kernel yet
 * @hdr: of the argument
 * @id: of the partition
 * @segment: what Linux calls the domain
 * @bus: in that segment
 * @device: on that bus
 * @function: of that device
 * @reserved: 0
 * @flags: SHIMOS_PCI_*
 *
 * An IOMMU confines it, unless it shall be unsafe; without one it must.
 * It leaves its driver, and comes back to it when the partition is destroyed.
 */
struct shimos_pci {
	struct shimos_header hdr;
	__u32 id;
	__u32 segment;
	__u8 bus;
	__u8 device;
	__u8 function;
	__u8 reserved;
	__u32 flags;
};

/**
 * struct shimos_load - SHIMOS_IOC_LOAD: copy kernel and initrd into the partition's memory
 * @hdr: of the argument
 * @id: of the partition
 * @kernel_fd: regular file open for reading
 * @initrd_fd: the same, or -1
 * @cmdline_len: bytes without a NUL
 * @cmdline: pointer to the command line
 */
struct shimos_load {
	struct shimos_header hdr;
	__u32 id;
	__s32 kernel_fd;
	__s32 initrd_fd;
	__u32 cmdline_len;
	__u64 cmdline;
};

/**
 * struct shimos_range - a piece of a partition's memory
 * @start: physical address
 * @size: bytes
 */
struct shimos_range {
	__u64 start;
	__u64 size;
};

#endif
