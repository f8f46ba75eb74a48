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

/* What Linux calls the layer for, as a number in a register. */
enum layer_call {
	LAYER_CALL_LEAVE = 1,	/* be gone; Linux goes on as it is */
	LAYER_CALL_TIMER,	/* look at layer_shared.deadline */
	LAYER_CALL_TIMER_ON,	/* the local timer and all interrupts are the layer's from now on */
	LAYER_CALL_TIMER_OFF,	/* they are Linux's again, and the timer is not armed */
	LAYER_CALL_RT_START,	/* enter the RTOS of a number, as its layer_guest_shared.start says */
	LAYER_CALL_RT_STOP,	/* the one of a number runs no more */
	LAYER_CALL_RT_CHARGE,	/* charge it with this exit, to see what of it is seen */
	LAYER_CALL_RT_SEND,	/* it goes where its layer_guest_shared.move says */
	LAYER_CALL_RT_RECEIVE,	/* whoever is on the way to this core is here after that */
	LAYER_CALL_RT_PRIORITY,	/* it goes before others as its layer_guest_shared.start says now */
	LAYER_CALL_PROTECT,	/* Linux sees what the tables at an address say; 0: all there is */
	LAYER_CALL_HOST_MOVE,	/* this CPU of Linux's continues on the core of a number; it owes the APIC no end */
};

/* How many of each an instance has seen.  Only it writes them. */
struct layer_counts {
	u64 exits;
	u64 of_rtos;		/* exits out of an RTOS */
	u64 interrupts;		/* exits for one out of Linux, of which */
	u64 masked;		/* came while Linux had them disabled */
	u64 nmis;
	u64 calls;
	u64 given_back;		/* vectors put back into the local APIC */
	u64 interrupted;	/* deliveries that an exit came into */
	u64 merged;		/* vectors that came again while they waited */
	u64 ended;		/* of the highest class, in Linux's place */
	u64 set_aside;		/* vectors that would have kept the layer's own away */
	u64 armed;		/* times the timer was set */
	u64 fired;
	u64 rung;		/* the bell of its RTOSes */
	u64 ticks;		/* of Linux, that were due */
	u64 late_max;		/* the latest, in cycles */
	u64 faults;		/* accesses of Linux to memory that is hidden from it */
	u64 moves;		/* of this CPU of Linux's, from core to core */
	u64 moved_last;		/* cycles that it was on no core, the last time, */
	u64 moved_max;		/* and the longest */
	u64 fled;		/* of these, times that an RTOS wanted its core */
	u64 forwarded;		/* interrupts sent after it */
	u64 steps;		/* writes to its local APIC elsewhere */
	u64 given[LAYER_VECTORS];	/* deliveries to Linux */
};

/* Linux: what one of its CPUs needs on another core.  Written before LAYER_CALL_HOST_MOVE. */
struct layer_host_move {
	u64 controller;		/* physical address of the local APIC */
	u64 read_only;		/* tables by which Linux reads its own local APIC in memory, */
	u64 writable;		/* and by which it writes it; physical addresses */
	u64 apics[LAYER_APIC_IDS / 64];	/* of all CPUs that are online, this one included */
	u64 slice;		/* cycles of a turn where it shares a core with another one */
};

/* Linux: where the RTOS is entered, and how long it may run.  The layer keeps a copy. */
struct layer_rt_start {
	u64 nested;		/* physical address of the tables of its memory */
	u64 tables;		/* CR3 */
	u64 entry;
	u64 stack;
	u64 argument;
	u64 budget;		/* cycles that it may have the core; 0: as long as it wants */
	u64 period;		/* of so many cycles */
	u64 unseen;		/* cycles of a turn of it that the layer's clock does not see */
	u64 priority;		/* the highest goes first */
};

/* Linux: where an RTOS goes.  The layer reads it once, when it is called. */
struct layer_rt_move {
	u64 core;		/* Linux's number of it, below LAYER_CORES; the layer is under it */
	u64 bell;		/* the interrupt controller's command to ring the layer there */
};

enum layer_rt_state {
	LAYER_RT_NONE,
	LAYER_RT_RUNS,
	LAYER_RT_ENDED,		/* by itself: why is its enum shimos_rt_end */
	LAYER_RT_CRASHED,	/* why is the exit that it must not cause */
};

/* The layer: how the RTOS is. */
struct layer_rt {
	u64 state;		/* enum layer_rt_state */
	u64 ready;		/* it said that it is up */
	u64 why;
	u64 at;			/* the address of its instruction */
	u64 info;		/* what was touched, if memory */
	u64 entered;		/* times that it got the core, of which */
	u64 masked;		/* Linux had interrupts disabled */
	u64 exits;		/* out of it */
	u64 timers;		/* its deadlines that came */
	u64 bells;		/* times that it was rung, or another one on its core */
	u64 past;		/* those that were over when it asked */
	u64 cycles;		/* that it had the core, and the layer for its sake */
	u64 throttled;		/* times that its budget stopped it */
	u64 moves;		/* from core to core */
	u64 moved_last;		/* cycles that it was on no core, the last time, */
	u64 moved_max;		/* and the longest */
};

/* As SHIMOS_RT_LATENCY_STEPS and _BUCKETS, which the module compares. */
#define LAYER_LATE_STEPS	32
#define LAYER_LATE_BUCKETS	545

/* The layer: how late the RTOS's timer interrupts were, in cycles. */
struct layer_late {
	u64 count;
	u64 min;		/* means nothing while @count is 0 */
	u64 max;
	u64 sum;
	u32 buckets[LAYER_LATE_BUCKETS];	/* each stays at its greatest value */
};

/*
 * Which RTOSes a CPU of Linux's goes before, because of its tasks.  Priorities are those of
 * RTOSes; 0: none.
 */
struct layer_tasks {
	u64 limit;		/* Linux: up to which its tasks count; 0: it goes after all RTOSes */
	u64 runs;		/* Linux: the priority of the task that has the CPU, */
	u64 woken;		/* and of the most urgent one that has been woken since it has, */
	u64 woken_until;	/* which counts until then, in cycles.  Before @woken */
	u64 waits;		/* layer: the priority of the RTOS that waits for Linux; 0: none does */
};

/*
 * One page that Linux and its CPU's instance both write.  The instance reads each
 * field once and trusts none.
 */
struct layer_shared {
	u64 deadline;		/* Linux: when it wants its next tick, in cycles; 0: never */
	u64 armed;		/* layer: what the timer is set for; 0: not */
	u64 died;		/* layer: 0, or 1 + the exception or exit that ended it */
	u64 died_at;		/* layer: the address */
	u64 died_info;
	u64 core;		/* layer: where this CPU of Linux's is, */
	u64 visits;		/* and whether it runs by struct layer_host_move: elsewhere, and at home for a moment */
	u64 gone;		/* layer: it has shut down (triple fault) and never runs again, */
	u64 gone_at;		/* and the address where it was.  Before @gone */
	u64 refuge;		/* Linux: 1 + the core where it goes while an RTOS has its own; 0: it stays */
	u64 user_only;		/* Linux: it goes there when it runs the kernel instead; not while it can flee */
	u64 bell;		/* Linux: the interrupt controller's command to ring this core's instance */
	struct layer_host_move move;
	struct layer_tasks tasks;
	struct layer_counts counts;
};

_Static_assert(sizeof(struct layer_shared) <= LAYER_PAGE, "one page");

/* The same of each RTOS, for the instance of the core where it is. */
struct layer_guest_shared {
	u64 host_bell;		/* Linux: the interrupt controller's command to ring it; 0: none */
	struct layer_rt_start start;
	struct layer_rt_move move;
	struct layer_rt rt;
	struct layer_late late;
};

struct layer_host_page {
	struct layer_shared shared;
	u8 unused[LAYER_PAGE - sizeof(struct layer_shared)];
};

_Static_assert(sizeof(struct layer_host_page) == LAYER_PAGE, "one page");

struct layer_guest_page {
	struct layer_guest_shared shared;
	u8 unused[LAYER_PAGE - sizeof(struct layer_guest_shared)];
};

_Static_assert(sizeof(struct layer_guest_page) == LAYER_PAGE, "one page");

/* Written by the module before the launch, and never again. */
struct layer_params {
	u64 apic;		/* the local APIC is a page of memory; 0: x2APIC */
	u64 own;		/* physical address of what the instance has for itself */
	u64 timer_scale;	/* ticks of the local timer a cycle, 32 bits behind the point */
	u64 leave;		/* where the module takes it away */
	u64 core;		/* Linux's number of it */
	u64 pool_physical;	/* address of what it knows of RTOSes */
	u64 hosts_physical;	/* and of what it knows of Linux's CPUs */
	u32 msrs[LAYER_HOST_MSRS];	/* that go with a CPU of Linux's to another core; 0: no more */
};

/* At the beginning of the image.  All are offsets from there. */
struct layer_header {
	u64 magic;
	u64 enter;		/* layer_enter() */
	u64 data;		/* here what is read and run ends, and each instance's own begins */
	u64 params;
	u64 vmcb;
	u64 msr_map;
	u64 stored;		/* bytes in the file; the rest is zero */
	u64 size;		/* whole pages */
	u64 guests;		/* behind it, a struct layer_guest_page for each RTOS */
};

#endif
