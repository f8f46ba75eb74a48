/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of trusted tasks. MSR_LSTAR leads here while one is current.
 *
 * SYSCALL works at CPL 0 as at CPL 3 and says nothing about where it came from:
 * the way back is always to CPL 0, which promotes a task as a side effect.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/errno.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <shimos/compat_asm.h>
#include "regs.h"

/* what a program may have in its flags for the short way back */
#define PLAIN_FLAGS	(X86_EFLAGS_FIXED | X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF | X86_EFLAGS_IF | \
			 X86_EFLAGS_ID)

/* as static_call() does it in C, so that objtool finds the key of the trampoline */
	.pushsection .discard.addressable, "aw"
	.quad	__SCK__kml_do_syscall_64
	.popsection

/* the registers that a direct call left out of struct pt_regs */
.macro save_rest
	movq	%r15, R_15(%rsp)
	movq	%r14, R_14(%rsp)
	movq	%r13, R_13(%rsp)
	movq	%r12, R_12(%rsp)
	movq	%rbp, R_BP(%rsp)
	movq	%rbx, R_BX(%rsp)
	movq	$0, R_11(%rsp)
.endm

	.text

SYM_CODE_START(kml_syscall)
	UNWIND_HINT_ENTRY
	ENDBR
	swapgs
	movq	%rsp, PER_CPU_VAR(kml_program_sp)
	movq	PER_CPU_VAR(kml_stack_top), %rsp

	/* struct pt_regs, as the stock entry makes it */
	pushq	$__USER_DS
	pushq	PER_CPU_VAR(kml_program_sp)
	pushq	%r11
	pushq	$__USER_CS
	pushq	%rcx
	pushq	%rax
	push_regs ax=$-ENOSYS
	UNWIND_HINT_REGS

	movq	%rsp, %rdi
	movslq	%eax, %rsi
	call	__SCT__kml_do_syscall_64	/* returns with interrupts off */
SYM_INNER_LABEL(kml_syscall_done, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	UNWIND_HINT_REGS
	incq	PER_CPU_VAR(kml_syscalls)

	/* Signals, sigreturn, exec and debuggers change where it goes on. */
	movq	R_CX(%rsp), %rcx
	movq	R_11(%rsp), %r11
	cmpq	%rcx, R_IP(%rsp)
	jne	kml_return
	cmpq	%r11, R_FLAGS(%rsp)
	jne	kml_return
	testq	$~PLAIN_FLAGS, %r11
	jnz	kml_return
	testq	%rcx, %rcx
	js	kml_return
	cmpq	$__USER_CS, R_CS(%rsp)
	jne	kml_return

	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	addq	$8, %rsp
	popq	%rdx
	popq	%rsi
	popq	%rdi
	UNWIND_HINT_IRET_REGS offset=8
	movq	R_SP - R_ORIG_AX(%rsp), %rsp
	jmp	.Lto_program
SYM_CODE_END(kml_syscall)

/*
 * A direct call: a jump here with the registers of SYSCALL, the return address in
 * rcx already. Up to swapgs it is the program that runs. Callee-saved registers
 * are saved only if somebody may want them: C functions preserve them.
 */
SYM_CODE_START(kml_call)
	UNWIND_HINT_ENTRY
	ENDBR
	movq	%rsp, %r11
	cli
	swapgs
	movq	PER_CPU_VAR(kml_stack_top), %rsp
	pushq	$__USER_DS
	pushq	%r11
	pushq	$(X86_EFLAGS_FIXED | X86_EFLAGS_IF)
	pushq	$__USER_CS
	pushq	%rcx
	pushq	%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	$-ENOSYS
	pushq	%r8
	pushq	%r9
	pushq	%r10
	subq	$R_10, %rsp
	UNWIND_HINT_REGS
	incq	PER_CPU_VAR(kml_calls)

	movq	PER_CPU_VAR(kml_current), %rcx
	cmpq	$0, TI_SYSCALL_WORK(%rcx)
	jne	.Lcall_slow			/* traced, filtered, audited */
	movl	%eax, %eax
	cmpl	kml_fast_count(%rip), %eax
	jae	.Lcall_slow
	movq	kml_fast(,%rax,8), %rax
	testq	%rax, %rax
	jz	.Lcall_slow
	movq	%rsp, %rdi
	sti
	CALL_NOSPEC rax
	cli
	movq	PER_CPU_VAR(kml_current), %rcx
	movl	TI_FLAGS(%rcx), %ecx
	testl	kml_exit_work(%rip), %ecx
	jnz	.Lcall_work

	movq	R_10(%rsp), %r10
	movq	R_9(%rsp), %r9
	movq	R_8(%rsp), %r8
	movq	R_DX(%rsp), %rdx
	movq	R_SI(%rsp), %rsi
	movq	R_DI(%rsp), %rdi
	movq	R_IP(%rsp), %rcx
	movq	R_SP(%rsp), %rsp
.Lto_program:
	COMPAT_UNWIND_HINT_UNKNOWN
	swapgs
	/*
	 * Interrupts come after the jump at the earliest, as sti delays them by an
	 * instruction, unless an NMI comes between: see gates.S.
	 */
	sti
SYM_INNER_LABEL(kml_return_jmp, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*%rcx
	int3

.Lcall_slow:
	UNWIND_HINT_REGS
	save_rest
	movq	%rsp, %rdi
	movslq	R_ORIG_AX(%rsp), %rsi
	call	__SCT__kml_do_syscall_64
SYM_INNER_LABEL(kml_call_done, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	UNWIND_HINT_REGS
	jmp	kml_return

	/* signals, the scheduler, the FPU's state: as after SYSCALL */
.Lcall_work:
	UNWIND_HINT_REGS
	sti
	save_rest
	movq	%rax, R_AX(%rsp)
	movq	%rsp, %rdi
	movq	kml_exit_function(%rip), %rax
	CALL_NOSPEC rax
	jmp	kml_return
SYM_CODE_END(kml_call)

/*
 * From struct pt_regs at %rsp to the program with all that regs say, at CPL 0,
 * interrupts off. What cannot be at CPL 0 goes the stock way: addresses that iret
 * would fault on, other code segments.
 */
SYM_CODE_START(kml_return)
	UNWIND_HINT_REGS
	cmpq	$0, R_IP(%rsp)
	jl	.Lstock
	cmpq	$__USER_CS, R_CS(%rsp)
	jne	.Lstock
	movq	R_IP(%rsp), %rax
	shrq	$47, %rax
	jnz	.Lstock
	movq	$__KERNEL_CS, R_CS(%rsp)
	movq	$__KERNEL_DS, R_SS(%rsp)
	pop_regs
	addq	$8, %rsp
	UNWIND_HINT_IRET_REGS
	swapgs
	iretq
	int3
.Lstock:
	UNWIND_HINT_REGS
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*kml_stock_return(%rip)
	int3
SYM_CODE_END(kml_return)
