// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of the processor that the map of MSRs does not let through: arch/x86/guard_maps.c
 * has the list.
 */
#include "local.h"

#define MSR_LEN			2	/* of RDMSR and WRMSR */
#define MSR_IS_WRITE		1	/* EXITINFO1 */

#define MSR_RANGE		0x2000u	/* so many in each range of the map */
#define MSR_EFER_LMA		(1ull << 10)
/* VM_CR: no virtual machines, and that for good. */
#define MSR_VM_CR_LOCKED	((1ull << 4) | (1ull << 3))

static u64 msr_read_real(u32 msr)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return ((u64)high << 32) | low;
}

/* The bit that lets it run at all is always set, and never seen. */
static u64 msr_efer(u64 now, u64 value)
{
	return (value & ~MSR_EFER_LMA) | (now & MSR_EFER_LMA) | SVM_EFER_SVME;
}

static int msr_read(struct guard_cpu *cpu, u32 msr, u64 *value)
{
	switch (msr) {
	case SVM_MSR_EFER:
		*value = guard_vmcb(cpu)->save.efer & ~SVM_EFER_SVME;
		return 1;
	case SVM_MSR_VM_CR:
		*value = MSR_VM_CR_LOCKED;
		return 1;
	}
	return 0;
}

/* Only three ranges have a map; in the others there is nothing, as far as anybody knows. */
static int msr_is_known(u32 msr)
{
	u32 range = msr & ~(MSR_RANGE - 1);

	return range == 0 || range == 0xc0000000 || range == 0xc0010000;
}

/* What is the machine's stays as it is; a kernel that boots writes some of it, as it is. */
static int msr_write(struct guard_cpu *cpu, u32 msr, u64 value)
{
	struct svm_save *save = &guard_vmcb(cpu)->save;

	switch (msr) {
	case SVM_MSR_EFER:
		if (value & SVM_EFER_SVME)
			return 0;
		save->efer = msr_efer(save->efer, value);
		return 1;
	case GUARD_MSR_APIC_BASE:
		return value == msr_read_real(msr);
	case SVM_MSR_VM_CR:
	case SVM_MSR_VM_HSAVE_PA:
		return 0;
	}
	return msr_is_known(msr);
}

/**
 * guard_msr() - RDMSR or WRMSR of a register that is not let through
 * @cpu: this CPU's
 *
 * Context: between two runs of the kernel, with GIF clear.
 */
void guard_msr(struct guard_cpu *cpu)
{
	struct svm_vmcb *vmcb = guard_vmcb(cpu);
	struct guard_registers *r = &cpu->registers;
	u64 value = (r->rdx << 32) | (u32)vmcb->save.rax;
	int done;

	if (vmcb->control.exit_info_1 == MSR_IS_WRITE) {
		done = msr_write(cpu, r->rcx, value);
	} else {
		done = msr_read(cpu, r->rcx, &value);
		if (done) {
			vmcb->save.rax = (u32)value;
			r->rdx = value >> 32;
		}
	}
	if (done)
		guard_skip(cpu, vmcb->save.rip + MSR_LEN);
	else
		guard_raise(cpu, GUARD_EXCEPTION_GP);
}
