/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos about the interrupts of a real-time partition's CPU:
 * whose they were, and how late the partition's own were.  Refused for other
 * partitions with -EINVAL.
 */
#ifndef _UAPI_SHIMOS_RT_INTERRUPTS_H
#define _UAPI_SHIMOS_RT_INTERRUPTS_H

#include "shimos_call.h"

#define SHIMOS_RT_VECTORS	256

/**
 * struct shimos_rt_vector_count - how many interrupts of one vector there were
 * @count: of interrupts
 * @number: the vector's
 * @name: NUL-terminated; empty: none is known
 */
struct shimos_rt_vector_count {
	__u64 count;
	__u32 number;
	char name[12];
};

/**
 * struct shimos_rt_vectors - SHIMOS_IOC_RT_VECTORS: which interrupts the CPU of a real-time partition has had
 * @hdr: of the argument
 * @id: of the partition
 * @cpu: out: which one, as the host calls it
 * @host: out: the host took them, since the CPU is shared; with its names in /proc/interrupts
 * @layer: out: the layer's own, which the host never sees: the timer of both, and the bell
 * @program: out: raised for the program since its last start: its timer, and the bell of its CPU
 *
 * Each went to one of these: the host, the layer below it, or, from the layer, the partition's
 * program, which has vectors of its own.  What nobody has a use for went to the host.
 */
struct shimos_rt_vectors {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;
	struct shimos_rt_vector_count host[SHIMOS_RT_VECTORS];
	struct shimos_rt_vector_count layer[2];
	struct shimos_rt_vector_count program[2];
};

/*
 * A histogram's buckets.  Each number below SHIMOS_RT_LATENCY_STEPS has its own, and from
 * there on each octave, from a power of two to the next, has as many of equal width.  The last
 * one is for all that is greater.
 */
#define SHIMOS_RT_LATENCY_STEPS		32
#define SHIMOS_RT_LATENCY_BUCKETS	545

/**
 * struct shimos_rt_latency - SHIMOS_IOC_RT_LATENCY: how late a real-time partition gets its timer's interrupts
 * @hdr: of the argument
 * @id: of the partition
 * @reserved: 0
 * @cycles_per_second: out
 * @count: out: interrupts; if there are none, all below is 0
 * @min: out
 * @max: out
 * @sum: out: of all
 * @past: out: deadlines that were over when it asked for them
 * @buckets: out: each stays at its greatest value
 * @reserved2: 0
 *
 * Counted since its last start, in cycles: from the deadline, or from the moment when it asked if
 * that was later, until it is entered with the interrupt.  While it runs, the sums can be one
 * ahead of the buckets.
 */
struct shimos_rt_latency {
	struct shimos_header hdr;
	__u32 id;
	__u32 reserved;
	__u64 cycles_per_second;
	__u64 count;
	__u64 min;
	__u64 max;
	__u64 sum;
	__u64 past;
	__u32 buckets[SHIMOS_RT_LATENCY_BUCKETS];
	__u32 reserved2;
};

#endif
