/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos about one real-time partition: how it shares its CPU,
 * which one that is, and whether its program is whole.  Refused for other
 * partitions with -EINVAL.
 */
#ifndef _UAPI_SHIMOS_RT_PARTITION_H
#define _UAPI_SHIMOS_RT_PARTITION_H

#include "shimos_call.h"

/**
 * struct shimos_rt_status - SHIMOS_IOC_RT: how a real-time partition shares its CPU, counted since its last start
 * @hdr: of the argument
 * @id: of the partition
 * @cpu: out: which one, as the host calls it
 * @ran_ns: out: time that it had the CPU
 * @entered: out: times that it got the CPU
 * @masked: out: of these, times that the host had interrupts disabled
 * @exits: out: times that it left the CPU, for whatever reason
 * @timers: out: its timer's interrupts
 * @past: out: deadlines that were over when it asked for them
 * @throttled: out: times that its budget was used up while it wanted more
 * @host_exits: out: times that the host left this CPU, since it is shared
 * @moves: out: from one CPU to another
 * @moved_ns: out: how long it was on none, the last time
 * @moved_max_ns: out: and the longest
 */
struct shimos_rt_status {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;
	__u64 ran_ns;
	__u64 entered;
	__u64 masked;
	__u64 exits;
	__u64 timers;
	__u64 past;
	__u64 throttled;
	__u64 host_exits;
	__u64 moves;
	__u64 moved_ns;
	__u64 moved_max_ns;
};

/**
 * struct shimos_rt_move - SHIMOS_IOC_RT_MOVE: a real-time partition shares another CPU from now on
 * @hdr: of the argument
 * @id: of the partition
 * @cpu: which one, as the host calls it
 *
 * Whether or not it runs, and it does not notice.  It is all or nothing.
 */
struct shimos_rt_move {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;
};

/**
 * struct shimos_rt_priority - SHIMOS_IOC_RT_PRIORITY: a real-time partition has another priority from now on
 * @hdr: of the argument
 * @id: of the partition
 * @priority: SHIMOS_RT_MIN_PRIORITY to SHIMOS_RT_MAX_PRIORITY
 *
 * Whether or not it runs, and it keeps it when it is started again.
 */
struct shimos_rt_priority {
	struct shimos_header hdr;
	__u32 id;
	__u32 priority;
};

/**
 * struct shimos_rt_check - SHIMOS_IOC_RT_CHECK: is all of a program's memory that nobody may change as its image has it?
 * @hdr: of the argument
 * @id: of the partition
 * @pages: out: that were looked at
 * @changed: out: so many of these are not as they were loaded
 * @image_changed: out: nor is the copy of its image, kept for another start
 * @first: out: the program's address of the first of these pages
 *
 * The host looks, so not while that memory is protected from it (-EBUSY), nor before the
 * partition's first start.
 */
struct shimos_rt_check {
	struct shimos_header hdr;
	__u32 id;
	__u32 pages;
	__u32 changed;
	__u32 image_changed;
	__u64 first;
};

#endif
