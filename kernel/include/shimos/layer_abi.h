/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the layer and the module that launches it tell each other.  Both are built
 * together, so nothing here has a version; the module checks the sizes.
 */
#ifndef _SHIMOS_LAYER_ABI_H
#define _SHIMOS_LAYER_ABI_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#endif

#define LAYER_PAGE	4096
#define LAYER_MAGIC	0x726579616c656f6dull
#define LAYER_VECTORS	256

/* What the registers of floating point may need; the module asks the processor before a launch. */
#define LAYER_FPU_SIZE	4096

/*
 * The layer's own vector, which Linux never sees.  Linux has it for posted
 * interrupts, which only Intel's processors have.
 */
#define LAYER_VECTOR	0xf2
/* The RTOS's bell, for whoever wants something of it; Linux has it for the same. */
#define LAYER_BELL_VECTOR	0xf1
/* From instance to instance, for CPUs of Linux's that move; Linux has it for the same. */
#define LAYER_HOST_VECTOR	0xf0

/*
 * RTOSes that there can be, on all cores together.  What the layer knows of them is in memory
 * that all instances see at one address, for each can come to any core.
 */
#define LAYER_GUESTS		8
#define LAYER_GUEST_SIZE	(3 * LAYER_PAGE)
/* Cores that one can come to; before the RTOSes, a word for each says which are on their way there. */
#define LAYER_CORES		(LAYER_PAGE / 8)
#define LAYER_POOL_SIZE		(LAYER_PAGE + LAYER_GUESTS * LAYER_GUEST_SIZE)

/* CPUs of Linux's, from the first, that can go to other cores; what the layer knows of each. */
#define LAYER_HOSTS		16
#define LAYER_HOST_SIZE		(4 * LAYER_PAGE)
#define LAYER_HOST_CONTROLLER	LAYER_PAGE	/* there its local APIC is in it */
/* Registers of a core that neither VMRUN nor VMLOAD switches. */
#define LAYER_HOST_MSRS		4
/* Local APICs that a shorthand can mean, by their numbers. */
#define LAYER_APIC_IDS		256

/**
 * enum layer_call - what Linux calls the layer for, as a number in a register
 * @LAYER_CALL_LEAVE: be gone; Linux goes on as it is
 * @LAYER_CALL_TIMER: look at layer_shared.deadline
 * @LAYER_CALL_TIMER_ON: the local timer and all interrupts are the layer's from now on
 * @LAYER_CALL_TIMER_OFF: they are Linux's again, and the timer is not armed
 * @LAYER_CALL_RT_START: enter the RTOS of a number, as its layer_guest_shared.start says
 * @LAYER_CALL_RT_STOP: the one of a number runs no more
 * @LAYER_CALL_RT_CHARGE: charge it with this exit, to see what of it is seen
 * @LAYER_CALL_RT_SEND: it goes where its layer_guest_shared.move says
 * @LAYER_CALL_RT_RECEIVE: whoever is on the way to this core is here after that
 * @LAYER_CALL_RT_PRIORITY: it goes before others as its layer_guest_shared.start says now
 * @LAYER_CALL_PROTECT: Linux sees what the tables at an address say; 0: all there is
 * @LAYER_CALL_HOST_MOVE: this CPU of Linux's continues on the core of a number; it owes the APIC
 *	no end
 * @LAYER_CALL_HOST_EXPECT: others can come to this core at any moment from now on; 0: they cannot
 */
enum layer_call {
	LAYER_CALL_LEAVE = 1,
	LAYER_CALL_TIMER,
	LAYER_CALL_TIMER_ON,
	LAYER_CALL_TIMER_OFF,
	LAYER_CALL_RT_START,
	LAYER_CALL_RT_STOP,
	LAYER_CALL_RT_CHARGE,
	LAYER_CALL_RT_SEND,
	LAYER_CALL_RT_RECEIVE,
	LAYER_CALL_RT_PRIORITY,
	LAYER_CALL_PROTECT,
	LAYER_CALL_HOST_MOVE,
	LAYER_CALL_HOST_EXPECT,
};

/**
 * struct layer_counts - how many of each an instance has seen; only it writes them
 * @exits: all
 * @of_rtos: exits out of an RTOS
 * @interrupts: exits for one out of Linux, of which
 * @masked: came while Linux had them disabled
 * @nmis: exits for one
 * @calls: exits for a call
 * @given_back: vectors put back into the local APIC
 * @interrupted: deliveries that an exit came into
 * @merged: vectors that came again while they waited
 * @ended: of the highest class, in Linux's place
 * @set_aside: vectors that would have kept the layer's own away
 * @armed: times the timer was set
 * @fired: times that the timer fired
 * @rung: the bell of its RTOSes
 * @ticks: of Linux, that were due
 * @late_max: the latest, in cycles
 * @faults: accesses of Linux to memory that is hidden from it
 * @moves: of this CPU of Linux's, from core to core
 * @moved_last: cycles that it was on no core, the last time,
 * @moved_max: and the longest
 * @fled: of these, times that an RTOS wanted its core
 * @forwarded: interrupts sent after it
 * @steps: writes to its local APIC elsewhere
 * @given: deliveries to Linux
 */
struct layer_counts {
	u64 exits;
	u64 of_rtos;
	u64 interrupts;
	u64 masked;
	u64 nmis;
	u64 calls;
	u64 given_back;
	u64 interrupted;
	u64 merged;
	u64 ended;
	u64 set_aside;
	u64 armed;
	u64 fired;
	u64 rung;
	u64 ticks;
	u64 late_max;
	u64 faults;
	u64 moves;
	u64 moved_last;
	u64 moved_max;
	u64 fled;
	u64 forwarded;
	u64 steps;
	u64 given[LAYER_VECTORS];
};

/**
 * struct layer_host_move - Linux: what one of its CPUs needs on another core
 * @controller: physical address of the local APIC
 * @read_only: tables by which Linux reads its own local APIC in memory,
 * @writable: and by which it writes it; physical addresses
 * @apics: of all CPUs that are online, this one included
 * @slice: cycles of a turn where it shares a core with another one
 *
 * Written before LAYER_CALL_HOST_MOVE.
 */
struct layer_host_move {
	u64 controller;
	u64 read_only;
	u64 writable;
	u64 apics[LAYER_APIC_IDS / 64];
	u64 slice;
};

/**
 * struct layer_rt_start - Linux: where the RTOS is entered, and how long it may run
 * @nested: physical address of the tables of its memory
 * @tables: CR3
 * @entry: address of its first instruction, in these
 * @stack: its end
 * @argument: what it finds in RDI
 * @budget: cycles that it may have the core; 0: as long as it wants
 * @period: of so many cycles
 * @unseen: cycles of a turn of it that the layer's clock does not see
 * @priority: the highest goes first
 *
 * The layer keeps a copy.
 */
struct layer_rt_start {
	u64 nested;
	u64 tables;
	u64 entry;
	u64 stack;
	u64 argument;
	u64 budget;
	u64 period;
	u64 unseen;
	u64 priority;
};

/**
 * struct layer_rt_move - Linux: where an RTOS goes; the layer reads it once, when it is called
 * @core: Linux's number of it, below LAYER_CORES; the layer is under it
 * @bell: the interrupt controller's command to ring the layer there
 */
struct layer_rt_move {
	u64 core;
	u64 bell;
};

/**
 * enum layer_rt_state - how an RTOS is
 * @LAYER_RT_NONE: there is none
 * @LAYER_RT_RUNS: it runs, or waits for something
 * @LAYER_RT_ENDED: by itself: why is its enum shimos_rt_end
 * @LAYER_RT_CRASHED: why is the exit that it must not cause
 */
enum layer_rt_state {
	LAYER_RT_NONE,
	LAYER_RT_RUNS,
	LAYER_RT_ENDED,
	LAYER_RT_CRASHED,
};

/**
 * struct layer_rt - the layer: how the RTOS is
 * @state: enum layer_rt_state
 * @ready: it said that it is up
 * @why: see enum layer_rt_state
 * @at: the address of its instruction
 * @info: what was touched, if memory
 * @entered: times that it got the core, of which
 * @masked: Linux had interrupts disabled
 * @exits: out of it
 * @timers: its deadlines that came
 * @bells: times that it was rung, or another one on its core
 * @past: those that were over when it asked
 * @cycles: that it had the core, and the layer for its sake
 * @throttled: times that its budget stopped it
 * @moves: from core to core
 * @moved_last: cycles that it was on no core, the last time,
 * @moved_max: and the longest
 */
struct layer_rt {
	u64 state;
	u64 ready;
	u64 why;
	u64 at;
	u64 info;
	u64 entered;
	u64 masked;
	u64 exits;
	u64 timers;
	u64 bells;
	u64 past;
	u64 cycles;
	u64 throttled;
	u64 moves;
	u64 moved_last;
	u64 moved_max;
};

/* As SHIMOS_RT_LATENCY_STEPS and _BUCKETS, which the module compares. */
#define LAYER_LATE_STEPS	32
#define LAYER_LATE_BUCKETS	545

/**
 * struct layer_late - the layer: how late the RTOS's timer interrupts were, in cycles
 * @count: how many
 * @min: means nothing while @count is 0
 * @max: the latest
 * @sum: of all
 * @buckets: each stays at its greatest value
 */
struct layer_late {
	u64 count;
	u64 min;
	u64 max;
	u64 sum;
	u32 buckets[LAYER_LATE_BUCKETS];
};

/**
 * struct layer_tasks - which RTOSes a CPU of Linux's goes before, because of its tasks
 * @limit: Linux: up to which its tasks count; 0: it goes after all RTOSes
 * @runs: Linux: the priority of the task that has the CPU,
 * @woken: and of the most urgent one that has been woken since it has,
 * @woken_until: which counts until then, in cycles.  Before @woken
 * @switched: layer: 0; Linux: 1, another task has the CPU
 * @waits: layer: the priority of the RTOS that waits for Linux; 0: none does
 *
 * Priorities are those of RTOSes; 0: none.
 */
struct layer_tasks {
	u64 limit;
	u64 runs;
	u64 woken;
	u64 woken_until;
	u64 switched;
	u64 waits;
};

/**
 * struct layer_shared - one page that Linux and its CPU's instance both write
 * @deadline: Linux: when it wants its next tick, in cycles; 0: never
 * @armed: layer: what the timer is set for; 0: not
 * @died: layer: 0, or 1 + the exception or exit that ended it
 * @died_at: layer: the address
 * @died_info: layer: what else it knows of that
 * @core: layer: where this CPU of Linux's is,
 * @visits: and whether it runs by struct layer_host_move: elsewhere, and at home for a moment
 * @gone: layer: it has shut down (triple fault) and never runs again,
 * @gone_at: and the address where it was.  Before @gone
 * @refuge: Linux: 1 + the core where it goes while an RTOS has its own; 0: it stays
 * @user_only: Linux: it goes there when it runs the kernel instead; not while it can flee
 * @bell: Linux: the interrupt controller's command to ring this core's instance
 * @move: Linux: see there
 * @tasks: both: see there
 * @counts: layer
 *
 * The instance reads each field once and trusts none.
 */
struct layer_shared {
	u64 deadline;
	u64 armed;
	u64 died;
	u64 died_at;
	u64 died_info;
	u64 core;
	u64 visits;
	u64 gone;
	u64 gone_at;
	u64 refuge;
	u64 user_only;
	u64 bell;
	struct layer_host_move move;
	struct layer_tasks tasks;
	struct layer_counts counts;
};

_Static_assert(sizeof(struct layer_shared) <= LAYER_PAGE, "one page");

/**
 * struct layer_guest_shared - the same of each RTOS, for the instance of the core where it is
 * @host_bell: Linux: the interrupt controller's command to ring it; 0: none
 * @start: Linux: see there, as the next ones
 * @move: Linux
 * @rt: layer
 * @late: layer
 */
struct layer_guest_shared {
	u64 host_bell;
	struct layer_rt_start start;
	struct layer_rt_move move;
	struct layer_rt rt;
	struct layer_late late;
};

/**
 * struct layer_host_page - a page for each CPU of Linux's that can move
 * @shared: the CPU's
 * @unused: to the page's end
 */
struct layer_host_page {
	struct layer_shared shared;
	u8 unused[LAYER_PAGE - sizeof(struct layer_shared)];
};

_Static_assert(sizeof(struct layer_host_page) == LAYER_PAGE, "one page");

/**
 * struct layer_guest_page - a page for each RTOS
 * @shared: the RTOS's
 * @unused: to the page's end
 */
struct layer_guest_page {
	struct layer_guest_shared shared;
	u8 unused[LAYER_PAGE - sizeof(struct layer_guest_shared)];
};

_Static_assert(sizeof(struct layer_guest_page) == LAYER_PAGE, "one page");

/**
 * struct layer_params - written by the module before the launch, and never again
 * @apic: the local APIC is a page of memory; 0: x2APIC
 * @own: physical address of what the instance has for itself
 * @timer_scale: ticks of the local timer a cycle, 32 bits behind the point
 * @leave: where the module takes it away
 * @core: Linux's number of it
 * @pool_physical: address of what it knows of RTOSes
 * @hosts_physical: and of what it knows of Linux's CPUs
 * @msrs: that go with a CPU of Linux's to another core; 0: no more
 */
struct layer_params {
	u64 apic;
	u64 own;
	u64 timer_scale;
	u64 leave;
	u64 core;
	u64 pool_physical;
	u64 hosts_physical;
	u32 msrs[LAYER_HOST_MSRS];
};

/**
 * struct layer_header - at the beginning of the image; all are offsets from there
 * @magic: LAYER_MAGIC
 * @enter: layer_enter()
 * @data: here what is read and run ends, and each instance's own begins
 * @params: of struct layer_params
 * @vmcb: of Linux's VMCB
 * @msr_map: of the map of Linux's MSRs
 * @stored: bytes in the file; the rest is zero
 * @size: whole pages
 * @guests: behind it, a struct layer_guest_page for each RTOS
 */
struct layer_header {
	u64 magic;
	u64 enter;
	u64 data;
	u64 params;
	u64 vmcb;
	u64 msr_map;
	u64 stored;
	u64 size;
	u64 guests;
};

#endif
