/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layer: what runs under Linux on a core that it shares with an RTOS (SPUMONE
 * 2011, section 3).  One instance a core, each with memory of its own; no kernel symbol,
 * no lock, nothing that waits.
 *
 * Calls go down: the architecture's exit; timer.c; the architecture's APIC.
 */
#ifndef _LAYER_H
#define _LAYER_H

#include <shimos/layer_abi.h>

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
void layer_timer_look(void);

/* What an architecture provides. */
u64 layer_arch_now(void);
/* Set the timer to fire after so many of its own ticks, or at once. */
void layer_arch_arm(u64 ticks);
void layer_arch_disarm(void);
/* Raise Linux's own timer interrupt, as the timer would. */
void layer_arch_tick(void);

#endif
