/* SPDX-License-Identifier: GPL-2.0 */
/* The tests of the layer's logic, each with a core around it that is made up. */
#ifndef _TESTS_LAYER_H
#define _TESTS_LAYER_H

#include "check.h"
#include "layer.h"
#include "arch/x86/x86.h"
#include <uapi/shimos.h>

/* core.c: what the layer finds around it */
#define core_shared	layer_shared_page
extern struct x86_guest core_memory[LAYER_GUESTS];
#define core_guest(number)	(&core_memory[number].g)
/* The RTOS of tests that have one. */
#define core_first		core_guest(0)
#define core_first_shared	(layer_guest_pages[0].shared)
#define CORE_NUMBER		3
/* Linux's CPUs, this core's own included; those that have an interrupt to take. */
extern struct x86_host core_host_memory[LAYER_HOSTS];
#define core_host(number)	(&core_host_memory[number].h)
extern bool core_host_pending[LAYER_HOSTS];
extern bool core_host_goes[LAYER_HOSTS];
extern unsigned int core_host_ticked[LAYER_HOSTS];	/* timer interrupts of visitors */
extern unsigned int core_came;		/* times that one came to this core */
extern u64 core_now;
extern u32 core_step;		/* it goes on by less than this when somebody looks */
#define CORE_CYCLES_PER_TICK	16
extern u64 core_ticks;		/* the timer: what it counts from; 0: off */
extern u64 core_fires;		/* and when it fires */
extern unsigned int core_ticked;	/* times that Linux's timer interrupt was raised */
extern u64 core_rang;		/* the last bell of Linux's that was rung */
extern unsigned int core_rings;
void core_reset(void);
void core_begin(const struct layer_rt_start *start);

/* apic.c: its local APIC, but the timer */
#define APIC_LEVEL_FIRST	0x30	/* these have a line that stays up until their device is served */
#define APIC_LEVEL_LAST		0x3f
extern bool apic_line[LAYER_VECTORS];	/* of levels: the device wants to be served */
extern int apic_held;			/* classes up to this one have to wait */
void apic_reset(void);
bool apic_deliverable(void);
void apic_something(void);		/* time goes on until there is something to take */
bool apic_quiet(void);			/* nothing on its way, nothing in service */
bool apic_request(unsigned int vector);	/* by a device; false: it had asked for it already */

/* turns.c: a core with exits */
extern bool turns_rtos;		/* an RTOS has it; or Linux */
extern struct layer_guest *turns_guest;	/* which one, the last time */
extern u64 turns_taken;
void turns_reset(void);
void turns_exit(void);
void turns_go_on(void);

void test_timer(void);
void test_budget(void);
void test_late(void);
void test_guests(void);
void test_hosts(void);
void test_lapic(void);
void test_tasks(void);
void test_lost(void);
void fuzz_timer(u64 seed);
void fuzz_budget(u64 seed);
void fuzz_vectors(u64 seed, bool visited);

#endif
