/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KML_X86_H
#define _KML_X86_H

#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <asm/desc_defs.h>
#include "layout.h"

/**
 * struct kml_gate_page - a CPU's gate stack, and what the stubs want to know; see layout.h
 * @sp0: top of the CPU's entry stack
 * @direct_map: where physical memory is mapped
 * @cr3_mask: the address in CR3
 * @pgd_shift: address to index in the top-level table
 * @promotions: from CPL 3
 * @fixes: of user bits in top-level entries
 * @retries: for a stale TLB
 * @last_cr2: the address of the latest of these retries
 * @last_ip: its instruction
 * @last_cr3: its page tables
 * @stack_top: of the trusted task that is current
 */
struct kml_gate_page {
	u64 sp0;
	u64 direct_map;
	u64 cr3_mask;
	u64 pgd_shift;
	u64 promotions;
	u64 fixes;
	u64 retries;
	u64 last_cr2;
	u64 last_ip;
	u64 last_cr3;
	u64 stack_top;
};

/* idt.c */
int kml_idt_init(void);
void kml_idt_exit(void);
extern struct desc_ptr kml_idt_ours, kml_idt_stock;
DECLARE_PER_CPU(struct kml_gate_page *, kml_gate_page);

/* support.c: says why not */
int kml_support_check(void);

/* symbols.c */
int kml_symbols_init(void);
#define KML_CALL	0xe8		/* first byte of a call */
#define KML_BRANCH_SIZE	5		/* of calls and jumps with a 32-bit distance */
unsigned long kml_branch_target(const u8 *code);

/**
 * kml_do_syscall_64_type() - what a static call of do_syscall_64() is like
 * @regs: of the program
 * @nr: of the system call
 *
 * There is no such function.
 */
void kml_do_syscall_64_type(struct pt_regs *regs, int nr);

/* kvm.c: keeps KVM of Intel CPUs out; refuses if it is there. */
int kml_kvm_init(void);
void kml_kvm_exit(void);

/* mm.c */
void kml_mm_init_page(struct kml_gate_page *page);

/* direct.c */
void kml_direct_init(void);

/* fast.c */
void kml_fast_init(void);
extern unsigned long kml_fast[];
extern unsigned long kml_fast_count;
extern unsigned long kml_exit_function;

/* gates.S, guards.S */
extern char kml_stubs[], kml_nmi[], kml_debug[], kml_machine_check[];
extern unsigned long kml_stock[256], kml_direct[256];

/* syscall.S */
extern char kml_syscall[], kml_syscall_done[], kml_call[], kml_call_3[];
extern char kml_not_fast[];
extern unsigned long kml_stock_return;
DECLARE_PER_CPU(unsigned long, kml_program_sp);
DECLARE_PER_CPU(struct pt_regs *, kml_regs);
DECLARE_PER_CPU(unsigned long, kml_call_sp);
DECLARE_PER_CPU(unsigned long, kml_syscalls);
DECLARE_PER_CPU(unsigned long, kml_calls);
DECLARE_PER_CPU(struct task_struct *, kml_current);
DECLARE_PER_CPU(unsigned long, kml_cpl0);

#endif
