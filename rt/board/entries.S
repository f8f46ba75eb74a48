/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One entry for each vector.  All registers become a struct board_frame; a handler in C
 * says with which frame to go on.
 */
#include "layout.h"

	.text
	.balign	BOARD_STUB
	.globl	board_stubs
board_stubs:
	vector = 0
	.rept	BOARD_VECTORS
	.balign	BOARD_STUB
	/* where the CPU pushes no error code there is a 0 for it */
	.if	!(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30)
	push	$0
	.endif
	push	$vector
	jmp	.Lvector
	vector = vector + 1
	.endr

.Lvector:
	push	%rax
	push	%rbx
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%rbp
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	cld
	mov	15*8(%rsp), %eax
	mov	%rsp, %rdi
	call	*board_handlers(,%rax,8)
	mov	%rax, %rdi

	.globl	board_resume
	.type	board_resume, @function
board_resume:
	mov	%rdi, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rbp
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rbx
	pop	%rax
	add	$16, %rsp
	iretq
	.size	board_resume, . - board_resume

	.section .note.GNU-stack, "", @progbits
