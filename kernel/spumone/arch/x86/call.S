/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From Linux into the layer and out of it; and the layer's image.
 *
 * Linux's memory and the layer's are different, but this code is at the same address
 * in both: the layer has a copy of its page.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <shimos/compat_asm.h>

#define CALL_LEAVE	1	/* LAYER_CALL_LEAVE */

.macro call_push
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq
.endm

.macro call_pop
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
.endm

	.text
	/* all up to the end of spumone_arch_switch_out in one page */
	.balign	256
/*
 * void spumone_arch_switch_in(u64 root, u64 enter): on the CPU, interrupts off.  Returns
 * under the layer.
 */
SYM_CODE_START(spumone_arch_switch_in)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	call_push
	mov	%rsp, %rdx
	lea	.Lcall_entered(%rip), %rcx
	clgi
	/* no translation of Linux's may stay, global ones included */
	mov	%cr4, %rax
	and	$~X86_CR4_PGE, %rax
	mov	%rax, %cr4
	mov	%rdi, %cr3
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rsi
.Lcall_entered:
	COMPAT_UNWIND_HINT_UNKNOWN
	/* nobody jumps here: it is where the guest begins */
	ANNOTATE_NOENDBR
	call_pop
	RET
SYM_CODE_END(spumone_arch_switch_in)

/*
 * The layer comes here to be gone: %r8 CR3, %r9 CR4, %rdi stack, %rsi address, %ecx code
 * segment, %edx stack segment, all Linux's.
 */
SYM_CODE_START(spumone_arch_switch_out)
	COMPAT_UNWIND_HINT_UNKNOWN
	ENDBR
	mov	%r8, %cr3
	mov	%r9, %cr4		/* PGE comes on, and flushes what is left of the layer's */
	mov	%rdi, %rsp
	xor	%eax, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%edx, %ss
	push	%rcx
	push	%rsi
	lretq
SYM_CODE_END(spumone_arch_switch_out)

/* Linux's last call to the layer, from which it returns as itself. */
SYM_CODE_START(spumone_arch_call_leave)
	COMPAT_UNWIND_HINT_UNKNOWN
	call_push
	mov	$CALL_LEAVE, %eax
	vmmcall
	stgi				/* the layer has left it clear */
	call_pop
	RET
SYM_CODE_END(spumone_arch_call_leave)

	.section .rodata
	.balign	16
	.globl	spumone_layer_image
spumone_layer_image:
	.incbin	IMAGE
	.globl	spumone_layer_image_end
spumone_layer_image_end:
