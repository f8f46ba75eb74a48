/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The call of /dev/shimos that tells how a partition is.
 */
#ifndef _UAPI_SHIMOS_STATUS_H
#define _UAPI_SHIMOS_STATUS_H

#include "shimos_call.h"
#include "shimos_create.h"	/* struct shimos_range */

#define SHIMOS_STATUS_NEXT	(1U << 0)	/* the first with an id above the given one */

/**
 * struct shimos_status - SHIMOS_IOC_STATUS: everything there is to know about one partition
 * @hdr: of the argument
 * @id: in, and out with NEXT
 * @flags: in: SHIMOS_STATUS_NEXT; out: SHIMOS_CREATE_*
 * @name: as it was created
 * @state: enum shimos_state
 * @cause: enum shimos_cause of the last stop
 * @event: counts state changes, for WAIT
 * @memory: bytes
 * @cpu_count: of @cpus
 * @range_count: of @ranges
 * @cpus: logical CPU numbers of the host
 * @ranges: its memory
 * @starts: how often it was started
 * @agent: ABI version of the agent, 0: none yet
 * @uptime_ns: since the last start; 0 if not running
 * @boot_ns: last start to ready; 0 if not ready
 * @silent_ns: since the last heartbeat was seen
 * @busy_ns: CPU time of this start, as the agent says
 * @host_bytes: host memory spent beyond its own pages
 * @kernel_bytes: size of the image in its memory
 * @initrd_bytes: the same of the initrd
 * @kernel_version: as the image states it
 * @cmdline: as handed to the kernel
 * @message: last words: panic text; NUL-terminated
 * @kind: enum shimos_kind
 * @faults: stray accesses: of the host, to SHIMOS_CREATE_PROTECTED; of its own kernel since the
 *	last start, of SHIMOS_CREATE_GUARDED
 * @budget_ns: SHIMOS_KIND_RT; 0 for others, as the next two
 * @period_ns: SHIMOS_KIND_RT
 * @priority: SHIMOS_KIND_RT
 * @reserved: 0
 * @exits: SHIMOS_CREATE_GUARDED: times that its kernel was left
 * @watch: whom it watches; empty: nobody, and all below is 0
 * @watch_rounds: of this start, as it says itself
 * @watch_pages: that it watches now
 * @watch_found: how often it has found one that was changed
 * @watch_nonsense: reports that could not be believed
 * @more_count: how many CPUs it may get later
 * @more: these, as the host calls them; it may have them already
 */
struct shimos_status {
	struct shimos_header hdr;
	__u32 id;
	__u32 flags;
	char name[SHIMOS_NAME_LEN];
	__u32 state;
	__u32 cause;
	__u64 event;
	__u64 memory;
	__u32 cpu_count;
	__u32 range_count;
	__u32 cpus[SHIMOS_MAX_CPUS];
	struct shimos_range ranges[SHIMOS_MAX_RANGES];
	__u32 starts;
	__u32 agent;
	__u64 uptime_ns;
	__u64 boot_ns;
	__u64 silent_ns;
	__u64 busy_ns;
	__u64 host_bytes;
	__u64 kernel_bytes;
	__u64 initrd_bytes;
	char kernel_version[128];
	char cmdline[2048];
	char message[256];
	__u32 kind;
	__u32 faults;
	__u64 budget_ns;
	__u64 period_ns;
	__u32 priority;
	__u32 reserved;
	__u64 exits;
	char watch[SHIMOS_NAME_LEN];
	__u64 watch_rounds;
	__u32 watch_pages;
	__u32 watch_found;
	__u32 watch_nonsense;
	__u32 more_count;
	__u32 more[SHIMOS_MAX_CPUS];
};

#endif
