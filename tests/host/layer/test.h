/* SPDX-License-Identifier: GPL-2.0 */
/* The tests of the layer's logic, each with a core around it that is made up. */
#ifndef _TESTS_LAYER_H
#define _TESTS_LAYER_H

#include "check.h"
#include "layer.h"
#include <uapi/shimos.h>

/* core.c: what the layer finds around it */
extern struct layer_shared core_shared;
extern u64 core_now;
extern u32 core_step;		/* it goes on by less than this when somebody looks */
#define CORE_CYCLES_PER_TICK	16
extern u64 core_ticks;		/* the timer: what it counts from; 0: off */
extern u64 core_fires;		/* and when it fires */
extern unsigned int core_ticked;	/* times that Linux's timer interrupt was raised */
extern u64 core_rang;		/* the last bell of Linux's that was rung */
extern unsigned int core_rings;
void core_reset(void);

/* turns.c: a core with exits */
extern bool turns_rtos;		/* the RTOS has it; or Linux */
extern u64 turns_taken;
void turns_reset(void);
void turns_exit(void);
void turns_go_on(void);

void test_timer(void);
void test_budget(void);
void test_late(void);
void fuzz_timer(u64 seed);
void fuzz_budget(u64 seed);
void fuzz_vectors(u64 seed);

#endif
