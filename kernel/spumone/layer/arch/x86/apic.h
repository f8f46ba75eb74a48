/* SPDX-License-Identifier: GPL-2.0 */
/* Registers of the local APIC, by their offsets in its page (AMD64 APM volume 2, chapter 16). */
#ifndef _LAYER_APIC_H
#define _LAYER_APIC_H

#define APIC_ID		0x020
#define APIC_VERSION	0x030
#define APIC_TPR	0x080
#define APIC_EOI	0x0b0
#define APIC_LOGICAL	0x0d0
#define APIC_FORMAT	0x0e0
#define APIC_SPURIOUS	0x0f0
#define APIC_ISR	0x100	/* 256 bits, a register for 32 of them */
#define APIC_TMR	0x180
#define APIC_IRR	0x200
#define APIC_ERRORS	0x280
#define APIC_ICR	0x300
#define APIC_ICR_HIGH	0x310
#define APIC_LVT_TIMER	0x320
#define APIC_LVT_ERROR	0x370	/* the last of its kind, each 0x10 behind the one before */
#define APIC_TIMER_INIT	0x380

/* Linux's vector for its own timer, in all versions that we run under. */
#define APIC_LINUX_TIMER	0xec

#define APIC_ID_SHIFT	24

#define APIC_ICR_KIND	(7u << 8)
#define APIC_ICR_NMI	(4u << 8)
#define APIC_ICR_LOGICAL	(1u << 11)
#define APIC_ICR_BUSY	(1u << 12)
#define APIC_ICR_ASSERT	(1u << 14)
#define APIC_ICR_TO	(3u << 18)	/* instead of a destination: */
#define APIC_ICR_SELF	(1u << 18)
#define APIC_ICR_OTHERS	(3u << 18)
#define APIC_LVT_MASKED	(1u << 16)

#endif
