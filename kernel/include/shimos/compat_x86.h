/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between the kernels we support, of what only x86 has. */
#ifndef _SHIMOS_COMPAT_X86_H
#define _SHIMOS_COMPAT_X86_H

#include <linux/version.h>
#include <asm/msr.h>

/* in 6.1 only resctrl itself knew it, by another name */
#ifndef MSR_IA32_PQR_ASSOC
#define MSR_IA32_PQR_ASSOC	0x0c8f
#endif

/* in 6.16 registers of 64 bits got other names, and CPUID a header of its own */
#ifdef rdmsrq
#include <asm/cpuid/api.h>
#define compat_rdmsrq(msr, value)			rdmsrq(msr, value)
#define compat_rdmsrq_safe(msr, value)			rdmsrq_safe(msr, value)
#define compat_rdmsrq_safe_on_cpu(cpu, msr, value)	rdmsrq_safe_on_cpu(cpu, msr, value)
#define compat_wrmsrq(msr, value)			wrmsrq(msr, value)
#else
#define compat_rdmsrq(msr, value)			rdmsrl(msr, value)
#define compat_rdmsrq_safe(msr, value)			rdmsrl_safe(msr, value)
#define compat_rdmsrq_safe_on_cpu(cpu, msr, value)	rdmsrl_safe_on_cpu(cpu, msr, value)
#define compat_wrmsrq(msr, value)			wrmsrl(msr, value)
#endif

/* where irq_cpustat_t counts interrupts of each CPU: in members in 6.12, in an array in 7.2 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define COMPAT_COUNT_TIMER		apic_timer_irqs
#define COMPAT_COUNT_RESCHEDULE		irq_resched_count
#define COMPAT_COUNT_CALL_FUNCTION	irq_call_count
#define COMPAT_COUNT_IRQ_WORK		apic_irq_work_irqs
#else
#define COMPAT_COUNT_TIMER		counts[IRQ_COUNT_APIC_TIMER]
#define COMPAT_COUNT_RESCHEDULE		counts[IRQ_COUNT_RESCHEDULE]
#define COMPAT_COUNT_CALL_FUNCTION	counts[IRQ_COUNT_CALL_FUNCTION]
#define COMPAT_COUNT_IRQ_WORK		counts[IRQ_COUNT_IRQ_WORK]
#endif

#endif
