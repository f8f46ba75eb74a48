/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of trusted tasks, by SYSCALL, for which MSR_LSTAR leads here while
 * one is current, and by direct calls.
 *
 * SYSCALL works at CPL 0 as at CPL 3 and says nothing about where it came from:
 * the way back is always to CPL 0, which promotes a task as a side effect.
 *
 * The short way has interrupts on, also where the stack or GS are not the kernel's
 * yet or any more: gates.S knows these places and goes back or ahead from them.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/errno.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/thread_info.h>
#include <shimos/compat_asm.h>
#include "regs.h"
#include "work.h"

/* what a program may have in its flags for the short way */
#define PLAIN_FLAGS	(X86_EFLAGS_FIXED | X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF | X86_EFLAGS_IF | \
			 X86_EFLAGS_ID)

/* as static_call() does it in C, so that objtool finds the key of the trampoline */
	.pushsection .discard.addressable, "aw"
	.quad	__SCK__kml_do_syscall_64
	.popsection

/*
 * Arguments and what C functions do not preserve, below regs->ip. The rest waits
 * until somebody wants it: C functions preserve it.
 */
.macro push_arguments
	pushq	%rax				/* regs->orig_ax */
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	subq	$16, %rsp
	pushq	%r8
	pushq	%r9
	pushq	%r10
	subq	$R_10, %rsp
	UNWIND_HINT_REGS
.endm

/* the registers that push_arguments left out */
.macro save_rest
	movq	%r15, R_15(%rsp)
	movq	%r14, R_14(%rsp)
	movq	%r13, R_13(%rsp)
	movq	%r12, R_12(%rsp)
	movq	%rbp, R_BP(%rsp)
	movq	%rbx, R_BX(%rsp)
	movq	R_FLAGS(%rsp), %rcx
	movq	%rcx, R_11(%rsp)
	movq	R_IP(%rsp), %rcx
	movq	%rcx, R_CX(%rsp)
.endm

	.text

SYM_CODE_START(kml_syscall)
	UNWIND_HINT_ENTRY
	ENDBR
	swapgs
	movq	%rsp, PER_CPU_VAR(kml_program_sp)
	movq	PER_CPU_VAR(kml_stack_top), %rsp
	pushq	$__USER_DS
	pushq	PER_CPU_VAR(kml_program_sp)
	pushq	%r11
	pushq	$__USER_CS
	pushq	%rcx
	push_arguments
	incq	PER_CPU_VAR(kml_syscalls)
	testq	$~PLAIN_FLAGS, %r11
	jnz	.Lslow
	sti
	jmp	.Ldispatch
SYM_CODE_END(kml_syscall)

/*
 * A direct call: a jump here with the registers of SYSCALL, the return address in
 * rcx already.
 */
SYM_CODE_START(kml_call)
	UNWIND_HINT_ENTRY
	ENDBR
	movq	%rsp, %r11
	swapgs
SYM_INNER_LABEL(kml_call_swapped, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	movq	PER_CPU_VAR(kml_stack_top), %rsp
	pushq	$__USER_DS
	pushq	%r11
	pushq	$(X86_EFLAGS_FIXED | X86_EFLAGS_IF)
	pushq	$__USER_CS
	pushq	%rcx
	push_arguments
	incq	PER_CPU_VAR(kml_calls)

.Ldispatch:
	movq	PER_CPU_VAR(kml_current), %rcx
	cmpq	$0, TI_SYSCALL_WORK(%rcx)
	jne	.Lslow				/* traced, filtered, audited */
	cmpq	kml_fast_count(%rip), %rax
	jae	.Lslow
	movq	kml_fast(,%rax,8), %rax
	movq	%rsp, %rdi
	CALL_NOSPEC rax

	/* An interrupt up to kml_swap_back makes it start here again. */
SYM_INNER_LABEL(kml_check, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	movq	PER_CPU_VAR(kml_current), %rcx
	testl	$KML_EXIT_WORK, TI_FLAGS(%rcx)
	jnz	.Lwork
	movq	R_10(%rsp), %r10
	movq	R_9(%rsp), %r9
	movq	R_8(%rsp), %r8
	movq	R_DX(%rsp), %rdx
	movq	R_SI(%rsp), %rsi
	movq	R_DI(%rsp), %rdi
	movq	R_IP(%rsp), %rcx
	movq	R_SP(%rsp), %rsp
SYM_INNER_LABEL(kml_swap_back, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	COMPAT_UNWIND_HINT_UNKNOWN
	swapgs
SYM_INNER_LABEL(kml_return_jmp, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*%rcx
	int3

.Lslow:
	UNWIND_HINT_REGS
	cli
	save_rest
	movq	$-ENOSYS, R_AX(%rsp)
	movq	%rsp, %rdi
	movslq	R_ORIG_AX(%rsp), %rsi
	call	__SCT__kml_do_syscall_64	/* returns with interrupts off */
SYM_INNER_LABEL(kml_syscall_done, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	UNWIND_HINT_REGS
	jmp	kml_return

	/* signals, the scheduler, the FPU's state: as after any system call */
.Lwork:
	UNWIND_HINT_REGS
	save_rest
	movq	%rax, R_AX(%rsp)
	movq	%rsp, %rdi
	movq	kml_exit_function(%rip), %rax
	CALL_NOSPEC rax				/* returns with interrupts off */
	jmp	kml_return
SYM_CODE_END(kml_call)

/* In kml_fast for calls that want all registers: as if it had not been called. */
SYM_CODE_START(kml_not_fast)
	UNWIND_HINT_REGS offset=8
	ENDBR
	addq	$8, %rsp
	jmp	.Lslow
SYM_CODE_END(kml_not_fast)

/*
 * From struct pt_regs at %rsp to the program with all that regs say, at CPL 0,
 * interrupts off. What cannot be at CPL 0 goes the stock way: addresses that iret
 * would fault on, other code segments, a task that was demoted meanwhile.
 */
SYM_CODE_START(kml_return)
	UNWIND_HINT_REGS
	cmpq	$0, PER_CPU_VAR(kml_cpl0)
	je	.Lstock
	cmpq	$0, R_IP(%rsp)
	jl	.Lstock
	cmpq	$__USER_CS, R_CS(%rsp)
	jne	.Lstock
	movq	R_IP(%rsp), %rax
	shrq	$47, %rax
	jnz	.Lstock
	movq	$__KERNEL_CS, R_CS(%rsp)
	movq	$__KERNEL_DS, R_SS(%rsp)
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
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
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
