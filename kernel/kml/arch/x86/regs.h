/* SPDX-License-Identifier: GPL-2.0 */
/* struct pt_regs for assembly: offsets, which idt.c checks, and how to make one. */
#ifndef _KML_REGS_H
#define _KML_REGS_H

#define R_15		0
#define R_11		48
#define R_CX		88
#define R_ORIG_AX	120
#define R_IP		128
#define R_CS		136
#define R_FLAGS		144
#define R_SP		152
#define R_SS		160

#ifdef __ASSEMBLY__

/* all below orig_ax; the registers keep their values */
.macro push_regs ax=%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	\ax
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
.endm

.macro pop_regs
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
.endm

#endif
#endif
