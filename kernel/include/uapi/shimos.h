/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface of /dev/shimos, between KLoader and the shimos tool.
 *
 * Every argument starts with struct shimos_header.  A caller fills in the size
 * and the version it was built with; anything else is refused with -EPROTO, the
 * right ones in their places, and a text that names both.  SHIMOS_IOC_ERROR reads
 * the text of the last refusal on the same open file, whatever version the caller
 * has.  All reserved fields must be zero.
 */
#ifndef _UAPI_SHIMOS_H
#define _UAPI_SHIMOS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SHIMOS_ABI_VERSION	7
#define SHIMOS_NAME_LEN		32	/* with the final NUL */
#define SHIMOS_CMDLINE_LEN	1536	/* what a user may pass, with the NUL */
#define SHIMOS_ERROR_LEN	512	/* with the final NUL */
#define SHIMOS_MAX_RANGES	16
#define SHIMOS_MAX_CPUS		64	/* per partition */
#define SHIMOS_MAX_PCI		16	/* PCI functions per partition */
#define SHIMOS_DESCRIPTION_MAX	0x10000	/* bytes */

/* The life of a partition; docs/architecture.md draws the legal steps. */
enum shimos_state {
	SHIMOS_CREATED = 1,	/* has CPUs and memory, no kernel */
	SHIMOS_LOADED,		/* has a kernel, never ran */
	SHIMOS_STARTING,	/* CPUs run, the agent has not reported yet */
	SHIMOS_RUNNING,		/* the agent reported ready (or there is none) */
	SHIMOS_STOPPING,	/* asked to power off */
	SHIMOS_STOPPED,		/* CPUs parked after an orderly end or a kill */
	SHIMOS_CRASHED,		/* CPUs parked after a panic or a reset */
	SHIMOS_STUCK,		/* over, but a CPU or a device did not stop: all is kept */
};

/* Why a partition last stopped. */
enum shimos_cause {
	SHIMOS_CAUSE_NONE = 0,
	SHIMOS_CAUSE_POWEROFF,	/* powered itself off */
	SHIMOS_CAUSE_REBOOT,	/* asked for a reboot */
	SHIMOS_CAUSE_HALT,	/* halted */
	SHIMOS_CAUSE_PANIC,	/* its kernel panicked */
	SHIMOS_CAUSE_RESET,	/* reset itself without a word (no agent yet) */
	SHIMOS_CAUSE_KILLED,	/* killed from the host */
	SHIMOS_CAUSE_FAULT,	/* did what it may not, and was stopped for it */
	SHIMOS_CAUSE_FAILED,	/* says itself that it cannot go on */
	SHIMOS_CAUSE_CHANGED,	/* its memory was changed from outside, as one that watches found */
};

/* What runs in a partition. */
enum shimos_kind {
	SHIMOS_KIND_LINUX = 0,	/* a stock Linux, on CPUs of its own */
	/*
	 * A real-time program that shares a CPU with the host and goes before it; see
	 * shimos_rt.h.  It has no initrd and no command line.
	 */
	SHIMOS_KIND_RT,
};

struct shimos_header {
	__u32 size;		/* sizeof the whole argument; out on -EPROTO */
	__u32 version;		/* SHIMOS_ABI_VERSION; out on -EPROTO */
};

/* The architecture can stop a CPU from outside, whatever it does. */
#define SHIMOS_CAN_STOP_CPUS	(1U << 0)
/* What a partition is told of its platform is for the caller to write: SHIMOS_IOC_DESCRIBE. */
#define SHIMOS_NEEDS_DESCRIPTION	(1U << 1)

/* SHIMOS_IOC_INFO: what this KLoader is and whether this host can serve. */
struct shimos_info {
	struct shimos_header hdr;
	__u64 memory_min;		/* out: bytes, least for one partition */
	__u64 memory_align;		/* out: bytes, granule of partition memory */
	__u32 partitions;		/* out: how many exist */
	__u32 host_ok;			/* out: 1 if partitions can be started */
	__u32 capabilities;		/* out: SHIMOS_CAN_* */
	__u32 rt_ok;			/* out: 1 if CPUs can be shared */
	__u64 rt_memory_min;		/* out: bytes, least for a real-time partition */
	__u64 rt_memory_max;		/* out: bytes, most */
	char host_problem[SHIMOS_ERROR_LEN];	/* out: why not, and the fix */
	char rt_problem[SHIMOS_ERROR_LEN];	/* out: the same, about sharing */
	__u32 guard_ok;			/* out: 1 if partitions can be guarded */
	__u32 reserved;
	char guard_problem[SHIMOS_ERROR_LEN];	/* out: why not, and the fix */
};

/* SHIMOS_IOC_ERROR: text for the last failed call on this open file. */
struct shimos_error {
	struct shimos_header hdr;
	char text[SHIMOS_ERROR_LEN];	/* out: NUL-terminated, may be empty */
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

/*
 * SHIMOS_IOC_CREATE: take CPUs and memory.  Until it is started, the partition
 * belongs to the open file that made it and is destroyed with it.
 */
struct shimos_create {
	struct shimos_header hdr;
	char name[SHIMOS_NAME_LEN];	/* [A-Za-z0-9][A-Za-z0-9._-]*, not "host" */
	__u64 memory;			/* bytes, multiple of memory_align */
	__u64 cpus;			/* pointer to __u32 logical CPU numbers */
	__u32 cpu_count;		/* the first one boots */
	__u32 flags;			/* SHIMOS_CREATE_* */
	__u32 id;			/* out: never reused */
	__u32 kind;			/* enum shimos_kind */
	/*
	 * SHIMOS_KIND_RT: how long it may have its CPU in each period; both 0: the default.
	 * Others: 0.
	 */
	__u64 budget_ns;
	__u64 period_ns;
	__u32 priority;			/* SHIMOS_KIND_RT: SHIMOS_RT_*_PRIORITY; 0: the default.  Others: 0 */
	__u32 reserved;
	/*
	 * SHIMOS_KIND_RT: the name of another such partition, whose program it watches
	 * whenever both run; empty: none.
	 */
	char watch[SHIMOS_NAME_LEN];
};

/* SHIMOS_IOC_LOAD: copy kernel and initrd into the partition's memory. */
struct shimos_load {
	struct shimos_header hdr;
	__u32 id;
	__s32 kernel_fd;		/* regular file open for reading */
	__s32 initrd_fd;		/* the same, or -1 */
	__u32 cmdline_len;		/* bytes without a NUL */
	__u64 cmdline;			/* pointer to the command line */
};

#define SHIMOS_START_NO_AGENT	(1U << 0)	/* do not wait for a ready flag */

/* SHIMOS_IOC_START, _STOP, _KILL, _DESTROY, _CONSOLE, _MEMORY */
struct shimos_target {
	struct shimos_header hdr;
	__u32 id;
	__u32 flags;			/* SHIMOS_START_* for START, else 0 */
};

struct shimos_range {
	__u64 start;			/* physical address */
	__u64 size;			/* bytes */
};

#define SHIMOS_STATUS_NEXT	(1U << 0)	/* the first with an id above hdr's */

/* SHIMOS_IOC_STATUS: everything there is to know about one partition. */
struct shimos_status {
	struct shimos_header hdr;
	__u32 id;			/* in, and out with NEXT */
	__u32 flags;			/* in: SHIMOS_STATUS_NEXT; out: SHIMOS_CREATE_* */
	char name[SHIMOS_NAME_LEN];
	__u32 state;			/* enum shimos_state */
	__u32 cause;			/* enum shimos_cause of the last stop */
	__u64 event;			/* counts state changes, for WAIT */
	__u64 memory;			/* bytes */
	__u32 cpu_count;
	__u32 range_count;
	__u32 cpus[SHIMOS_MAX_CPUS];	/* logical CPU numbers of the host */
	struct shimos_range ranges[SHIMOS_MAX_RANGES];
	__u32 starts;			/* how often it was started */
	__u32 agent;			/* ABI version of the agent, 0: none yet */
	__u64 uptime_ns;		/* since the last start; 0 if not running */
	__u64 boot_ns;			/* last start to ready; 0 if not ready */
	__u64 silent_ns;		/* since the last heartbeat was seen */
	__u64 busy_ns;			/* CPU time of this start, as the agent says */
	__u64 host_bytes;		/* host memory spent beyond its own pages */
	__u64 kernel_bytes;		/* size of the image in its memory */
	__u64 initrd_bytes;
	char kernel_version[128];	/* as the image states it */
	char cmdline[2048];		/* as handed to the kernel */
	char message[256];		/* last words: panic text; NUL-terminated */
	__u32 kind;			/* enum shimos_kind */
	/*
	 * Stray accesses: of the host, to SHIMOS_CREATE_PROTECTED; of its own kernel since the
	 * last start, of SHIMOS_CREATE_GUARDED.
	 */
	__u32 faults;
	__u64 budget_ns;		/* SHIMOS_KIND_RT; 0 for others, as the next two */
	__u64 period_ns;
	__u32 priority;
	__u32 reserved;
	__u64 exits;			/* SHIMOS_CREATE_GUARDED: times that its kernel was left */
	char watch[SHIMOS_NAME_LEN];	/* whom it watches; empty: nobody, and all below is 0 */
	__u64 watch_rounds;		/* of this start, as it says itself */
	__u32 watch_pages;		/* that it watches now */
	__u32 watch_found;		/* how often it has found one that was changed */
	__u32 watch_nonsense;		/* reports that could not be believed */
	__u32 reserved2;
};

/*
 * SHIMOS_IOC_RT: how a real-time partition shares its CPU, counted since its last start;
 * refused for others with -EINVAL.
 */
struct shimos_rt_status {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;			/* out: which one, as the host calls it */
	__u64 ran_ns;			/* out: time that it had the CPU */
	__u64 entered;			/* out: times that it got the CPU, of which */
	__u64 masked;			/* out: the host had interrupts disabled */
	__u64 exits;			/* out: times that it left the CPU, for whatever reason */
	__u64 timers;			/* out: its timer's interrupts */
	__u64 past;			/* out: deadlines that were over when it asked for them */
	__u64 throttled;		/* out: times that its budget was used up while it wanted more */
	__u64 host_exits;		/* out: times that the host left this CPU, since it is shared */
	__u64 moves;			/* out: from one CPU to another */
	__u64 moved_ns;			/* out: how long it was on none, the last time, */
	__u64 moved_max_ns;		/* out: and the longest */
};

/*
 * SHIMOS_IOC_RT_CHECK: is all of a real-time partition's memory that nobody may change as its
 * image has it?  The host looks, so not while that is protected from it (-EBUSY), nor before its
 * first start; refused for others with -EINVAL.
 */
struct shimos_rt_check {
	struct shimos_header hdr;
	__u32 id;
	__u32 pages;			/* out: that were looked at, of which */
	__u32 changed;			/* out: so many are not as they were loaded */
	__u32 image_changed;		/* out: nor is the copy of its image, kept for another start */
	__u64 first;			/* out: the program's address of the first of these pages */
};

/*
 * SHIMOS_IOC_RT_MOVE: a real-time partition shares another CPU from now on, whether or not it
 * runs, which it does not notice; refused for others with -EINVAL.  It is all or nothing.
 */
struct shimos_rt_move {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;
};

/*
 * SHIMOS_IOC_RT_PRIORITY: a real-time partition has another priority from now on, whether or not
 * it runs, and keeps it when it is started again; refused for others with -EINVAL.
 */
struct shimos_rt_priority {
	struct shimos_header hdr;
	__u32 id;
	__u32 priority;			/* SHIMOS_RT_MIN_PRIORITY to SHIMOS_RT_MAX_PRIORITY */
};

/*
 * SHIMOS_IOC_HOST_MOVE: one of the host's own CPUs runs on another one's core from now on, and
 * takes turns there with who is there already; while a CPU is shared, so refused without a
 * real-time partition.  All come home when the last one is removed.
 */
struct shimos_host_move {
	struct shimos_header hdr;
	__u32 cpu;
	__u32 core;			/* the other one's number; its own: it comes home */
};

/* Where the host's CPUs are while real-time programs share some of them. */
#define SHIMOS_HOST_POLICY_FIXED	0	/* where they were moved to; one whose core a program has waits */
#define SHIMOS_HOST_POLICY_LHP		1	/* such a one runs elsewhere, so who waits for its locks need not */
#define SHIMOS_HOST_POLICY_SPREAD	2	/* on the cores that no program shares */
#define SHIMOS_HOST_POLICY_PACK		3	/* all on the core that the first program shares */
#define SHIMOS_HOST_POLICY_USER_ONLY	4	/* the kernel runs on no core that a program shares */

/* SHIMOS_IOC_HOST_POLICY: which one it is, and another one with SET. */
#define SHIMOS_HOST_POLICY_SET	(1u << 0)

struct shimos_host_policy {
	struct shimos_header hdr;
	__u32 policy;			/* SHIMOS_HOST_POLICY_*; in with SET, and out */
	__u32 flags;
};

#define SHIMOS_HOST_CPUS	16

struct shimos_host_cpu {
	__u32 cpu;
	__u32 core;			/* where it is */
	__u64 exits;			/* times that it was left, since the layer is under it */
	__u64 moves;			/* from one core to another */
	__u64 moved_ns;			/* how long it was on none, the last time, */
	__u64 moved_max_ns;		/* and the longest */
	__u32 priority;			/* up to this one its tasks go before programs; 0: they do not */
	__u32 lost;			/* not 0: it has had a triple fault, and never runs again */
};

/*
 * SHIMOS_IOC_HOST_PRIORITY: real-time tasks of one of the host's CPUs, which is shared, go before
 * real-time programs that are less urgent from now on.
 */
struct shimos_host_priority {
	struct shimos_header hdr;
	__u32 cpu;
	__u32 priority;			/* up to this one a task has its own; 0: the CPU goes after all programs */
};

/* SHIMOS_IOC_HOST_CPUS: the host's own CPUs that can move, and under which the layer is now. */
struct shimos_host_cpus {
	struct shimos_header hdr;
	__u32 count;			/* out: so many of @at */
	__u32 reserved;			/* 0 */
	struct shimos_host_cpu at[SHIMOS_HOST_CPUS];	/* out */
};

#define SHIMOS_RT_VECTORS	256

/* One of them: how many interrupts there were. */
struct shimos_rt_vector_count {
	__u64 count;
	__u32 number;
	char name[12];			/* NUL-terminated; empty: none is known */
};

/*
 * SHIMOS_IOC_RT_VECTORS: which interrupts the CPU of a real-time partition has had, and whose
 * they were; refused for others with -EINVAL.  Each went to one of these: the host, the layer
 * below it, or, from the layer, the partition's program, which has vectors of its own.  What
 * nobody has a use for went to the host.
 */
struct shimos_rt_vectors {
	struct shimos_header hdr;
	__u32 id;
	__u32 cpu;			/* out: which one, as the host calls it */
	/* out: the host took them, since the CPU is shared; with its names in /proc/interrupts */
	struct shimos_rt_vector_count host[SHIMOS_RT_VECTORS];
	/* out: the layer's own, which the host never sees: the timer of both, and the bell */
	struct shimos_rt_vector_count layer[2];
	/* out: raised for the program since its last start: its timer, and the bell of its CPU */
	struct shimos_rt_vector_count program[2];
};

/*
 * A histogram's buckets.  Each number below SHIMOS_RT_LATENCY_STEPS has its own, and from
 * there on each octave, from a power of two to the next, has as many of equal width.  The last
 * one is for all that is greater.
 */
#define SHIMOS_RT_LATENCY_STEPS		32
#define SHIMOS_RT_LATENCY_BUCKETS	545

/*
 * SHIMOS_IOC_RT_LATENCY: how late a real-time partition gets its timer's interrupts, counted
 * since its last start, in cycles; refused for others with -EINVAL.  From the deadline, or
 * from the moment when it asked if that was later, until it is entered with the interrupt.
 * While it runs, the sums can be one ahead of the buckets.
 */
struct shimos_rt_latency {
	struct shimos_header hdr;
	__u32 id;
	__u32 reserved;
	__u64 cycles_per_second;	/* out */
	__u64 count;			/* out: interrupts; if there are none, all below is 0 */
	__u64 min;			/* out */
	__u64 max;			/* out */
	__u64 sum;			/* out: of all */
	__u64 past;			/* out: deadlines that were over when it asked for them */
	__u32 buckets[SHIMOS_RT_LATENCY_BUCKETS];	/* out: each stays at its greatest value */
	__u32 reserved2;
};

/* SHIMOS_IOC_WAIT: sleep until the event count differs from the given one. */
struct shimos_wait {
	struct shimos_header hdr;
	__u32 id;
	__u32 timeout_ms;		/* -ETIME after that; 0: look once */
	__u64 event;			/* in: last seen; out: now */
	__u32 state;			/* out */
	__u32 cause;			/* out */
};

/*
 * SHIMOS_IOC_PCI: give a PCIe device to a partition that has no kernel yet.  It
 * leaves its driver, and comes back to it when the partition is destroyed.
 */
struct shimos_pci {
	struct shimos_header hdr;
	__u32 id;
	__u32 segment;			/* what Linux calls the domain */
	__u8 bus;
	__u8 device;
	__u8 function;
	__u8 reserved;
	__u32 flags;			/* none defined */
};

/* How the firmware is called. */
#define SHIMOS_CONDUIT_HVC	1
#define SHIMOS_CONDUIT_SMC	2

/*
 * SHIMOS_IOC_PLATFORM: what the platform description of a partition that has a kernel must say
 * (arm64: a device tree).  Refused where the architecture writes it by itself.
 */
struct shimos_platform {
	struct shimos_header hdr;
	__u32 id;
	__u32 conduit;			/* out: SHIMOS_CONDUIT_* */
	__u64 shared;			/* out: physical address of the area shared with the agent */
	__u64 shared_size;		/* out: bytes, as all sizes */
	__u64 initrd;			/* out: physical address, 0: none */
	__u64 initrd_size;
	__u64 distributor;		/* out: what it takes for the GIC's */
	__u64 distributor_size;
	__u64 redistributors;		/* out: the first frame */
	__u64 redistributors_size;
	__u32 timer[4];			/* out: PPIs: secure, non-secure, virtual, hypervisor; 0: none */
	__u32 timer_flags;		/* out: their trigger, as a device tree has it */
	__u32 cpu_count;
	__u64 cpus[SHIMOS_MAX_CPUS];	/* out: hardware ids, in the order of the status' cpus */
	__u32 range_count;
	__u32 reserved;
	struct shimos_range ranges[SHIMOS_MAX_RANGES];	/* out: RAM; the rest is not the kernel's */
};

/*
 * SHIMOS_IOC_DESCRIBE: give a partition that has a kernel and does not run its platform
 * description.  It is kept, and each start begins with a copy.
 */
struct shimos_describe {
	struct shimos_header hdr;
	__u32 id;
	__u32 size;			/* bytes, at most SHIMOS_DESCRIPTION_MAX */
	__u64 description;		/* pointer */
	__u32 seed;			/* where each start puts 8 random bytes; 0: nowhere */
	__u32 start;			/* where each puts its number, 10 decimal digits; 0: nowhere */
	__u32 entropy;			/* where each puts 64 more random bytes; 0: nowhere */
	__u32 reserved;
};

#define SHIMOS_IOC_MAGIC	0xB7
#define SHIMOS_IOC_INFO		_IOWR(SHIMOS_IOC_MAGIC, 0, struct shimos_info)
#define SHIMOS_IOC_ERROR	_IOWR(SHIMOS_IOC_MAGIC, 1, struct shimos_error)
#define SHIMOS_IOC_CREATE	_IOWR(SHIMOS_IOC_MAGIC, 2, struct shimos_create)
#define SHIMOS_IOC_LOAD		_IOW(SHIMOS_IOC_MAGIC, 3, struct shimos_load)
#define SHIMOS_IOC_START	_IOW(SHIMOS_IOC_MAGIC, 4, struct shimos_target)
/* Ask for an orderly power-off; returns at once. */
#define SHIMOS_IOC_STOP		_IOW(SHIMOS_IOC_MAGIC, 5, struct shimos_target)
/* Park the CPUs now, whatever they do; -EIO: it is stuck, and may be killed again. */
#define SHIMOS_IOC_KILL		_IOW(SHIMOS_IOC_MAGIC, 6, struct shimos_target)
/* Give CPUs and memory back; refused while it runs. */
#define SHIMOS_IOC_DESTROY	_IOW(SHIMOS_IOC_MAGIC, 7, struct shimos_target)
#define SHIMOS_IOC_STATUS	_IOWR(SHIMOS_IOC_MAGIC, 8, struct shimos_status)
#define SHIMOS_IOC_WAIT		_IOWR(SHIMOS_IOC_MAGIC, 9, struct shimos_wait)
/*
 * Returns a file descriptor of the console: reads give the output from the
 * oldest byte still kept, writes are keyboard input, poll works.  After the
 * end of the partition a read returns what is left, then 0; after a restart
 * output continues.
 */
#define SHIMOS_IOC_CONSOLE	_IOW(SHIMOS_IOC_MAGIC, 10, struct shimos_target)
/*
 * Returns a read-only file descriptor of the partition's memory: the file
 * offset is the physical address, use pread.  Addresses outside of the
 * partition's ranges read as end of file; while its memory is protected from the
 * host, reads are refused with -EBUSY.
 */
#define SHIMOS_IOC_MEMORY	_IOW(SHIMOS_IOC_MAGIC, 11, struct shimos_target)
#define SHIMOS_IOC_PCI		_IOW(SHIMOS_IOC_MAGIC, 12, struct shimos_pci)
#define SHIMOS_IOC_RT		_IOWR(SHIMOS_IOC_MAGIC, 13, struct shimos_rt_status)
#define SHIMOS_IOC_RT_LATENCY	_IOWR(SHIMOS_IOC_MAGIC, 14, struct shimos_rt_latency)
#define SHIMOS_IOC_RT_MOVE	_IOW(SHIMOS_IOC_MAGIC, 15, struct shimos_rt_move)
#define SHIMOS_IOC_RT_CHECK	_IOWR(SHIMOS_IOC_MAGIC, 16, struct shimos_rt_check)
#define SHIMOS_IOC_RT_PRIORITY	_IOW(SHIMOS_IOC_MAGIC, 17, struct shimos_rt_priority)
#define SHIMOS_IOC_RT_VECTORS	_IOWR(SHIMOS_IOC_MAGIC, 18, struct shimos_rt_vectors)
#define SHIMOS_IOC_HOST_MOVE	_IOW(SHIMOS_IOC_MAGIC, 19, struct shimos_host_move)
#define SHIMOS_IOC_HOST_CPUS	_IOWR(SHIMOS_IOC_MAGIC, 20, struct shimos_host_cpus)
#define SHIMOS_IOC_HOST_POLICY	_IOWR(SHIMOS_IOC_MAGIC, 21, struct shimos_host_policy)
#define SHIMOS_IOC_HOST_PRIORITY _IOW(SHIMOS_IOC_MAGIC, 22, struct shimos_host_priority)
#define SHIMOS_IOC_PLATFORM	_IOWR(SHIMOS_IOC_MAGIC, 23, struct shimos_platform)
#define SHIMOS_IOC_DESCRIBE	_IOW(SHIMOS_IOC_MAGIC, 24, struct shimos_describe)

#endif
