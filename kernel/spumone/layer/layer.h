/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layer: what runs under Linux on a core that it shares with an RTOS (SPUMONE
 * 2011, section 3).  One instance a core, each with memory of its own; no kernel symbol,
 * no lock, nothing that waits.
 *
 * Calls go down: the architecture's exit; timer.c; rt.c; budget.c and late.c; the
 * architecture's APIC.
 */
#ifndef _LAYER_H
#define _LAYER_H

#include <shimos/layer_abi.h>
#include <uapi/shimos_rt.h>

/* Once, and whole. */
#define LAYER_READ(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define LAYER_WRITE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

extern struct layer_params layer_params;

static inline struct layer_shared *layer_shared(void)
{
	return (struct layer_shared *)layer_params.shared;
}

static inline struct layer_counts *layer_counts(void)
{
	return &layer_shared()->counts;
}

/* timer.c */
void layer_timer_own(int own);
void layer_timer_fired(void);
int layer_timer_due(void);
void layer_timer_look(int linux_next);

/* rt.c */
void layer_rt_begin(const struct layer_rt_start *start);
void layer_rt_end(u64 state, u64 why, u64 at, u64 info);
int layer_rt_wants(void);
void layer_rt_enters(int masked);
void layer_rt_leaves(void);
void layer_rt_exited(void);
void layer_rt_look(void);
u64 layer_rt_next(int linux_next);
void layer_rt_raise(unsigned int vector);
int layer_rt_take(void);
void layer_rt_halt(void);
void layer_rt_waited(void);
s64 layer_rt_call(u64 number, u64 argument, u64 at);

/* budget.c */
void layer_budget_begin(const struct layer_rt_start *start);
void layer_budget_linux_left(void);
void layer_budget_opens(void);
void layer_budget_closes(void);
int layer_budget_look(u64 now);
u64 layer_budget_end(void);
u64 layer_budget_next(void);

/* late.c */
void layer_late_begin(void);
void layer_late_due(u64 deadline);
void layer_late_given(void);
void layer_late_exited(void);

/* What an architecture provides. */
u64 layer_arch_now(void);
/* Set the timer to fire after so many of its own ticks, or at once. */
void layer_arch_arm(u64 ticks);
void layer_arch_disarm(void);
/* Raise Linux's own timer interrupt, as the timer would. */
void layer_arch_tick(void);
/* Ring a bell of Linux's, a command to the interrupt controller; it may be another core's. */
void layer_arch_ring(u64 bell);

#endif
