/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: what runs under the kernel of a guarded partition, on each of its CPUs.  It
 * is a freestanding image without a kernel symbol; all of its memory is at its physical
 * address.  This header is what it and KLoader share; both are built together.
 */
#ifndef _KLOADER_GUARD_H
#define _KLOADER_GUARD_H

/* What one CPU has for itself, in pages: struct guard_cpu, VMCB, the host's state, stack. */
#define GUARD_VMCB		0x1000
#define GUARD_SAVE		0x2000
#define GUARD_STACK_END		0x4000
#define GUARD_CPU_ORDER		2

/* Offsets in struct guard_cpu that assembly needs. */
#define GUARD_IDT		0x70

#define GUARD_CS		8
#define GUARD_DS		16
/* Exceptions that it has an entry for: up to and including #MC. */
#define GUARD_VECTORS		19
#define GUARD_STUB_SIZE		16

#ifndef __ASSEMBLER__

#include "../../spumone/layer/arch/x86/svm.h"

#define GUARD_MAGIC		0x31647261756721ull

/**
 * struct guard_header - at the start of the image: offsets in it
 * @magic: GUARD_MAGIC
 * @enter: where it is entered; RSI is the physical address of a struct guard_cpu
 * @stubs: of exceptions, GUARD_STUB_SIZE bytes each
 * @size: of the image, bytes
 */
struct guard_header {
	u64 magic;
	u64 enter;
	u64 stubs;
	u64 size;
};

/* What VMRUN does not switch, in the order of svm_registers.S. */
struct guard_registers {
	u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

/**
 * struct guard_mailbox - the mailbox by which a kernel wakes a CPU (ACPI 6.5, 5.2.12.19)
 * @command: 1: wake; the CPU writes 0 when it does
 * @reserved: not used
 * @apic_id: which CPU
 * @entry: where it goes on
 *
 * The kernel writes it.
 */
struct guard_mailbox {
	u16 command;
	u16 reserved;
	u32 apic_id;
	u64 entry;
};

#define GUARD_WAKE		1

/**
 * enum guard_why - why a CPU stands still
 * @GUARD_RUNS: it does not
 * @GUARD_SHUTDOWN: triple fault
 * @GUARD_STRAY: touched what is not its own, where no exception can be raised
 * @GUARD_INVALID: a state that cannot be
 * @GUARD_EXIT: an exit that was not asked for; its code is in info
 * @GUARD_FAULT: an exception in the guard itself; its vector is in info
 */
enum guard_why {
	GUARD_RUNS,
	GUARD_SHUTDOWN,
	GUARD_STRAY,
	GUARD_INVALID,
	GUARD_EXIT,
	GUARD_FAULT,
};

/**
 * struct guard_counts - how often the CPU has left its kernel, since it was started
 * @exits: all, of which
 * @ports: for ports
 * @registers: for the processor's: MSRs
 * @strays: touched what is not its own
 */
struct guard_counts {
	u64 exits;
	u64 ports;
	u64 registers;
	u64 strays;
};

/**
 * struct guard_cpu - what a CPU and KLoader know of each other
 * @registers: what VMRUN does not switch
 * @idt: physical address
 * @mailbox: the same; 0: the first CPU, which does not wait
 * @apic_id: of this CPU
 * @clock: the register of the CMOS that it chose last
 * @counts: of this CPU
 * @stray: the address that it touched last, of others
 * @stray_at: the instruction's
 * @at: the instruction at which it ended
 * @info: see enum guard_why
 * @why: enum guard_why; comes last
 *
 * KLoader fills it in before a start; then the guard writes, and KLoader reads the counts and
 * how it ended.
 */
struct guard_cpu {
	struct guard_registers registers;
	u64 idt;
	u64 mailbox;
	u32 apic_id;
	u32 clock;
	struct guard_counts counts;
	u64 stray;
	u64 stray_at;
	u64 at;
	u64 info;
	u32 why;
};

_Static_assert(__builtin_offsetof(struct guard_cpu, idt) == GUARD_IDT, "GUARD_IDT");

/* Registers of the processor that both sides name, besides SVM's. */
#define GUARD_MSR_APIC_BASE	0x1b

#endif
#endif
