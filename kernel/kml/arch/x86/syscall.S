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
/* what regs say it has during a direct call */
#define CALL_FLAGS	(X86_EFLAGS_FIXED | X86_EFLAGS_IF)
/* what the kernel must not run with, and SYSCALL masks: a jump does not */
#define CALL_ODD_FLAGS	(X86_EFLAGS_AC | X86_EFLAGS_NT | X86_EFLAGS_DF)

/* as static_call() does it in C, so that objtool finds the key of the trampoline */
	.pushsection .discard.addressable, "aw"
	.quad	__SCK__kml_do_syscall_64
	.popsection

/* The first three arguments and what is always needed of regs; %rcx: regs->ip. */
.macro save_call
	movq	%rcx, R_IP(%rsp)
	movq	%rax, R_ORIG_AX(%rsp)
	movq	%rdi, R_DI(%rsp)
	movq	%rsi, R_SI(%rsp)
	movq	%rdx, R_DX(%rsp)
.endm

/*
 * To regs on the task's stack. The program's flags are left where r15 belongs, which
 * is not written before it is known that all of regs is wanted.
 */
.macro call_stack
	movq	PER_CPU_VAR(kml_call_sp), %rsp
	UNWIND_HINT_REGS offset=-8
	pushfq
	UNWIND_HINT_REGS
.endm

.macro save_more_arguments
	movq	%r10, R_10(%rsp)
	movq	%r8, R_8(%rsp)
	movq	%r9, R_9(%rsp)
.endm

/*
 * What else regs has, for those who want all of it: C functions preserve these
 * registers.
 */
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
	movq	$__USER_CS, R_CS(%rsp)
	movq	$__USER_DS, R_SS(%rsp)
.endm

/*
 * Calls the function of the table. A task that is traced, filtered or audited has
 * work flags, in the upper half of what TI_WORK_UPPER loads, so that one comparison
 * rules out these and unknown numbers.
 */
.macro dispatch slow:req
	movq	PER_CPU_VAR(kml_current), %rcx
	orq	TI_WORK_UPPER(%rcx), %rax
	cmpq	kml_fast_count(%rip), %rax
	jae	\slow
	movq	kml_fast(,%rax,8), %rax
	movq	%rsp, %rdi
	CALL_NOSPEC rax
.endm

/*
 * The short way back, in two parts. An interrupt that hits it after its beginning
 * here and before kml_*_swap_back makes it begin again.
 */
.macro check_work way:req work:req
SYM_INNER_LABEL(kml_\way\()_check, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	movq	PER_CPU_VAR(kml_current), %rcx
	testl	$KML_EXIT_WORK, TI_FLAGS(%rcx)
	jnz	\work
.endm

.macro leave way:req
	movq	R_IP(%rsp), %rcx
	movq	R_SP(%rsp), %rsp
SYM_INNER_LABEL(kml_\way\()_swap_back, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	COMPAT_UNWIND_HINT_UNKNOWN
	swapgs
SYM_INNER_LABEL(kml_\way\()_return, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*%rcx
	int3
.endm

/* Neither kprobes nor breakpoints in here; see gates.S. */
	.section .noinstr.text, "ax"

/*
 * A direct call: a jump here with the registers of SYSCALL, the return address in
 * rcx already. To the program it is a call of a C function: what those need not
 * preserve is not restored. No ENDBR, for with IBT the module does not load.
 *
 * regs->flags waits until somebody wants it. So do cs and ss, which are a user's all
 * the time, as whatever brought the task into the kernel before wrote them and no way
 * back changes them: who looks at the stack meanwhile (unwinders, perf) sees where it
 * ends.
 */
SYM_CODE_START(kml_call)
	UNWIND_HINT_ENTRY
	ANNOTATE_NOENDBR
	movq	%rsp, %r11
	swapgs
SYM_INNER_LABEL(kml_call_swapped, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	call_stack
	save_more_arguments
	jmp	.Lcall
SYM_CODE_END(kml_call)

/* The same with three arguments at most, as most calls have. */
SYM_CODE_START(kml_call_3)
	UNWIND_HINT_ENTRY
	ANNOTATE_NOENDBR
	movq	%rsp, %r11
	swapgs
SYM_INNER_LABEL(kml_call_3_swapped, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	call_stack
.Lcall:
	movq	%r11, R_SP(%rsp)
	testl	$CALL_ODD_FLAGS, (%rsp)
	jnz	.Lcall_flags
.Lcall_plain:
	save_call
	incq	PER_CPU_VAR(kml_calls)
	dispatch .Lcall_slow
	check_work call .Lcall_work
	leave	call

.Lcall_flags:
	UNWIND_HINT_REGS
	pushq	$CALL_FLAGS
	popfq
	jmp	.Lcall_plain

.Lcall_slow:
	UNWIND_HINT_REGS
	save_more_arguments			/* for tracers, of kml_call_3, too */
	movq	$CALL_FLAGS, R_FLAGS(%rsp)
	jmp	.Lslow

.Lcall_work:
	UNWIND_HINT_REGS
	movq	$CALL_FLAGS, R_FLAGS(%rsp)
	jmp	.Lwork
SYM_CODE_END(kml_call_3)

SYM_CODE_START(kml_syscall)
	UNWIND_HINT_ENTRY
	ENDBR
	swapgs
	movq	%rsp, PER_CPU_VAR(kml_program_sp)
	movq	PER_CPU_VAR(kml_regs), %rsp
	UNWIND_HINT_REGS
	save_call
	save_more_arguments
	movq	%r11, R_FLAGS(%rsp)
	movq	PER_CPU_VAR(kml_program_sp), %rcx
	movq	%rcx, R_SP(%rsp)
	incq	PER_CPU_VAR(kml_syscalls)
	testq	$~PLAIN_FLAGS, %r11
	jnz	.Lslow
	sti
	dispatch .Lslow
	check_work syscall .Lwork
	movq	R_10(%rsp), %r10
	movq	R_9(%rsp), %r9
	movq	R_8(%rsp), %r8
	movq	R_DX(%rsp), %rdx
	movq	R_SI(%rsp), %rsi
	movq	R_DI(%rsp), %rdi
	leave	syscall

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
SYM_CODE_END(kml_syscall)

/*
 * In kml_fast for calls that want all registers: as if it had not been called. By
 * whom it was says the address on the stack.
 */
SYM_CODE_START(kml_not_fast)
	UNWIND_HINT_REGS offset=8
	ENDBR
	popq	%rcx
	cmpq	$kml_syscall, %rcx
	jb	.Lcall_slow
	jmp	.Lslow
SYM_CODE_END(kml_not_fast)

/*
 * From struct pt_regs at %rsp to the program with all that regs say, at CPL 0,
 * interrupts off. What cannot be at CPL 0 goes the stock way: addresses that iret
 * would fault on, other code segments, a task that was demoted meanwhile. The frame
 * that says CPL 0 is one below regs, whose cs and ss direct calls rely on.
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
	pushq	$__KERNEL_DS
	pushq	R_SP + 8(%rsp)
	pushq	R_FLAGS + 16(%rsp)
	pushq	$__KERNEL_CS
	pushq	R_IP + 32(%rsp)
	movq	R_15 + 40(%rsp), %r15
	movq	R_14 + 40(%rsp), %r14
	movq	R_13 + 40(%rsp), %r13
	movq	R_12 + 40(%rsp), %r12
	movq	R_BP + 40(%rsp), %rbp
	movq	R_BX + 40(%rsp), %rbx
	movq	R_11 + 40(%rsp), %r11
	movq	R_10 + 40(%rsp), %r10
	movq	R_9 + 40(%rsp), %r9
	movq	R_8 + 40(%rsp), %r8
	movq	R_AX + 40(%rsp), %rax
	movq	R_CX + 40(%rsp), %rcx
	movq	R_DX + 40(%rsp), %rdx
	movq	R_SI + 40(%rsp), %rsi
	movq	R_DI + 40(%rsp), %rdi
	swapgs
	iretq
	int3
.Lstock:
	UNWIND_HINT_REGS
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*kml_stock_return(%rip)
	int3
SYM_CODE_END(kml_return)
