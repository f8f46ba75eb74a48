/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the assembly around VMRUN in the guard and in SPUMONE's layer: the general registers
 * that it does not switch.  It switches %rax, %rsp and the flags by itself.
 */

/*
 * Does @op with each of them and its place behind %\at, 8 bytes each: in the order of struct
 * guard_registers and struct x86_registers.  @op_at does it with %\at itself, last.
 */
.macro svm_each_register op, op_at, at
	svm_place = 0
	.irp	name, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	.ifc	\name, \at
	svm_place_at = svm_place
	.else
	\op	\name, svm_place, \at
	.endif
	svm_place = svm_place + 8
	.endr
	\op_at	\at, svm_place_at, \at
.endm

.macro svm_load_register name, place, at
	mov	\place(%\at), %\name
.endm

.macro svm_save_register name, place, at
	mov	%\name, \place(%\at)
.endm

.macro svm_pop_register name, place, at
	pop	\place(%\at)
.endm

/* All that a guest has, from where %\at points; %\at is the guest's then, too. */
.macro svm_load_registers at
	svm_each_register svm_load_register, svm_load_register, \at
.endm

/* All that a guest had, to where %\at points; what it had in %\at is on top of the stack. */
.macro svm_save_registers at
	svm_each_register svm_save_register, svm_pop_register, \at
.endm
