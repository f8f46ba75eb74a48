// SPDX-License-Identifier: GPL-2.0
/* Why a CPU has left its kernel, and what is done about it. */
#include "local.h"

#define EXIT_INVD_LEN	2
#define EXIT_INVD	0x76

/* For good: KLoader sees it, and takes all of the partition's CPUs by INIT. */
static _Noreturn void exit_end(struct guard_cpu *cpu, enum guard_why why, u64 at, u64 info)
{
	GUARD_WRITE(cpu->at, at);
	GUARD_WRITE(cpu->info, info);
	/* pairs with the acquire in kloader_arch_guard_ended() */
	__atomic_store_n(&cpu->why, (u32)why, __ATOMIC_RELEASE);
	/* INIT waits while GIF is clear */
	asm volatile("stgi");
	for (;;)
		asm volatile("cli; hlt");
}

/**
 * guard_fault() - an exception in the guard: a fault of ours
 * @cpu: this CPU's
 * @vector: which
 *
 * Context: called by entry.S; the CPU ends here.
 */
void guard_fault(struct guard_cpu *cpu, u64 vector)
{
	exit_end(cpu, GUARD_FAULT, 0, vector);
}

/**
 * guard_start() - wait until the kernel wakes this CPU
 * @cpu: this CPU's
 *
 * What else it finds then is as the first has found it.
 *
 * Context: called by entry.S, with GIF clear.
 */
void guard_start(struct guard_cpu *cpu)
{
	struct guard_mailbox *box = (struct guard_mailbox *)cpu->mailbox;

	if (!box)
		return;
	/* pairs with the kernel's order: the command comes last */
	while (__atomic_load_n(&box->command, __ATOMIC_ACQUIRE) != GUARD_WAKE ||
	       GUARD_READ(box->apic_id) != cpu->apic_id)
		asm volatile("pause");
	guard_vmcb(cpu)->save.rip = GUARD_READ(box->entry);
	/* the kernel may use it for the next one */
	__atomic_store_n(&box->command, 0, __ATOMIC_RELEASE);
}

/*
 * It touched what is not its own.  Whoever did meets an exception that its kernel takes for
 * a fault of that one; a page fault would be looked up in the kernel's own tables, found to
 * be none, and tried again.  If the processor was about to raise another one, or to deliver
 * an interrupt, the kernel's tables or stacks are not its own, and there is nobody to tell.
 */
static void exit_stray(struct guard_cpu *cpu)
{
	struct svm_vmcb *vmcb = guard_vmcb(cpu);
	u64 address = vmcb->control.exit_info_2;

	guard_count(&cpu->counts.strays);
	GUARD_WRITE(cpu->stray, address);
	GUARD_WRITE(cpu->stray_at, vmcb->save.rip);
	if (vmcb->control.exit_event & SVM_EVENT_VALID)
		exit_end(cpu, GUARD_STRAY, vmcb->save.rip, address);
	guard_raise(cpu, GUARD_EXCEPTION_GP);
}

/* What would throw away what other kernels' CPUs have stored. */
static void exit_invd(struct guard_cpu *cpu)
{
	asm volatile("wbinvd" : : : "memory");
	guard_skip(cpu, guard_vmcb(cpu)->save.rip + EXIT_INVD_LEN);
}

/**
 * guard_exit() - all that happens between two runs of the kernel
 * @cpu: this CPU's
 *
 * Context: called by entry.S, with GIF clear; does not return if the CPU ends here.
 */
void guard_exit(struct guard_cpu *cpu)
{
	struct svm_vmcb *vmcb = guard_vmcb(cpu);
	u64 code = vmcb->control.exit_code;

	guard_count(&cpu->counts.exits);
	vmcb->control.event = 0;
	vmcb->control.tlb = 0;
	switch (code) {
	case SVM_EXIT_PORTS:
		guard_count(&cpu->counts.ports);
		guard_ports(cpu);
		return;
	case SVM_EXIT_MSR:
		guard_count(&cpu->counts.registers);
		guard_msr(cpu);
		return;
	case SVM_EXIT_NESTED_FAULT:
		exit_stray(cpu);
		return;
	case EXIT_INVD:
		exit_invd(cpu);
		return;
	case SVM_EXIT_VMRUN ... SVM_EXIT_SVM_LAST:
		guard_raise(cpu, GUARD_EXCEPTION_UD);	/* no virtual machines in here */
		return;
	case SVM_EXIT_SHUTDOWN:
		exit_end(cpu, GUARD_SHUTDOWN, vmcb->save.rip, 0);
	case SVM_EXIT_INVALID:
		exit_end(cpu, GUARD_INVALID, vmcb->save.rip, 0);
	default:
		exit_end(cpu, GUARD_EXIT, vmcb->save.rip, code);
	}
}
