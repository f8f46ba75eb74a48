/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layer: what runs under Linux on a core that it shares with an RTOS (SPUMONE
 * 2011, section 3).  One instance a core, each with memory of its own; no kernel symbol,
 * no lock, nothing that waits.
 *
 * Calls go down: the architecture's exit; timer.c; tasks.c; guests.c and hosts.c; rt.c;
 * budget.c and late.c; the architecture's APIC.
 *
 * What has no Context: runs in the layer, on the instance's own core, with interrupts off.
 */
#ifndef _LAYER_H
#define _LAYER_H

#include <stddef.h>
#include <shimos/layer_abi.h>
#include <uapi/shimos_rt.h>

/* Used by assembly, which the compiler cannot see: Kbuild says how to tell it. */
#ifndef __visible
#define __visible
#endif

/* As in Linux, and by Kbuild, too: what is rare does not make slower what is not. */
#ifndef noinline
#define noinline
#define __cold
#endif

/* Once, and whole. */
#define LAYER_READ(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define LAYER_WRITE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

extern __visible struct layer_params layer_params;

/* What the module maps behind the image; layer.lds knows where. */
extern struct layer_shared layer_shared_page;
extern u64 layer_coming[LAYER_CORES];	/* for each core, a bit for each RTOS on its way there */
extern struct layer_guest_page layer_guest_pages[LAYER_GUESTS];
extern struct layer_host_page layer_host_pages[LAYER_HOSTS];

/**
 * layer_shared() - what this instance and Linux both write
 */
static inline struct layer_shared *layer_shared(void)
{
	return &layer_shared_page;
}

/**
 * layer_counts() - this instance's counts, which Linux reads
 */
static inline struct layer_counts *layer_counts(void)
{
	return &layer_shared()->counts;
}

/**
 * struct layer_budget - what an RTOS may still use, in cycles
 * @size: of each period; 0: as many as it wants
 * @period: its length
 * @unseen: of a turn, before the first look at the clock and after the last
 * @next: the period's end: from here on the next one can begin
 * @left: of this period, as far as charged; less than none is negative
 */
struct layer_budget {
	u64 size;
	u64 period;
	u64 unseen;
	u64 next;
	u64 left;
};

/**
 * struct layer_guest - an RTOS, wherever it is
 * @shared: what Linux and the layer both write
 * @next: on the same core, the one that goes after it
 * @core: 0: nowhere; LAYER_GUEST_AWAY, or 1 + the core's number.  It is written by whoever
 *	has it, or takes it from nowhere
 * @sent: when it left for another core
 * @number: below LAYER_GUESTS
 * @priority: the highest goes first
 * @on: it has not ended
 * @wants: what it wants to run for, see rt.c; 0: it waits for an interrupt, or has ended
 * @throttled: it wants to run, and its budget is used up
 * @deadline: when it wants its timer interrupt, in cycles; 0: never
 * @late_deadline: its interrupt is on its way, or just given; 0: none
 * @late_given: when it was entered with an interrupt last
 * @budget: see there
 */
struct layer_guest {
	struct layer_guest_shared *shared;
	struct layer_guest *next;
	u64 core;
	u64 sent;
	u64 number;
	u64 priority;
	int on, throttled;
	u64 wants;
	u64 deadline;
	u64 late_deadline;
	u64 late_given;
	struct layer_budget budget;
};

#define LAYER_GUEST_AWAY	(~0ull)	/* between two cores */

/**
 * struct layer_host - a CPU of Linux's, wherever it is
 * @next: visiting the same core
 * @home: the core that it was launched on, and its number
 * @core: where it is, or was last
 * @visits: it is not, or not yet, what its home's own hardware runs by itself.  It, @next,
 *	@halted and @urgent belong to the core where it is
 * @halted: it waits for an interrupt
 * @urgent: it has got one and not had the core since
 * @sent: when it left for another core
 * @rung: an interrupt has been sent after it.  Any core sets it
 * @recalled: its home wants it back.  Its home sets it
 * @coming: not of this CPU, but of the core of the same number: a bit for each that is on its
 *	way there.  Any core sets one
 */
struct layer_host {
	struct layer_host *next;
	u64 home;
	u64 core;
	int visits, halted, urgent;
	u64 sent;
	u64 rung, recalled;
	u64 coming;
};

/* timer.c */
void layer_timer_own(int own);
void layer_timer_fired(void);
int layer_timer_due(void);
int layer_timer_look(void);
int layer_timer_look_rtos(struct layer_guest *next);

/* tasks.c: who goes before an RTOS */
int layer_tasks_any(void);
int layer_tasks_heard(const struct layer_guest *g);
int layer_tasks_first(const struct layer_guest *g);
int layer_tasks_were_first(void);
void layer_tasks_interrupted(void);
int layer_tasks_switched(void);
void layer_tasks_wait(const struct layer_guest *g);
void layer_tasks_stop(void);
void layer_tasks_go_on(void);
u64 layer_tasks_next(void);

/* guests.c: those on this core */
void layer_guests_begin(u64 number);
void layer_guests_end(u64 number);
void layer_guests_charge(u64 number);
void layer_guests_send(u64 number);
void layer_guests_receive(void);
void layer_guests_priority(u64 number);
int layer_guests_several(void);
int layer_guests_came(u64 when);
int layer_guests_before(const struct layer_guest *g);
struct layer_guest *layer_guests_look(void);
int layer_guests_any(void);
u64 layer_guests_next(const struct layer_guest *next);
void layer_guests_ring(void);

/* hosts.c: CPUs of Linux's that are on this core */
int layer_hosts_alone(void);
int layer_hosts_own_away(void);
int layer_hosts_own_visits(void);
int layer_hosts_own_gone(void);
void layer_hosts_lost(struct layer_host *h, u64 at);
struct layer_host *layer_hosts_turn(void);
void layer_hosts_leaves(struct layer_host *h, u64 core);
void layer_hosts_settles(struct layer_host *h);
void layer_hosts_receive(void);
void layer_hosts_forward(void);
void layer_hosts_ring_home(struct layer_host *h);
u64 layer_hosts_refuge(void);
void layer_hosts_fled(void);
void layer_hosts_call_home(void);
struct layer_host *layer_hosts_recalled(void);
void layer_hosts_own_wakes(void);
u64 layer_hosts_next(void);
int layer_hosts_woken(void);
void layer_hosts_halts(struct layer_host *h);
void layer_hosts_yields(void);
int layer_hosts_choose(void);

/* rt.c: one of them */
void layer_rt_begin(struct layer_guest *g, const struct layer_rt_start *start);
void layer_rt_end(struct layer_guest *g, u64 state, u64 why, u64 at, u64 info);
int layer_rt_ready(struct layer_guest *g, u64 now);
void layer_rt_enters(struct layer_guest *g, int masked);
void layer_rt_leaves(void);
void layer_rt_exited(struct layer_guest *g);
void layer_rt_look(struct layer_guest *g, u64 now);
u64 layer_rt_wakes(const struct layer_guest *g);
u64 layer_rt_runs_until(const struct layer_guest *g);
void layer_rt_rung(struct layer_guest *g);
void layer_rt_raise(struct layer_guest *g, unsigned int vector);
int layer_rt_take(struct layer_guest *g);
void layer_rt_halt(struct layer_guest *g);
s64 layer_rt_call(struct layer_guest *g, u64 number, u64 argument, u64 at);

/* budget.c */
void layer_budget_begin(struct layer_guest *g, const struct layer_rt_start *start);
void layer_budget_linux_left(void);
void layer_budget_opens(struct layer_guest *g);
void layer_budget_closes(void);
int layer_budget_look(struct layer_guest *g, u64 now);
u64 layer_budget_end(const struct layer_guest *g);

/* late.c */
void layer_late_begin(struct layer_guest *g);
void layer_late_due(struct layer_guest *g);
void layer_late_given(struct layer_guest *g);
void layer_late_exited(struct layer_guest *g);

/**
 * layer_arch_now() - the time, in cycles; the same on all cores
 */
u64 layer_arch_now(void);

/**
 * layer_arch_arm() - set the timer to fire
 * @ticks: after so many of its own, at least 1
 */
void layer_arch_arm(u64 ticks);

/**
 * layer_arch_disarm() - the timer is Linux's again, masked and stopped
 */
void layer_arch_disarm(void);

/**
 * layer_arch_tick() - raise Linux's own timer interrupt, as the timer would
 */
void layer_arch_tick(void);

/**
 * layer_arch_ring() - ring a bell of Linux's
 * @bell: a command to the interrupt controller; it may be another core's
 */
void layer_arch_ring(u64 bell);

/**
 * layer_arch_guest() - an RTOS, where all instances have it
 * @number: below LAYER_GUESTS
 *
 * Return: it, whether or not it runs.
 */
struct layer_guest *layer_arch_guest(u64 number);

/**
 * layer_arch_guest_begin() - make an RTOS new, and this core's
 * @g: which
 * @start: what it is entered with; a copy
 */
void layer_arch_guest_begin(struct layer_guest *g, const struct layer_rt_start *start);

/**
 * layer_arch_guest_comes() - an RTOS is this core's from now on
 * @g: it was another's, or nobody's
 */
void layer_arch_guest_comes(struct layer_guest *g);

/**
 * layer_arch_host() - a CPU of Linux's, where all instances have it
 * @number: below LAYER_HOSTS
 *
 * Return: it, wherever it is.
 */
struct layer_host *layer_arch_host(u64 number);

/**
 * layer_arch_host_comes() - a CPU of Linux's is on this core from now on
 * @h: it was on another
 */
void layer_arch_host_comes(struct layer_host *h);

/**
 * layer_arch_host_pending() - has it got an interrupt that it can take when it has them enabled?
 * @h: visits
 */
int layer_arch_host_pending(struct layer_host *h);

/**
 * layer_arch_own_pending() - the same of this core's own, which does not visit
 */
int layer_arch_own_pending(void);

/**
 * layer_arch_host_tick() - raise its own timer interrupt, as the timer would
 * @h: visits
 */
void layer_arch_host_tick(struct layer_host *h);

/**
 * layer_arch_host_goes() - can it go home again, as it does what it can do there?
 * @h: visits another core than its own
 */
int layer_arch_host_goes(struct layer_host *h);

/**
 * layer_arch_host_ends() - end interrupts that its home's controller still has in service
 * @h: this core's own; it has ended them elsewhere
 */
void layer_arch_host_ends(struct layer_host *h);

#endif
