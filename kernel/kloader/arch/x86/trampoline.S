/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a partition's CPU executes first after INIT and SIPI: from real mode
 * straight to 64-bit mode and into the kernel image, or, to park, into a halt
 * from which it answers nothing but machine checks and NMIs.  One page below
 * 1 MiB; cpu.c copies and fills it.
 *
 * It is data for the host's kernel, so it lies in .rodata.
 */
#include <linux/linkage.h>
#include <asm/msr-index.h>
#include <asm/processor-flags.h>

#define AT(label) (label - kloader_trampoline)
#define TRAMPOLINE_VECTORS 19		/* as in x86.h */

#define CPUID_EDX_MCA	(1 << 14)
#define CPUID_EDX_DS	(1 << 21)
#define CPUID_7_EBX_PT	(1 << 25)
#define MCG_CMCI	(1 << 10)	/* in MCG_CAP */
#define CTL2_CMCI_EN	(1 << 30)	/* in each bank's MCi_CTL2 */
#define MISC_PEBS_UNAVAILABLE	(1 << 12)	/* in IA32_MISC_ENABLE */
#define APIC_BASE_X2APIC	(1 << 10)	/* in IA32_APIC_BASE: both for x2APIC mode */
#define APIC_BASE_ENABLED	(1 << 11)

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

	.code64
long_mode:
	movl	$0x18, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	xorl	%eax, %eax
	movl	%eax, %fs
	movl	%eax, %gs

	/* its share of caches and memory bandwidth, which INIT keeps (resctrl.c) */
	movl	share_register(%rip), %ecx
	jecxz	1f
	movl	share(%rip), %eax
	movl	share + 4(%rip), %edx
	wrmsr
1:
	cmpl	$0, mode(%rip)
	je	park

	/*
	 * INIT keeps the mode of the host's APICs.  What is entered finds them as after a reset,
	 * in xAPIC mode, to which the only way from x2APIC mode is to disable it (Intel SDM 3A,
	 * 11.12.5).
	 */
	movl	$MSR_IA32_APICBASE, %ecx
	rdmsr
	testl	$APIC_BASE_X2APIC, %eax
	jz	1f
	andl	$~(APIC_BASE_X2APIC | APIC_BASE_ENABLED), %eax
	wrmsr
	orl	$APIC_BASE_ENABLED, %eax
	wrmsr
1:
	/* the page tables below 4 GiB reach just here; now those of what is entered */
	movq	cr3(%rip), %rax
	movq	%rax, %cr3
	movq	argument(%rip), %rsi
	movq	entry(%rip), %rax
	movl	$1, ack(%rip)
	xorl	%ebx, %ebx
	xorl	%ebp, %ebp
	xorl	%edi, %edi
	jmp	*%rax

	/*
	 * Without CR4.MCE a machine check that all CPUs get would be a shutdown.
	 * All parked CPUs share a stack, so nothing may ever be read from it: no
	 * handler returns.
	 */
park:
	leaq	stack_end(%rip), %rsp
	lidt	idt_pointer(%rip)
	movq	%cr4, %rax
	orq	$X86_CR4_MCE, %rax
	movq	%rax, %cr4
	/* banks whose interrupt is on are not polled by the host; INIT leaves it on */
	movl	$1, %eax
	cpuid
	testl	$CPUID_EDX_MCA, %edx
	jz	trace
	movl	$MSR_IA32_MCG_CAP, %ecx
	rdmsr
	testl	$MCG_CMCI, %eax
	jz	trace
	movzbl	%al, %esi
	movl	$MSR_IA32_MC0_CTL2, %ecx
1:	testl	%esi, %esi
	jz	trace
	rdmsr
	andl	$~CTL2_CMCI_EN, %eax
	wrmsr
	incl	%ecx
	decl	%esi
	jmp	1b

	/*
	 * What writes to memory that its kernel chose, whatever runs, and INIT does not end:
	 * processor trace, branch trace (in DEBUGCTL) and PEBS (Intel SDM 3B and 3C).  The
	 * counters, whose overflows PEBS records, last.
	 */
trace:
	xorl	%eax, %eax
	cpuid
	movl	%eax, %edi			/* the highest leaf */
	cmpl	$7, %edi
	jb	2f
	movl	$7, %eax
	xorl	%ecx, %ecx
	cpuid
	testl	$CPUID_7_EBX_PT, %ebx
	jz	2f
	xorl	%eax, %eax
	xorl	%edx, %edx
	movl	$MSR_IA32_RTIT_CTL, %ecx
	wrmsr
2:	movl	$1, %eax
	cpuid
	testl	$CPUID_EDX_DS, %edx
	jz	3f				/* AMD's have none of these */
	xorl	%eax, %eax
	xorl	%edx, %edx
	movl	$MSR_IA32_DEBUGCTLMSR, %ecx
	wrmsr
	movl	$MSR_IA32_MISC_ENABLE, %ecx
	rdmsr
	testl	$MISC_PEBS_UNAVAILABLE, %eax
	jnz	3f
	xorl	%eax, %eax
	xorl	%edx, %edx
	movl	$MSR_IA32_PEBS_ENABLE, %ecx
	wrmsr
3:	cmpl	$0xa, %edi
	jb	parked
	movl	$0xa, %eax
	cpuid
	cmpb	$2, %al				/* the version that has a switch for all counters */
	jb	parked
	xorl	%eax, %eax
	xorl	%edx, %edx
	movl	$MSR_CORE_PERF_GLOBAL_CTRL, %ecx
	wrmsr

	/* an exception in the above comes here, too: it is parked all the same */
SYM_INNER_LABEL(kloader_trampoline_fault, SYM_L_GLOBAL)
parked:
	leaq	stack_end(%rip), %rsp
	movl	$1, ack(%rip)
	wbinvd
2:	hlt
	jmp	2b

	/* what is still set when the next one comes makes that a shutdown */
SYM_INNER_LABEL(kloader_trampoline_mce, SYM_L_GLOBAL)
	xorl	%eax, %eax
	xorl	%edx, %edx
	movl	$MSR_IA32_MCG_STATUS, %ecx
	wrmsr
	/* no IRET: further NMIs wait for the next INIT */
SYM_INNER_LABEL(kloader_trampoline_nmi, SYM_L_GLOBAL)
	leaq	stack_end(%rip), %rsp
	jmp	2b

	/* struct trampoline_data in cpu.c */
	.balign 16
SYM_INNER_LABEL(kloader_trampoline_data, SYM_L_GLOBAL)
mode:		.long 0
ack:		.long 0
cr3:		.quad 0
entry:		.quad 0
argument:	.quad 0
share:		.quad 0
share_register:	.long 0
cr3_low:	.long 0
far_pointer:	.long AT(long_mode)	/* cpu.c adds the page's address */
		.word 0x10
gdt_pointer:	.word gdt_end - gdt - 1
		.long AT(gdt)		/* likewise */
idt_pointer:	.word TRAMPOLINE_VECTORS * 16 - 1
		.quad 0			/* cpu.c fills it in */
	.balign 16
gdt:		.quad 0
		.quad 0
		.quad 0x00af9b000000ffff	/* 0x10: 64-bit code */
		.quad 0x00cf93000000ffff	/* 0x18: data */
gdt_end:
	.balign 16
SYM_INNER_LABEL(kloader_trampoline_idt, SYM_L_GLOBAL)
		.fill TRAMPOLINE_VECTORS * 2, 8, 0	/* cpu.c fills it in */
		.fill 16, 8, 0
stack_end:
SYM_INNER_LABEL(kloader_trampoline_end, SYM_L_GLOBAL)
SYM_DATA_END(kloader_trampoline)
