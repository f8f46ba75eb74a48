// SPDX-License-Identifier: GPL-2.0
/* The local APIC, by memory or as x2APIC by MSRs (AMD64 APM volume 2, chapter 16). */
#include "apic.h"
#include "x86.h"

#define X2APIC_MSRS	0x800
#define X2APIC_SELF	0x83f

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

/**
 * layer_apic_read() - read a register
 * @reg: its offset in the page; with x2APIC its MSR is read
 */
u32 layer_apic_read(u32 reg)
{
	u32 value;

	if (!layer_params.apic)
		return layer_rdmsr(X2APIC_MSRS + (reg >> 4));
	asm volatile("movl %1, %0" : "=r"(value) : "m"(*(u32 *)(layer_apic_page + reg)) : "memory");
	return value;
}

/**
 * layer_apic_write() - write a register
 * @reg: its offset in the page; with x2APIC its MSR is written
 * @value: what
 */
void layer_apic_write(u32 reg, u32 value)
{
	if (layer_params.apic)
		asm volatile("movl %1, %0" : "=m"(*(u32 *)(layer_apic_page + reg)) : "r"(value)
			     : "memory");
	else
		layer_wrmsr(X2APIC_MSRS + (reg >> 4), value);
}

/**
 * layer_apic_send() - send an interrupt
 * @low: the lower half of the command
 * @destination: the number of a local APIC
 *
 * Linux may have been between the two halves of its own interrupt to others: the upper one is
 * put back.  Waits until it is sent.
 */
void layer_apic_send(u32 low, u32 destination)
{
	u32 high;

	if (!layer_params.apic) {
		layer_wrmsr(X2APIC_MSRS + (APIC_ICR >> 4), (u64)destination << 32 | low);
		return;
	}
	while (layer_apic_read(APIC_ICR) & APIC_ICR_BUSY)
		;
	high = layer_apic_read(APIC_ICR_HIGH);
	layer_apic_write(APIC_ICR_HIGH, destination);
	layer_apic_write(APIC_ICR, low);
	while (layer_apic_read(APIC_ICR) & APIC_ICR_BUSY)
		;
	layer_apic_write(APIC_ICR_HIGH, high);
}

/**
 * layer_apic_end() - end the interrupt with the highest priority among those in service
 */
void layer_apic_end(void)
{
	layer_apic_write(APIC_EOI, 0);
}

/**
 * layer_apic_raise() - raise a vector of this core's own
 * @vector: which
 *
 * The upper half of the command means nothing for that.
 */
void layer_apic_raise(unsigned int vector)
{
	if (!layer_params.apic) {
		layer_wrmsr(X2APIC_SELF, vector);
		return;
	}
	while (layer_apic_read(APIC_ICR) & APIC_ICR_BUSY)
		;
	/* it stays on this core, so it is there long before Linux goes on */
	layer_apic_write(APIC_ICR, APIC_ICR_SELF | APIC_ICR_ASSERT | vector);
}

/**
 * layer_apic_nmi() - send this core an NMI, which no shorthand allows
 */
void layer_apic_nmi(void)
{
	u32 self = layer_apic_read(APIC_ID);

	layer_apic_send(APIC_ICR_NMI | APIC_ICR_ASSERT, self);
}

void layer_arch_ring(u64 bell)
{
	layer_apic_send(bell, bell >> 32);
}

/**
 * layer_apic_is_level() - did it come as a level, which its I/O APIC sends again after its end?
 * @vector: in service
 */
int layer_apic_is_level(unsigned int vector)
{
	return layer_apic_read(APIC_TMR + (vector / 32 << 4)) >> (vector % 32) & 1;
}

/**
 * layer_apic_in_service() - is any interrupt in service?
 */
int layer_apic_in_service(void)
{
	u32 i, any = 0;

	for (i = 0; i < LAYER_VECTORS / 32; i++)
		any |= layer_apic_read(APIC_ISR + (i << 4));
	return any != 0;
}

/**
 * layer_apic_level_in_service() - is any that came as a level?
 */
int layer_apic_level_in_service(void)
{
	u32 i, any = 0;

	for (i = 0; i < LAYER_VECTORS / 32; i++)
		any |= layer_apic_read(APIC_ISR + (i << 4)) & layer_apic_read(APIC_TMR + (i << 4));
	return any != 0;
}

/**
 * layer_apic_top_in_service() - is one of the highest class?
 */
int layer_apic_top_in_service(void)
{
	/* the class is the upper half of the last of eight registers */
	return layer_apic_read(APIC_ISR + ((LAYER_VECTORS / 32 - 1) << 4)) >> 16 != 0;
}

/**
 * layer_apic_hold() - keep interrupts up to a class away, for somebody who does not want them
 * @class: 0: none
 *
 * Return: what was before, for layer_apic_release().
 */
u32 layer_apic_hold(u32 class)
{
	u32 was = layer_apic_read(APIC_TPR);

	layer_apic_write(APIC_TPR, class << 4);
	return was;
}

/**
 * layer_apic_release() - keep away what was kept away before
 * @was: of layer_apic_hold()
 */
void layer_apic_release(u32 was)
{
	layer_apic_write(APIC_TPR, was);
}

u64 layer_arch_now(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

void layer_arch_arm(u64 ticks)
{
	layer_apic_write(APIC_LVT_TIMER, LAYER_VECTOR);
	layer_apic_write(APIC_TIMER_INIT, ticks);
}

void layer_arch_disarm(void)
{
	layer_apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | APIC_LINUX_TIMER);
	layer_apic_write(APIC_TIMER_INIT, 0);
}

/* By the APIC, so that Linux's end of interrupt has something to end. */
void layer_arch_tick(void)
{
	layer_apic_raise(APIC_LINUX_TIMER);
}
