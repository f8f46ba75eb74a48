/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gates of the private IDT for NMI, #DB and #MC.
 *
 * These have stacks of their own and may come while a stub is on the gate stack.
 * Their handlers may fault or hit a breakpoint, whose frame the CPU puts on top
 * of the gate stack, so what the stub has there moves away.
 *
 * Each has a place of its own, and takes what is in another's, too: that one may
 * come back and need its place, as long as the stub has not gone on.
 *
 * One may hit another while that is at this: then it does all of it for the stub,
 * whose frame it finds by the other's. The other, whose copy may be spoiled, sees by
 * the stub's %rsp, which is changed last, that it has to begin anew. If the other is
 * done with the copy it does not look again, and the stub goes on much later: then it
 * stays where it is, for who has hit that other may come again and need its place.
 *
 * %rsp stays at the frame all the time, where the one that comes next looks for it.
 * Registers are saved far below, because the stock NMI handler looks at some words
 * there for what a nested NMI left.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/trapnr.h>
#include <shimos/compat_asm.h>
#include "layout.h"
#include "user_cs.S"

#define F_IP	0
#define F_SP	24
#define G_RAX	-512
#define G_RBX	-520
#define G_RCX	-528
#define G_RDX	-536
#define G_RSI	-544
#define G_RDI	-552

/* Where on the gate stack's page a place is. */
#define G_PLACE(move)	(KML_PAGE_SIZE - KML_FRAME - (move))

/*
 * To the frame of whom the frame at %rbx has interrupted, if that was in its guard;
 * %rdi: its place.
 */
.macro guard_outer other:req move:req
	cmpq	$kml_\other, F_IP(%rbx)
	jb	.Lno_guard_\@
	cmpq	$.Lguarded_\other, F_IP(%rbx)
	jae	.Lno_guard_\@
	movq	F_SP(%rbx), %rbx
	movl	$G_PLACE(\move), %edi
.Lno_guard_\@:
.endm

.macro guard own:req move:req other:req other_move:req another:req another_move:req
	movq	%rax, G_RAX(%rsp)
	movq	%rbx, G_RBX(%rsp)
	movq	%rcx, G_RCX(%rsp)
	movq	%rdx, G_RDX(%rsp)
	movq	%rsi, G_RSI(%rsp)
	movq	%rdi, G_RDI(%rsp)
	movq	%rsp, %rbx
	movl	$G_PLACE(\move), %edi
	guard_outer \other \other_move
	guard_outer \another \another_move
	guard_outer \other \other_move
	cmpq	$kml_stubs, F_IP(%rbx)
	jb	.Lmoved_\@
	cmpq	$kml_window_end, F_IP(%rbx)
	jae	.Lmoved_\@
.Lmove_\@:
	movq	F_SP(%rbx), %rax
	movq	%rax, %rdx
	andq	$-KML_PAGE_SIZE, %rdx
	movq	%rax, %rsi
	andq	$-KML_FRAME, %rsi
	leaq	(%rdx,%rdi), %rcx
	cmpq	%rcx, %rsi
	je	.Lmoved_\@
	addq	$G_PLACE(\move), %rdx
	cmpq	%rdx, %rsi
	je	.Lmoved_\@
	offset = 0
	.rept KML_FRAME / 8
	movq	offset(%rsi), %rcx
	movq	%rcx, offset(%rdx)
	offset = offset + 8
	.endr
	movq	%rax, %rcx
	subq	%rsi, %rcx
	addq	%rdx, %rcx
	cmpxchgq %rcx, F_SP(%rbx)
	jne	.Lmove_\@
.Lmoved_\@:
	movq	G_RAX(%rsp), %rax
	movq	G_RBX(%rsp), %rbx
	movq	G_RCX(%rsp), %rcx
	movq	G_RDX(%rsp), %rdx
	movq	G_RSI(%rsp), %rsi
	movq	G_RDI(%rsp), %rdi
.Lguarded_\own:
	ANNOTATE_NOENDBR
.endm

/* The program's own single step, watchpoint or memory error. */
.macro as_user
	testb	$3, 8(%rsp)
	jnz	.Lstock_\@
	cmpq	$0, (%rsp)
	jl	.Lstock_\@
	user_cs	8(%rsp)
	orq	$X86_EFLAGS_IF, 16(%rsp)
	movq	$__USER_DS, 32(%rsp)
.Lstock_\@:
.endm

/* No kprobes or breakpoints in here, as in gates.S. */
	.section .noinstr.text, "ax"

SYM_CODE_START(kml_nmi)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	/*
	 * One inside of another, which may have moved something: it only tells the
	 * other to start again, by this variable of the stock handler, and no fault
	 * comes in between. So what a stub has may stay.
	 */
	cmpl	$1, -16(%rsp)
	je	.Lnmi_stock
	guard	nmi KML_MOVE_NMI debug KML_MOVE_DB machine_check KML_MOVE_MC
.Lnmi_stock:
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*(kml_stock + X86_TRAP_NMI * 8)(%rip)
	int3
SYM_CODE_END(kml_nmi)

SYM_CODE_START(kml_debug)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	guard	debug KML_MOVE_DB nmi KML_MOVE_NMI machine_check KML_MOVE_MC
	cmpq	$kml_call, (%rsp)
	je	.Lstepped_into_call
	cmpq	$kml_call_3, (%rsp)
	je	.Lstepped_into_call
	as_user
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*(kml_stock + X86_TRAP_DB * 8)(%rip)
	int3

	/*
	 * A debugger stepped into a direct call. As if it had been SYSCALL: that
	 * puts the flags into r11, and they come into force after the call.
	 */
.Lstepped_into_call:
	pushq	%rax
	movl	$0xffff0ff0, %eax		/* nothing happened */
	movq	%rax, %dr6
	popq	%rax
	movq	16(%rsp), %r11
	movq	$X86_EFLAGS_FIXED, 16(%rsp)
	movq	$kml_syscall, (%rsp)
	iretq
SYM_CODE_END(kml_debug)

SYM_CODE_START(kml_machine_check)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	guard	machine_check KML_MOVE_MC nmi KML_MOVE_NMI debug KML_MOVE_DB
	as_user
	ANNOTATE_RETPOLINE_SAFE
	jmpq	*(kml_stock + X86_TRAP_MC * 8)(%rip)
	int3
SYM_CODE_END(kml_machine_check)
