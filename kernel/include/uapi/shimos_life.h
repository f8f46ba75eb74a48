/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The calls of /dev/shimos that begin and end a partition's life, and that wait
 * for what comes of it.
 */
#ifndef _UAPI_SHIMOS_LIFE_H
#define _UAPI_SHIMOS_LIFE_H

#include "shimos_call.h"

/**
 * enum shimos_state - the life of a partition; docs/architecture.md draws the legal steps
 * @SHIMOS_CREATED: has CPUs and memory, no kernel
 * @SHIMOS_LOADED: has a kernel, never ran
 * @SHIMOS_STARTING: CPUs run, the agent has not reported yet
 * @SHIMOS_RUNNING: the agent reported ready (or there is none)
 * @SHIMOS_STOPPING: asked to power off
 * @SHIMOS_STOPPED: CPUs parked after an orderly end or a kill
 * @SHIMOS_CRASHED: CPUs parked after a panic or a reset
 * @SHIMOS_STUCK: over, but a CPU or a device did not stop: all is kept
 */
enum shimos_state {
	SHIMOS_CREATED = 1,
	SHIMOS_LOADED,
	SHIMOS_STARTING,
	SHIMOS_RUNNING,
	SHIMOS_STOPPING,
	SHIMOS_STOPPED,
	SHIMOS_CRASHED,
	SHIMOS_STUCK,
};

/**
 * enum shimos_cause - why a partition last stopped
 * @SHIMOS_CAUSE_NONE: it has not
 * @SHIMOS_CAUSE_POWEROFF: powered itself off
 * @SHIMOS_CAUSE_REBOOT: asked for a reboot
 * @SHIMOS_CAUSE_HALT: halted
 * @SHIMOS_CAUSE_PANIC: its kernel panicked
 * @SHIMOS_CAUSE_RESET: reset itself without a word (no agent yet)
 * @SHIMOS_CAUSE_KILLED: killed from the host
 * @SHIMOS_CAUSE_FAULT: did what it may not, and was stopped for it
 * @SHIMOS_CAUSE_FAILED: says itself that it cannot go on
 * @SHIMOS_CAUSE_CHANGED: its memory was changed from outside, as one that watches found
 */
enum shimos_cause {
	SHIMOS_CAUSE_NONE = 0,
	SHIMOS_CAUSE_POWEROFF,
	SHIMOS_CAUSE_REBOOT,
	SHIMOS_CAUSE_HALT,
	SHIMOS_CAUSE_PANIC,
	SHIMOS_CAUSE_RESET,
	SHIMOS_CAUSE_KILLED,
	SHIMOS_CAUSE_FAULT,
	SHIMOS_CAUSE_FAILED,
	SHIMOS_CAUSE_CHANGED,
};

#define SHIMOS_START_NO_AGENT	(1U << 0)	/* do not wait for a ready flag */

/**
 * struct shimos_target - SHIMOS_IOC_START, _STOP, _KILL, _DESTROY, _CONSOLE, _MEMORY: which partition
 * @hdr: of the argument
 * @id: of the partition
 * @flags: SHIMOS_START_* for START, else 0
 */
struct shimos_target {
	struct shimos_header hdr;
	__u32 id;
	__u32 flags;
};

/**
 * enum shimos_resize_what - what shall change about a partition that runs
 * @SHIMOS_RESIZE_ADD_CPU: it gets a CPU
 * @SHIMOS_RESIZE_REMOVE_CPU: it gives one back
 * @SHIMOS_RESIZE_ADD_MEMORY: it gets memory
 * @SHIMOS_RESIZE_REMOVE_MEMORY: it gives memory back, which it has got since it started
 */
enum shimos_resize_what {
	SHIMOS_RESIZE_ADD_CPU = 1,
	SHIMOS_RESIZE_REMOVE_CPU,
	SHIMOS_RESIZE_ADD_MEMORY,
	SHIMOS_RESIZE_REMOVE_MEMORY,
};

/**
 * struct shimos_resize - SHIMOS_IOC_RESIZE: give a CPU or memory to a partition that runs, or take it back
 * @hdr: of the argument
 * @id: of the partition
 * @what: enum shimos_resize_what
 * @cpu: as the host calls it
 * @reserved: 0
 * @size: how much memory at most, in bytes; out: how much it was, one range of it
 *
 * Returns when its kernel has it, or has let it go.  On failure all is as before, but after
 * -ETIMEDOUT: then its kernel has not answered, and it is the partition's.
 */
struct shimos_resize {
	struct shimos_header hdr;
	__u32 id;
	__u32 what;
	__u32 cpu;
	__u32 reserved;
	__u64 size;
};

/**
 * struct shimos_wait - SHIMOS_IOC_WAIT: sleep until the event count differs from the given one
 * @hdr: of the argument
 * @id: of the partition
 * @timeout_ms: -ETIME after that; 0: look once
 * @event: in: last seen; out: now
 * @state: out: enum shimos_state
 * @cause: out: enum shimos_cause
 */
struct shimos_wait {
	struct shimos_header hdr;
	__u32 id;
	__u32 timeout_ms;
	__u64 event;
	__u32 state;
	__u32 cause;
};

#endif
