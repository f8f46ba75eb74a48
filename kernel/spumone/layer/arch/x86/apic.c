// SPDX-License-Identifier: GPL-2.0
/* The local APIC, by memory or as x2APIC by MSRs (AMD64 APM volume 2, chapter 16). */
#include "x86.h"

#define APIC_ID		0x020
#define APIC_TPR	0x080
#define APIC_EOI	0x0b0
#define APIC_ISR	0x100	/* 256 bits, a register for 32 of them */
#define APIC_TMR	0x180
#define APIC_ICR	0x300
#define APIC_ICR_HIGH	0x310
#define APIC_LVT_TIMER	0x320
#define APIC_TIMER_INIT	0x380

#define APIC_ICR_BUSY	(1u << 12)
#define APIC_ICR_ASSERT	(1u << 14)
#define APIC_ICR_SELF	(1u << 18)
#define APIC_ICR_NMI	(4u << 8)
#define APIC_LVT_MASKED	(1u << 16)

#define X2APIC_MSRS	0x800
#define X2APIC_SELF	0x83f

/* Linux's vector for its own timer, in all versions that we run under. */
#define APIC_LINUX_TIMER	0xec

static u64 layer_rdmsr(u32 msr)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (u64)high << 32 | low;
}

static void layer_wrmsr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static u32 apic_read(u32 reg)
{
	u32 value;

	if (!layer_params.apic)
		return layer_rdmsr(X2APIC_MSRS + (reg >> 4));
	asm volatile("movl %1, %0" : "=r"(value) : "m"(*(u32 *)(layer_apic_page + reg)) : "memory");
	return value;
}

static void apic_write(u32 reg, u32 value)
{
	if (layer_params.apic)
		asm volatile("movl %1, %0" : "=m"(*(u32 *)(layer_apic_page + reg)) : "r"(value)
			     : "memory");
	else
		layer_wrmsr(X2APIC_MSRS + (reg >> 4), value);
}

/*
 * Linux may have been between the two halves of its own interrupt to others: the
 * upper one is put back.
 */
static void apic_send(u32 low, u32 destination)
{
	u32 high;

	if (!layer_params.apic) {
		layer_wrmsr(X2APIC_MSRS + (APIC_ICR >> 4), (u64)destination << 32 | low);
		return;
	}
	while (apic_read(APIC_ICR) & APIC_ICR_BUSY)
		;
	high = apic_read(APIC_ICR_HIGH);
	apic_write(APIC_ICR_HIGH, destination);
	apic_write(APIC_ICR, low);
	while (apic_read(APIC_ICR) & APIC_ICR_BUSY)
		;
	apic_write(APIC_ICR_HIGH, high);
}

/* End of the interrupt with the highest priority among those in service. */
void layer_apic_end(void)
{
	apic_write(APIC_EOI, 0);
}

/* Raise a vector of this core's own. */
void layer_apic_raise(unsigned int vector)
{
	if (!layer_params.apic)
		layer_wrmsr(X2APIC_SELF, vector);
	else
		apic_send(APIC_ICR_SELF | APIC_ICR_ASSERT | vector, 0);
}

/* An NMI to itself, which no shorthand allows. */
void layer_apic_nmi(void)
{
	u32 self = apic_read(APIC_ID);

	apic_send(APIC_ICR_NMI | APIC_ICR_ASSERT, self);
}

void layer_arch_ring(u64 bell)
{
	apic_send(bell, bell >> 32);
}

/* Did it come as a level, which its I/O APIC sends again after its end? */
int layer_apic_is_level(unsigned int vector)
{
	return apic_read(APIC_TMR + (vector / 32 << 4)) >> (vector % 32) & 1;
}

/* Is any interrupt in service? */
int layer_apic_in_service(void)
{
	u32 i, any = 0;

	for (i = 0; i < LAYER_VECTORS / 32; i++)
		any |= apic_read(APIC_ISR + (i << 4));
	return any != 0;
}

/* Is one of the highest class? */
int layer_apic_top_in_service(void)
{
	/* the class is the upper half of the last of eight registers */
	return apic_read(APIC_ISR + ((LAYER_VECTORS / 32 - 1) << 4)) >> 16 != 0;
}

/* Keep interrupts up to a class away, for somebody who does not want them; what was before. */
u32 layer_apic_hold(u32 class)
{
	u32 was = apic_read(APIC_TPR);

	apic_write(APIC_TPR, class << 4);
	return was;
}

void layer_apic_release(u32 was)
{
	apic_write(APIC_TPR, was);
}

u64 layer_arch_now(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

void layer_arch_arm(u64 ticks)
{
	apic_write(APIC_LVT_TIMER, LAYER_VECTOR);
	apic_write(APIC_TIMER_INIT, ticks);
}

void layer_arch_disarm(void)
{
	apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | APIC_LINUX_TIMER);
	apic_write(APIC_TIMER_INIT, 0);
}

/* By the APIC, so that Linux's end of interrupt has something to end. */
void layer_arch_tick(void)
{
	layer_apic_raise(APIC_LINUX_TIMER);
}
