/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gates of the private IDT, in use only while a trusted task is current.
 *
 * A trusted program runs at CPL 0, so the CPU does not switch stacks by itself:
 * all gates use IST6, and whatever the program's %rsp is, even inside of its red
 * zone, does not matter. IST6 is not for staying: as fast as possible a stub is
 * on the stack which the stock handler expects, with the frame it expects. For
 * a frame of the kernel that is the interrupted stack, for a frame of the
 * program the entry stack, with a frame that says CPL 3. GS is the program's
 * while it runs, at CPL 0 as at CPL 3, so the stock handler finds all as usual.
 *
 * NMI, #DB and #MC are in guards.S.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/trapnr.h>
#include <shimos/compat_asm.h>
#include "layout.h"
#include "regs.h"
#include "user_cs.S"

/* the gate stack once a stub saved its registers */
#define S_RDX	0
#define S_RCX	8
#define S_RAX	16
#define S_VEC	24
#define S_ERR	32
#define S_IP	40
#define S_CS	48
#define S_FLAGS	56
#define S_SP	64
#define S_SS	72

/* The CPU's frame, from the gate stack to below %rax; %rcx is lost. */
.macro push_frame
	movq	S_SS(%rsp), %rcx
	movq	%rcx, -8(%rax)
	movq	S_SP(%rsp), %rcx
	movq	%rcx, -16(%rax)
	movq	S_FLAGS(%rsp), %rcx
	movq	%rcx, -24(%rax)
	movq	S_CS(%rsp), %rcx
	movq	%rcx, -32(%rax)
	movq	S_IP(%rsp), %rcx
	movq	%rcx, -40(%rax)
.endm

/* No kprobes or breakpoints in here: neither the stack nor GS are what they need. */
	.section .noinstr.text, "ax"

/* From here to kml_window_end the gate stack holds something. */
	.balign KML_STUB_SIZE
SYM_CODE_START(kml_stubs)
	vector = 0
	.rept 256
	COMPAT_UNWIND_HINT_UNKNOWN
	.balign KML_STUB_SIZE
	ENDBR
	.if vector > 31 || !((KML_ERROR_VECTORS >> (vector & 31)) & 1)
	pushq	$0
	.endif
	pushq	$vector
	jmp	.Lgate
	vector = vector + 1
	.endr

	.balign 64
.Lgate:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	testb	$3, S_CS(%rsp)
	jnz	.Lfrom_cpl3
	cmpq	$kml_call, S_IP(%rsp)
	jb	.Lnot_in_call
	cmpq	$kml_syscall_return, S_IP(%rsp)
	jbe	.Lin_call
.Lnot_in_call:
	/*
	 * The kernel has its code and its stack in the upper half. Code of the
	 * kernel on a stack of the program is a program that went astray.
	 */
	movq	S_IP(%rsp), %rax
	andq	S_SP(%rsp), %rax
	js	.Lfrom_kernel

.Lfrom_program:
	cmpl	$X86_TRAP_PF, S_VEC(%rsp)
	je	.Lpage_fault
.Lforward:
	user_cs	S_CS(%rsp)
	movq	$__USER_DS, S_SS(%rsp)
	/* a program that did cli gets no further with it than to here */
	orq	$X86_EFLAGS_IF, S_FLAGS(%rsp)
	movl	S_VEC(%rsp), %ecx
	leaq	kml_direct(%rip), %rdx
	movq	(%rdx,%rcx,8), %rdx
	testq	%rdx, %rdx
	jnz	.Ldirect
.Lforward_cpl3:
	movq	%rsp, %rax
	andq	$-KML_PAGE_SIZE, %rax
	movq	KML_PAGE_SP0(%rax), %rax
	jmp	.Lmove

	/*
	 * The handler's C function in %rdx is called without the stock stub, whose
	 * way back leads to CPL 3: to the task's stack, and on in kml_handle.
	 */
.Ldirect:
	movq	%rsp, %rax
	andq	$-KML_PAGE_SIZE, %rax
	movq	KML_PAGE_STACK_TOP(%rax), %rax
	movq	%rdx, -56(%rax)			/* in regs->di */
	movq	S_ERR(%rsp), %rdx
	cmpl	$31, %ecx
	cmova	%rcx, %rdx			/* interrupts: the vector */
	movq	%rdx, -48(%rax)			/* in regs->orig_ax */
	push_frame
	leaq	kml_handle(%rip), %rdx
	leaq	-56(%rax), %rax
	jmp	.Lswitch

	/*
	 * In a direct call, or on the short way back. Where GS or the stack are not
	 * the kernel's it is the program's event: before the call or after it.
	 * After the last look at the thread's flags the look has to be repeated.
	 */
.Lin_call:
	movq	S_IP(%rsp), %rax
	.irp entry, kml_call, kml_call_3
	movq	$\entry, %rdx
	cmpq	%rdx, %rax
	jb	.Lnot_in_call
	cmpq	$\entry\()_swapped, %rax
	jb	.Lat_call
	je	.Lat_call_swapped
	.endr
	.irp way, kml_call, kml_syscall
	movq	$\way\()_check, %rdx
	cmpq	%rdx, %rax
	jb	.Lnot_in_call
	cmpq	$\way\()_swap_back, %rax
	jb	.Lat_check
	je	.Lat_swap_back
	cmpq	$\way\()_return, %rax
	je	.Lat_return
	.endr
	jmp	.Lnot_in_call
.Lat_check:
	movq	%rdx, S_IP(%rsp)
	jmp	.Lfrom_kernel
.Lat_call_swapped:
	swapgs
.Lat_call:
	movq	%rdx, S_IP(%rsp)
	jmp	.Lfrom_program
.Lat_swap_back:
	swapgs
.Lat_return:
	movq	S_RCX(%rsp), %rax
	movq	%rax, S_IP(%rsp)
	jmp	.Lfrom_program

.Lfrom_kernel:
	movq	S_SP(%rsp), %rax
	andq	$-16, %rax			/* as the CPU does */
	jmp	.Lmove

	/*
	 * The stock kernel always returns to CPL 3, where no page of a trusted
	 * program is accessible: the first access brings it here. Privileged
	 * instructions do as well. If it was a fault in earnest, it happens
	 * again at CPL 0.
	 */
.Lfrom_cpl3:
	cmpl	$X86_TRAP_PF, S_VEC(%rsp)
	je	.Lpromote
	cmpl	$X86_TRAP_GP, S_VEC(%rsp)
	jne	.Lforward_cpl3
.Lpromote:
	cmpq	$__USER_CS, S_CS(%rsp)
	jne	.Lother_code
	movq	%rsp, %rdx
	andq	$-KML_PAGE_SIZE, %rdx
	incq	KML_PAGE_PROMOTIONS(%rdx)
	movq	$__KERNEL_CS, S_CS(%rsp)
	movq	$__KERNEL_DS, S_SS(%rsp)
.Lagain:
	popq	%rdx
	popq	%rcx
	popq	%rax
	addq	$16, %rsp
	iretq

	/*
	 * Code of another segment, as 32-bit code, means something else at CPL 0. It
	 * cannot run at CPL 3 either, where nothing of the program is accessible: a
	 * protection fault, by which the kernel ends the program.
	 */
.Lother_code:
	movl	$X86_TRAP_GP, S_VEC(%rsp)
	movq	$0, S_ERR(%rsp)
	jmp	.Lforward_cpl3

	/*
	 * The program faulted at CPL 0. New top-level entries are the mm code's,
	 * with the user bit, which SMAP and SMEP do not like: clear it.
	 */
.Lpage_fault:
	testb	$1, S_ERR(%rsp)
	jz	.Lforward_fault
	movq	%cr2, %rax
	testq	%rax, %rax
	js	.Lforward_fault
	movq	%rsp, %rdx
	andq	$-KML_PAGE_SIZE, %rdx
	movl	KML_PAGE_PGD_SHIFT(%rdx), %ecx
	shrq	%cl, %rax
	movq	%cr3, %rcx
	andq	KML_PAGE_CR3_MASK(%rdx), %rcx
	addq	KML_PAGE_DIRECT_MAP(%rdx), %rcx
	lock btrq $2, (%rcx,%rax,8)
	jnc	.Lno_user_bit
	movq	%cr3, %rax
	movq	%rax, %cr3
	incq	KML_PAGE_FIXES(%rdx)
	jmp	.Lagain

	/*
	 * Another CPU may have cleared it, and this one's TLB not know: the fault
	 * made it forget. The kernel itself copes with such a fault if it was a
	 * write, everything else is tried again, once.
	 */
.Lno_user_bit:
	testb	$2, S_ERR(%rsp)
	jnz	.Lforward_fault
	movq	%cr2, %rax
	cmpq	%rax, KML_PAGE_LAST_CR2(%rdx)
	jne	.Lretry
	movq	S_IP(%rsp), %rax
	cmpq	%rax, KML_PAGE_LAST_IP(%rdx)
	jne	.Lretry
	movq	%cr3, %rax
	cmpq	%rax, KML_PAGE_LAST_CR3(%rdx)
	jne	.Lretry
	movq	$0, KML_PAGE_LAST_IP(%rdx)
.Lforward_fault:
	orq	$4, S_ERR(%rsp)
	jmp	.Lforward
.Lretry:
	movq	%cr2, %rax
	movq	%rax, KML_PAGE_LAST_CR2(%rdx)
	movq	S_IP(%rsp), %rax
	movq	%rax, KML_PAGE_LAST_IP(%rdx)
	movq	%cr3, %rax
	movq	%rax, KML_PAGE_LAST_CR3(%rdx)
	incq	KML_PAGE_RETRIES(%rdx)
	jmp	.Lagain

	/* %rax: the stack to go on with */
.Lmove:
	push_frame
	leaq	-40(%rax), %rax
	movl	S_VEC(%rsp), %ecx
	cmpl	$31, %ecx
	ja	1f
	movl	$KML_ERROR_VECTORS, %edx
	btl	%ecx, %edx
	jnc	1f
	movq	S_ERR(%rsp), %rdx
	leaq	-8(%rax), %rax
	movq	%rdx, (%rax)
1:	leaq	kml_stock(%rip), %rdx
	movq	(%rdx,%rcx,8), %rdx
	/* %rax: the new %rsp, %rdx: where to go on */
.Lswitch:
	movq	%rdx, -8(%rax)
	movq	S_RAX(%rsp), %rdx
	movq	%rdx, -16(%rax)
	popq	%rdx
	popq	%rcx
	leaq	-16(%rax), %rsp
SYM_INNER_LABEL(kml_window_end, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	popq	%rax
	ANNOTATE_UNRET_SAFE
	ret
	int3
SYM_CODE_END(kml_stubs)

/*
 * On the task's stack, where the stock stub would have moved to: a frame that says
 * CPL 3, the error code or vector, the function. Registers are the program's, GS too.
 */
SYM_CODE_START(kml_handle)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	swapgs
	/* the program's flags are in the frame; a gate leaves it AC and DF */
	ASM_CLAC
	cld
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	R_DI(%rsp), %rcx
	movq	%rdi, R_DI(%rsp)
	movq	R_ORIG_AX(%rsp), %rsi
	movq	$-1, R_ORIG_AX(%rsp)		/* no system call to restart */
	UNWIND_HINT_REGS
	movq	%rsp, %rdi
	CALL_NOSPEC rcx
	jmp	kml_return
SYM_CODE_END(kml_handle)
