/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Into the layer, around Linux, and out again (AMD64 APM volume 2, chapter 15).  The
 * switch of page tables is the module's, in arch/x86/call.S.
 */
#include <shimos/svm_registers.S>
#include "svm.h"

#define LAYER_PARAMS_LEAVE	24	/* in struct layer_params */
#define LAYER_VCPU_VMCB		0x70	/* in struct x86_vcpu */
#define LAYER_CS	8
#define LAYER_DS	16
#define FLAGS_IF	0x200
#define VECTOR_NMI	2
#define LAYER_NMI_RIP	((9 + 2) * 8)	/* above the registers, the vector and its error code */
#define LAYER_STACK	16384

	.text
/*
 * The module comes here with the instance's page tables and with GIF clear.  %rdx is
 * Linux's stack, with its flags on top, and %rcx where it goes on.
 */
	.globl	layer_enter
layer_enter:
	endbr64
	lea	layer_stack_top(%rip), %rsp
	mov	%rdx, layer_vmcb+SVM_RSP(%rip)
	mov	%rcx, layer_vmcb+SVM_RIP(%rip)
	lea	layer_gdt(%rip), %rcx
	mov	%rcx, layer_gdtr+2(%rip)
	lgdt	layer_gdtr(%rip)
	lea	layer_idt(%rip), %rcx
	mov	%rcx, layer_idtr+2(%rip)
	lidt	layer_idtr(%rip)
	mov	$LAYER_DS, %ecx
	mov	%ecx, %ss
	mov	%ecx, %ds
	mov	%ecx, %es
	lea	.Lown_code(%rip), %rcx
	pushq	$LAYER_CS
	push	%rcx
	lretq
.Lown_code:
	call	layer_start

.Lrun:
	mov	layer_current(%rip), %rdi
	mov	LAYER_VCPU_VMCB(%rdi), %rax
	svm_load_registers rdi
	/* GIF is clear: this lets none in, but says that physical interrupts end the run */
	sti
	nop
	vmrun
	push	%rdi
	mov	layer_current(%rip), %rdi
	svm_save_registers rdi
	cld
	call	layer_exit
	test	%eax, %eax
	jz	.Lrun

	/*
	 * Out: Linux goes on at its own address, as itself, with GIF clear.  It called, so it
	 * expects nothing of its general registers.
	 */
	cli
	lea	layer_vmcb(%rip), %rbx
	mov	SVM_CR2(%rbx), %rax
	mov	%rax, %cr2
	mov	SVM_DR7(%rbx), %rax
	mov	%rax, %dr7
	mov	SVM_GDTR+SVM_LIMIT(%rbx), %eax
	mov	%ax, layer_gdtr(%rip)
	mov	SVM_GDTR+SVM_BASE(%rbx), %rax
	mov	%rax, layer_gdtr+2(%rip)
	lgdt	layer_gdtr(%rip)
	mov	SVM_IDTR+SVM_LIMIT(%rbx), %eax
	mov	%ax, layer_idtr(%rip)
	mov	SVM_IDTR+SVM_BASE(%rbx), %rax
	mov	%rax, layer_idtr+2(%rip)
	lidt	layer_idtr(%rip)
	movzwl	SVM_CS(%rbx), %ecx
	movzwl	SVM_SS(%rbx), %edx
	mov	SVM_RIP(%rbx), %rsi
	mov	SVM_RSP(%rbx), %rdi
	mov	SVM_CR3(%rbx), %r8
	mov	SVM_CR4(%rbx), %r9
	jmp	*layer_params+LAYER_PARAMS_LEAVE(%rip)

	.globl	layer_window
layer_window:
	sti
	stgi
	nop
	jmp	1f
1:	nop
	clgi
	ret

/*
 * One that is pending already ends it at once: none is let in before the HLT.  But an NMI may be,
 * and its IRETQ would let in others then, so it goes on behind the HLT.
 */
	.globl	layer_idle
layer_idle:
	cli
	stgi
	sti
.Lhalt:
	hlt
.Lawake:
	clgi
	ret

/* A stub for each vector, all of one size. */
	.balign	16
	.globl	layer_stubs
layer_stubs:
	vector = 0
	.rept	256
	.balign	16
	.if	(vector == 8) || (vector >= 10 && vector <= 14) || (vector == 17) || (vector == 21) || (vector == 29) || (vector == 30)
	.else
	pushq	$0
	.endif
	pushq	$vector
	.if	vector == VECTOR_NMI
	jmp	.Lnmi
	.else
	jmp	.Linterrupt
	.endif
	vector = vector + 1
	.endr

/*
 * One comes only into layer_window() or layer_idle(), which are called, so nobody expects anything
 * of the registers that a call may change.  A fault of the layer's does not return.
 *
 * But an NMI also comes while another one is being handled, into C that expects to keep them.
 */
.Linterrupt:
	pop	%rdi				/* the vector */
	mov	(%rsp), %rsi			/* its error code */
	mov	8(%rsp), %rdx			/* the address */
	call	layer_interrupt
	test	%eax, %eax
	jz	1f
	andl	$~FLAGS_IF, 24(%rsp)		/* no other one comes into this window */
1:	add	$8, %rsp
	iretq

.Lnmi:
	.irp	register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	push	%\register
	.endr
	mov	$VECTOR_NMI, %edi
	xor	%esi, %esi
	mov	LAYER_NMI_RIP(%rsp), %rdx
	call	layer_interrupt
	lea	layer_idle(%rip), %rax
	cmp	%rax, LAYER_NMI_RIP(%rsp)
	jb	1f
	lea	.Lhalt(%rip), %rax
	cmp	%rax, LAYER_NMI_RIP(%rsp)
	ja	1f
	lea	.Lawake(%rip), %rax
	mov	%rax, LAYER_NMI_RIP(%rsp)
1:	.irp	register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
	pop	%\register
	.endr
	add	$16, %rsp			/* the vector and its error code */
	iretq

	.data
	.balign	16
layer_gdt:
	.quad	0
	.quad	0x00af9b000000ffff		/* code, 64 bits */
	.quad	0x00cf93000000ffff		/* data */
layer_gdtr:
	.word	3 * 8 - 1
	.quad	0
	.balign	16
layer_idtr:
	.word	256 * 16 - 1
	.quad	0

	.bss
	.balign	16
	.skip	LAYER_STACK
layer_stack_top:
	.section .note.GNU-stack, "", @progbits
