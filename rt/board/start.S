/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the layer enters the image: segments and stacks of our own, then C.
 */
#include "layout.h"

	.section .text.start, "ax"
	.globl	board_entry
	.type	board_entry, @function
board_entry:
	cld
	mov	$board_stack_top, %esp
	/* a task state segment's descriptor has the address in pieces, which no linker does */
	mov	$board_tss, %eax
	mov	%ax, board_gdt+BOARD_TSS+2
	shr	$16, %eax
	mov	%al, board_gdt+BOARD_TSS+4
	mov	%ah, board_gdt+BOARD_TSS+7
	movq	$board_fault_stack_top, board_tss+BOARD_TSS_IST1
	lgdt	board_gdtr
	mov	$BOARD_DATA, %eax
	mov	%eax, %ss
	mov	%eax, %ds
	mov	%eax, %es
	xor	%eax, %eax
	mov	%eax, %fs
	mov	%eax, %gs
	mov	$BOARD_TSS, %eax
	ltr	%ax
	pushq	$BOARD_CODE
	pushq	$.Lown_code
	lretq
.Lown_code:
	xor	%ebp, %ebp
	call	board_start
	ud2
	.size	board_entry, . - board_entry

	.data
	.balign	16
board_gdt:
	.quad	0
	.quad	0x00af9b000000ffff	/* code: 64 bits, ring 0, accessed */
	.quad	0x00cf93000000ffff	/* data: flat, writable, accessed */
	.quad	0x0000890000000000 + BOARD_TSS_SIZE - 1, 0
board_gdt_end:

board_gdtr:
	.word	board_gdt_end - board_gdt - 1
	.quad	board_gdt

	.bss
	.balign	16
board_tss:
	.skip	BOARD_TSS_SIZE
	.balign	16
	/* of all exceptions: they end the program, also when its stack is what broke */
	.skip	BOARD_STACK
board_fault_stack_top:

	/* right above what cannot be written, so that one that is too small is noticed */
	.section .stack, "aw", @nobits
	.balign	4096
	.skip	BOARD_STACK
board_stack_top:

	.section .note.GNU-stack, "", @progbits
