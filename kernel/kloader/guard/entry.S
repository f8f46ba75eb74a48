/* SPDX-License-Identifier: GPL-2.0 */
/* Into the guard, around the kernel that it guards, and what it does on exceptions of its own. */
#include <shimos/svm_registers.S>
#include "guard.h"

#define ENTRY_CR4_MCE		(1 << 6)
#define ENTRY_MSR_EFER		0xc0000080
#define ENTRY_MSR_SAVE		0xc0010117	/* VM_HSAVE_PA */
#define ENTRY_EFER_SVME		(1 << 12)
#define ENTRY_MSR_MCG_STATUS	0x17a
#define ENTRY_NMI		2
#define ENTRY_MCE		18

	.text
/*
 * KLoader's trampoline comes here after INIT and SIPI, with the guard's page tables,
 * interrupts off and GIF set.  %rsi is the CPU's struct guard_cpu.
 */
	.globl	guard_enter
guard_enter:
	mov	%rsi, %rbx
	lea	GUARD_STACK_END(%rbx), %rsp
	push	%rbx				/* %rsp leads to it from now on */
	sub	$16, %rsp
	lea	guard_gdt(%rip), %rax
	movw	$3 * 8 - 1, 6(%rsp)
	mov	%rax, 8(%rsp)
	lgdt	6(%rsp)
	mov	GUARD_IDT(%rbx), %rax
	movw	$GUARD_VECTORS * 16 - 1, 6(%rsp)
	mov	%rax, 8(%rsp)
	lidt	6(%rsp)
	add	$16, %rsp
	mov	$GUARD_DS, %eax
	mov	%eax, %ss
	mov	%eax, %ds
	mov	%eax, %es
	lea	.Lown_code(%rip), %rax
	pushq	$GUARD_CS
	push	%rax
	lretq
.Lown_code:
	/* without it, a machine check that all CPUs get would be a shutdown */
	mov	%cr4, %rax
	or	$ENTRY_CR4_MCE, %rax
	mov	%rax, %cr4
	mov	$ENTRY_MSR_EFER, %ecx
	rdmsr
	or	$ENTRY_EFER_SVME, %eax
	wrmsr
	mov	$ENTRY_MSR_SAVE, %ecx
	lea	GUARD_SAVE(%rbx), %rax
	mov	%rax, %rdx
	shr	$32, %rdx
	wrmsr
	mov	%rbx, %rdi
	call	guard_start
	clgi

.Lrun:
	lea	GUARD_VMCB(%rbx), %rax
	svm_load_registers rbx
	vmrun
	push	%rbx
	mov	8(%rsp), %rbx
	svm_save_registers rbx
	cld
	mov	%rbx, %rdi
	call	guard_exit
	jmp	.Lrun

/* Exceptions while GIF is set: the CPU waits, or stands still.  A stub each, all of one size. */
	.balign	GUARD_STUB_SIZE
	.globl	guard_stubs
guard_stubs:
	vector = 0
	.rept	GUARD_VECTORS
	.balign	GUARD_STUB_SIZE
	.if	vector == ENTRY_NMI
	iretq					/* nobody's, while its kernel does not run */
	.elseif	vector == ENTRY_MCE
	jmp	.Lmachine_check
	.else
	mov	$vector, %esi
	jmp	.Lfault
	.endif
	vector = vector + 1
	.endr

	/* what is still set when the next one comes makes that a shutdown */
.Lmachine_check:
	push	%rax
	push	%rcx
	push	%rdx
	xor	%eax, %eax
	xor	%edx, %edx
	mov	$ENTRY_MSR_MCG_STATUS, %ecx
	wrmsr
	pop	%rdx
	pop	%rcx
	pop	%rax
	iretq

	/* the stack's first page ends where the next block begins: back to its start */
.Lfault:
	mov	%rsp, %rdi
	dec	%rdi
	and	$~(GUARD_STACK_END - 1), %rdi
	lea	GUARD_STACK_END(%rdi), %rsp
	call	guard_fault

	.section .rodata
	.balign	16
guard_gdt:
	.quad	0
	.quad	0x00af9b000000ffff		/* code, 64 bits */
	.quad	0x00cf93000000ffff		/* data */
	.section .note.GNU-stack, "", @progbits
