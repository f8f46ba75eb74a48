/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the guard's files share.  Calls go down: exit.c; ports.c and msr.c.
 *
 * All of it runs on the guarded CPU between two runs of the kernel, with GIF clear, and returns at
 * once unless it says otherwise.
 */
#ifndef _KLOADER_GUARD_LOCAL_H
#define _KLOADER_GUARD_LOCAL_H

#include "guard.h"

#define GUARD_EXCEPTION_UD	6	/* invalid opcode */
#define GUARD_EXCEPTION_GP	13	/* general protection, with an error code */

/* Once, and whole. */
#define GUARD_READ(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define GUARD_WRITE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

/**
 * guard_vmcb() - a CPU's VMCB
 * @cpu: this CPU's
 */
static inline struct svm_vmcb *guard_vmcb(struct guard_cpu *cpu)
{
	return (struct svm_vmcb *)((u64)cpu + GUARD_VMCB);
}

/**
 * guard_count() - one more
 * @counter: only the CPU itself counts
 */
static inline void guard_count(u64 *counter)
{
	GUARD_WRITE(*counter, *counter + 1);
}

/**
 * guard_skip() - its kernel goes on behind the instruction
 * @cpu: this CPU's
 * @next: the next instruction's address
 */
static inline void guard_skip(struct guard_cpu *cpu, u64 next)
{
	struct svm_vmcb *vmcb = guard_vmcb(cpu);

	vmcb->save.rip = next;
	vmcb->control.shadow &= ~(u64)SVM_SHADOW;
}

/**
 * guard_raise() - its kernel meets an exception instead of what the instruction does
 * @cpu: this CPU's
 * @vector: of the exception
 */
static inline void guard_raise(struct guard_cpu *cpu, u32 vector)
{
	guard_vmcb(cpu)->control.event = SVM_EVENT_VALID | SVM_EVENT_EXCEPTION | vector |
		(vector == GUARD_EXCEPTION_GP ? SVM_EVENT_HAS_ERROR : 0);
}

/* Called by entry.S. */
void guard_start(struct guard_cpu *cpu);
void guard_exit(struct guard_cpu *cpu);
_Noreturn void guard_fault(struct guard_cpu *cpu, u64 vector);

/* ports.c, msr.c: an instruction that is not let through */
void guard_ports(struct guard_cpu *cpu);
void guard_msr(struct guard_cpu *cpu);

#endif
