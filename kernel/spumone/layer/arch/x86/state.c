// SPDX-License-Identifier: GPL-2.0
/*
 * What of Linux is in a core, beside what VMRUN and VMLOAD switch: floating point, debug
 * registers and some MSRs.  An RTOS uses none of the last two, so they are switched only
 * where several CPUs of Linux's share the core.
 */
#include "x86.h"

static struct x86_state *state_here;	/* whose it is; NULL: nobody's, or never another one's */

/**
 * layer_state_init() - before the first run
 * @own: of this core's own; it is what is in the core
 */
void layer_state_init(struct x86_state *own)
{
	state_here = own;
}

static u64 state_rdmsr(u32 msr)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (u64)high << 32 | low;
}

static void state_wrmsr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static void state_save(struct x86_state *s)
{
	int i;

	asm volatile("mov %%db0, %0" : "=r"(s->debug[0]));
	asm volatile("mov %%db1, %0" : "=r"(s->debug[1]));
	asm volatile("mov %%db2, %0" : "=r"(s->debug[2]));
	asm volatile("mov %%db3, %0" : "=r"(s->debug[3]));
	for (i = 0; i < LAYER_HOST_MSRS && layer_params.msrs[i]; i++)
		s->msrs[i] = state_rdmsr(layer_params.msrs[i]);
}

static void state_load(const struct x86_state *s)
{
	int i;

	asm volatile("mov %0, %%db0" : : "r"(s->debug[0]));
	asm volatile("mov %0, %%db1" : : "r"(s->debug[1]));
	asm volatile("mov %0, %%db2" : : "r"(s->debug[2]));
	asm volatile("mov %0, %%db3" : : "r"(s->debug[3]));
	for (i = 0; i < LAYER_HOST_MSRS && layer_params.msrs[i]; i++)
		state_wrmsr(layer_params.msrs[i], s->msrs[i]);
}

/**
 * layer_state_change() - another CPU of Linux's has the core, or none
 * @to: NULL: none.  No RTOS's floating point is in the registers
 */
void layer_state_change(struct x86_state *to)
{
	if (to == state_here)
		return;
	if (state_here)
		state_save(state_here);
	layer_fpu_change(to ? &to->fpu : NULL);
	if (to)
		state_load(to);
	state_here = to;
}

/**
 * layer_state_leaves() - this one is in memory, and nobody's in the core if it was in it
 * @s: of one that leaves this core
 */
void layer_state_leaves(const struct x86_state *s)
{
	if (state_here == s)
		layer_state_change(NULL);
}
