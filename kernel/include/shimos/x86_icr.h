/* SPDX-License-Identifier: GPL-2.0 */
/* Sending interrupts to CPUs of other kernels, for KLoader and IKC on x86. */
#ifndef _SHIMOS_X86_ICR_H
#define _SHIMOS_X86_ICR_H

#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <asm/apic.h>

/* How long to wait for the last one to be delivered; it takes less than one. */
#define SHIMOS_ICR_BUSY_US	1000

/**
 * shimos_icr_send() - write this CPU's interrupt command register
 * @apic_id: who gets it, by physical id
 * @command: delivery mode and vector, as APIC_ICR has them
 *
 * In xAPIC mode the command is two registers, and may be written only when the last
 * one has been delivered (Intel SDM 3A, 11.6.1).  An NMI may come between the two
 * writes of somebody else: then the half that was written is put back.
 *
 * Context: any, NMI included.
 */
static inline void shimos_icr_send(u32 apic_id, u32 command)
{
	bool halves = apic->wait_icr_idle, nested = halves && in_nmi();
	unsigned int left = SHIMOS_ICR_BUSY_US;
	unsigned long flags;
	u32 half = 0;

	local_irq_save(flags);
	/* in x2APIC mode the write does not wait for stores before it (Intel SDM 3A, 11.12.3) */
	if (!halves) {
		mb();	/* pairs with the interrupt itself: whoever gets it sees them */
		rmb();	/* as LFENCE: the write comes after the fence above */
	}
	while (halves && apic->read(APIC_ICR) & APIC_ICR_BUSY && left--)
		udelay(1);
	if (nested)
		half = apic->read(APIC_ICR2);
	apic->icr_write(command, apic_id);
	if (nested)
		apic->write(APIC_ICR2, half);
	local_irq_restore(flags);
}

#endif
