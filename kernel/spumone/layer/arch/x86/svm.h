/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual machine control block, as far as it is used here (AMD64 Architecture
 * Programmer's Manual, volume 2, appendices B and C).
 */
#ifndef _LAYER_SVM_H
#define _LAYER_SVM_H

/* Offsets that assembly needs. */
#define SVM_GDTR	0x460
#define SVM_IDTR	0x480
#define SVM_CS		0x410
#define SVM_SS		0x420
#define SVM_LIMIT	4	/* within a segment */
#define SVM_BASE	8
#define SVM_CR4		0x548
#define SVM_CR3		0x550
#define SVM_DR7		0x560
#define SVM_RFLAGS	0x570
#define SVM_RIP		0x578
#define SVM_RSP		0x5d8
#define SVM_RAX		0x5f8
#define SVM_CR2		0x640

#ifndef __ASSEMBLER__

#include <shimos/layer_abi.h>

struct svm_segment {
	u16 selector;
	u16 attributes;
	u32 limit;
	u64 base;
};

struct svm_control {
	u32 intercept_cr;
	u32 intercept_dr;
	u32 intercept_exceptions;
	u32 intercept_3;	/* SVM_3_* */
	u32 intercept_4;	/* SVM_4_* */
	u32 intercept_5;
	u8 unused_018[0x040 - 0x018];
	u64 io_map;
	u64 msr_map;
	u64 tsc_offset;
	u32 asid;
	u8 tlb;
	u8 unused_05d[3];
	u32 interrupt;		/* SVM_V_* */
	u32 interrupt_vector;
	u64 shadow;		/* bit 0: the next instruction is in an interrupt shadow */
	u64 exit_code;		/* SVM_EXIT_* */
	u64 exit_info_1;
	u64 exit_info_2;
	u64 exit_event;		/* SVM_EVENT_*: what was being delivered */
	u64 nested;
	u8 unused_098[0x0a8 - 0x098];
	u64 event;		/* SVM_EVENT_*: to be delivered */
	u64 nested_cr3;
	u8 unused_0b8[0x400 - 0x0b8];
};

struct svm_save {
	struct svm_segment es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
	u8 unused_0a0[0x0cb - 0x0a0];
	u8 cpl;
	u32 unused_0cc;
	u64 efer;
	u8 unused_0d8[0x148 - 0x0d8];
	u64 cr4, cr3, cr0, dr7, dr6, rflags, rip;
	u8 unused_180[0x1d8 - 0x180];
	u64 rsp;
	u8 unused_1e0[0x1f8 - 0x1e0];
	u64 rax;
	u8 unused_200[0x240 - 0x200];
	u64 cr2;
	u8 unused_248[0x268 - 0x248];
	u64 pat;
	u8 unused_270[0xc00 - 0x270];
};

struct svm_vmcb {
	struct svm_control control;
	struct svm_save save;
};

_Static_assert(sizeof(struct svm_vmcb) == 4096, "a page");
_Static_assert(__builtin_offsetof(struct svm_vmcb, control.event) == 0x0a8, "EVENTINJ");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.cs) == SVM_CS, "CS");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.idtr) == SVM_IDTR, "IDTR");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.cr4) == SVM_CR4, "CR4");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.rip) == SVM_RIP, "RIP");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.rsp) == SVM_RSP, "RSP");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.rax) == SVM_RAX, "RAX");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.cr2) == SVM_CR2, "CR2");
_Static_assert(__builtin_offsetof(struct svm_vmcb, save.pat) == 0x668, "PAT");

#define SVM_3_INTR		(1u << 0)
#define SVM_3_NMI		(1u << 1)
#define SVM_3_VINTR		(1u << 4)
#define SVM_3_RDPMC		(1u << 15)
#define SVM_3_IRET		(1u << 20)
#define SVM_3_INT		(1u << 21)
#define SVM_3_INVD		(1u << 22)
#define SVM_3_PAUSE		(1u << 23)
#define SVM_3_HLT		(1u << 24)
#define SVM_3_INVLPGA		(1u << 26)
#define SVM_3_PORTS		(1u << 27)
#define SVM_3_MSR		(1u << 28)
#define SVM_3_SHUTDOWN		(1u << 31)

#define SVM_4_VMRUN		(1u << 0)
#define SVM_4_VMMCALL		(1u << 1)
#define SVM_4_VMLOAD		(1u << 2)
#define SVM_4_VMSAVE		(1u << 3)
#define SVM_4_STGI		(1u << 4)
#define SVM_4_CLGI		(1u << 5)
#define SVM_4_SKINIT		(1u << 6)
#define SVM_4_ICEBP		(1u << 8)
#define SVM_4_WBINVD		(1u << 9)
#define SVM_4_MONITOR		(1u << 10)
#define SVM_4_MWAIT		(1u << 11)
#define SVM_4_MWAIT_ARMED	(1u << 12)
#define SVM_4_XSETBV		(1u << 13)
#define SVM_4_RDPRU		(1u << 14)

#define SVM_CR_WRITE(n)		(1u << (16 + (n)))

#define SVM_V_IRQ		(1u << 8)
#define SVM_V_PRIORITY_SHIFT	16
#define SVM_V_PRIORITY		(15u << SVM_V_PRIORITY_SHIFT)
#define SVM_V_IGNORE_TPR	(1u << 20)
#define SVM_V_MASKING		(1u << 24)

#define SVM_TLB_FLUSH_ALL	1

#define SVM_EVENT_VECTOR	0xffu
#define SVM_EVENT_TYPE		(7u << 8)
#define SVM_EVENT_NMI		(2u << 8)
#define SVM_EVENT_EXCEPTION	(3u << 8)
#define SVM_EVENT_SOFT		(4u << 8)
#define SVM_EVENT_HAS_ERROR	(1u << 11)
#define SVM_EVENT_VALID		(1u << 31)

#define SVM_EXIT_CR		0x00	/* 16 that are read, 16 that are written */
#define SVM_EXIT_CR_LAST	0x1f
#define SVM_EXIT_DR		0x20	/* the same */
#define SVM_EXIT_DR_LAST	0x3f
#define SVM_EXIT_EXCEPTION	0x40	/* and its vector */
#define SVM_EXIT_EXCEPTION_LAST	0x5f
#define SVM_EXIT_INTR		0x60
#define SVM_EXIT_NMI		0x61
#define SVM_EXIT_VINTR		0x64
#define SVM_EXIT_IRET		0x74
#define SVM_EXIT_INT		0x75
#define SVM_EXIT_PAUSE		0x77
#define SVM_EXIT_HLT		0x78
#define SVM_EXIT_PORTS		0x7b
#define SVM_EXIT_MSR		0x7c
#define SVM_EXIT_SHUTDOWN	0x7f
#define SVM_EXIT_VMRUN		0x80
#define SVM_EXIT_VMMCALL	0x81
#define SVM_EXIT_VMLOAD		0x82
#define SVM_EXIT_SVM_LAST	0x86	/* SKINIT; those between are VMSAVE, STGI, CLGI */
#define SVM_EXIT_ICEBP		0x88
#define SVM_EXIT_MWAIT		0x8b
#define SVM_EXIT_MWAIT_ARMED	0x8c
#define SVM_EXIT_NESTED_FAULT	0x400
#define SVM_EXIT_INVALID	(~0ull)

/* Where the map of MSRs has the range from 0xc0000000 on, in bytes; two bits an MSR. */
#define SVM_MSR_MAP_SIZE	8192
#define SVM_MSR_MAP_C0000000	0x0800
#define SVM_MSR_MAP_C0010000	0x1000

#define SVM_MSR_EFER		0xc0000080
#define SVM_MSR_VM_CR		0xc0010114
#define SVM_MSR_VM_HSAVE_PA	0xc0010117
#define SVM_EFER_SYSCALL	(1ull << 0)
#define SVM_EFER_SVME		(1ull << 12)

#define SVM_PORT_MAP_SIZE	(3 * 4096)

#define SVM_NESTED_PAGING	1
#define SVM_SHADOW		1

/* Attributes of segments: 64-bit code, data. */
#define SVM_ATTRIBUTES_CODE	0xa9b
#define SVM_ATTRIBUTES_DATA	0xc93

#endif
#endif
