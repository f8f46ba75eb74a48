/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a partition's CPU executes first after INIT and SIPI: from real mode
 * straight to 64-bit mode and into the kernel image, or, to park, nothing but
 * an acknowledgement.  One page below 1 MiB; cpu.c copies and fills it.
 *
 * It is data for the host's kernel, so it lies in .rodata.
 */
#include <linux/linkage.h>
#include <asm/msr-index.h>
#include <asm/processor-flags.h>

#define AT(label) (label - kloader_trampoline)

	.section .rodata, "a"
	.balign 16
SYM_DATA_START(kloader_trampoline)
	.code16
	cli
	cld
	movw	%cs, %ax
	movw	%ax, %ds
	/* INIT leaves the caches off */
	movl	%cr0, %eax
	andl	$~(X86_CR0_CD | X86_CR0_NW), %eax
	movl	%eax, %cr0
	cmpl	$0, AT(mode)
	je	park

	lgdtl	AT(gdt_pointer)
	movl	$X86_CR4_PAE, %eax
	movl	%eax, %cr4
	movl	AT(cr3_low), %eax
	movl	%eax, %cr3
	movl	$MSR_EFER, %ecx
	xorl	%edx, %edx
	movl	$EFER_LME, %eax
	wrmsr
	movl	$(X86_CR0_PE | X86_CR0_ET | X86_CR0_NE | X86_CR0_PG), %eax
	movl	%eax, %cr0
	ljmpl	*AT(far_pointer)

park:
	movl	$1, AT(ack)
	wbinvd
1:	hlt
	jmp	1b

	.code64
long_mode:
	/* the page tables below 4 GiB reach just here; now the partition's */
	movq	cr3(%rip), %rax
	movq	%rax, %cr3
	movl	$0x18, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	xorl	%eax, %eax
	movl	%eax, %fs
	movl	%eax, %gs
	movq	boot_params(%rip), %rsi
	movq	entry(%rip), %rax
	movl	$1, ack(%rip)
	xorl	%ebx, %ebx
	xorl	%ebp, %ebp
	xorl	%edi, %edi
	jmp	*%rax

	/* struct trampoline_data in cpu.c */
	.balign 16
SYM_INNER_LABEL(kloader_trampoline_data, SYM_L_GLOBAL)
mode:		.long 0
ack:		.long 0
cr3:		.quad 0
entry:		.quad 0
boot_params:	.quad 0
cr3_low:	.long 0
far_pointer:	.long AT(long_mode)	/* cpu.c adds the page's address */
		.word 0x10
gdt_pointer:	.word gdt_end - gdt - 1
		.long AT(gdt)		/* likewise */
	.balign 16
gdt:		.quad 0
		.quad 0
		.quad 0x00af9b000000ffff	/* 0x10: 64-bit code */
		.quad 0x00cf93000000ffff	/* 0x18: data */
gdt_end:
SYM_INNER_LABEL(kloader_trampoline_end, SYM_L_GLOBAL)
SYM_DATA_END(kloader_trampoline)
