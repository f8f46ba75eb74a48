// SPDX-License-Identifier: GPL-2.0
/*
 * The private IDT, a copy of the stock one whose gates lead to our stubs, and
 * the CPUs' gate stacks.
 */
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <asm/cpu_entry_area.h>
#include <asm/desc.h>
#include <asm/processor.h>
#include <asm/segment.h>
#include <asm/trapnr.h>
#include "kml.h"
#include "regs.h"
#include "x86.h"

#define VECTORS		256

static_assert(offsetof(struct kml_gate_page, sp0) == KML_PAGE_SP0);
static_assert(offsetof(struct kml_gate_page, direct_map) == KML_PAGE_DIRECT_MAP);
static_assert(offsetof(struct kml_gate_page, cr3_mask) == KML_PAGE_CR3_MASK);
static_assert(offsetof(struct kml_gate_page, pgd_shift) == KML_PAGE_PGD_SHIFT);
static_assert(offsetof(struct kml_gate_page, promotions) == KML_PAGE_PROMOTIONS);
static_assert(offsetof(struct kml_gate_page, fixes) == KML_PAGE_FIXES);
static_assert(offsetof(struct kml_gate_page, retries) == KML_PAGE_RETRIES);
static_assert(offsetof(struct kml_gate_page, last_cr2) == KML_PAGE_LAST_CR2);
static_assert(offsetof(struct kml_gate_page, last_ip) == KML_PAGE_LAST_IP);
static_assert(offsetof(struct kml_gate_page, last_cr3) == KML_PAGE_LAST_CR3);
static_assert(offsetof(struct kml_gate_page, stack_top) == KML_PAGE_STACK_TOP);
static_assert(sizeof(struct kml_gate_page) <= KML_PAGE_SIZE - KML_MOVE_MC - KML_FRAME);
static_assert(KML_PAGE_SIZE == PAGE_SIZE);
static_assert(offsetof(struct pt_regs, r15) == R_15);
static_assert(offsetof(struct pt_regs, r14) == R_14);
static_assert(offsetof(struct pt_regs, r13) == R_13);
static_assert(offsetof(struct pt_regs, r12) == R_12);
static_assert(offsetof(struct pt_regs, bp) == R_BP);
static_assert(offsetof(struct pt_regs, bx) == R_BX);
static_assert(offsetof(struct pt_regs, r11) == R_11);
static_assert(offsetof(struct pt_regs, r10) == R_10);
static_assert(offsetof(struct pt_regs, r9) == R_9);
static_assert(offsetof(struct pt_regs, r8) == R_8);
static_assert(offsetof(struct pt_regs, ax) == R_AX);
static_assert(offsetof(struct pt_regs, cx) == R_CX);
static_assert(offsetof(struct pt_regs, dx) == R_DX);
static_assert(offsetof(struct pt_regs, si) == R_SI);
static_assert(offsetof(struct pt_regs, di) == R_DI);
static_assert(offsetof(struct pt_regs, orig_ax) == R_ORIG_AX);
static_assert(offsetof(struct pt_regs, ip) == R_IP);
static_assert(offsetof(struct pt_regs, cs) == R_CS);
static_assert(offsetof(struct pt_regs, flags) == R_FLAGS);
static_assert(offsetof(struct pt_regs, sp) == R_SP);
static_assert(offsetof(struct pt_regs, ss) == R_SS);

/* A page of its own, as the CPU reads it. */
static gate_desc idt[VECTORS] __page_aligned_bss;
struct desc_ptr kml_idt_ours = { .size = sizeof(idt) - 1, .address = (unsigned long)idt };
struct desc_ptr kml_idt_stock;
unsigned long kml_stock[VECTORS];
DEFINE_PER_CPU(struct kml_gate_page *, kml_gate_page);
static enum cpuhp_state hotplug;

/* Whether the gate is one as all kernels that we know have it. */
static bool kml_idt_gate_known(int vector, const gate_desc *gate)
{
	if (gate->segment != __KERNEL_CS || gate->bits.type != GATE_INTERRUPT)
		return false;
	switch (vector) {
	case X86_TRAP_DB:
	case X86_TRAP_NMI:
	case X86_TRAP_DF:
		return gate->bits.ist && gate->bits.ist != KML_IST;
	case X86_TRAP_MC:
	case X86_TRAP_VC:
		/* only if the kernel's configuration knows such an event */
		return gate->bits.ist != KML_IST;
	}
	return !gate->bits.ist;
}

static bool guard = true;
module_param(guard, bool, 0400);
MODULE_PARM_DESC(guard, "for tests only: without it an NMI may crash the machine (default on)");

/* Where our gate leads. */
static unsigned long kml_idt_target(int vector, bool own_stack)
{
	if (!own_stack)
		return (unsigned long)kml_stubs + vector * KML_STUB_SIZE;
	if (!guard && vector == X86_TRAP_NMI)
		return kml_stock[vector];
	switch (vector) {
	case X86_TRAP_DB:
		return (unsigned long)kml_debug;
	case X86_TRAP_NMI:
		return (unsigned long)kml_nmi;
	case X86_TRAP_MC:
		return (unsigned long)kml_machine_check;
	}
	/* #DF and #VC: fatal, or not on machines that we take */
	return kml_stock[vector];
}

static int kml_idt_copy(void)
{
	int i;

	store_idt(&kml_idt_stock);
	if (kml_idt_stock.size != sizeof(idt) - 1) {
		pr_err("refused: the kernel's IDT has an unknown size\n");
		return -EOPNOTSUPP;
	}
	memcpy(idt, (const void *)kml_idt_stock.address, sizeof(idt));
	for (i = 0; i < VECTORS; i++) {
		gate_desc *gate = &idt[i];
		unsigned long address;

		if (!gate->bits.p)
			continue;
		if (!kml_idt_gate_known(i, gate)) {
			pr_err("refused: gate %d is not one that is known\n", i);
			return -EOPNOTSUPP;
		}
		kml_stock[i] = gate_offset(gate);
		address = kml_idt_target(i, gate->bits.ist);
		gate->offset_low = (u16)address;
		gate->offset_middle = (u16)(address >> 16);
		gate->offset_high = (u32)(address >> 32);
		if (!gate->bits.ist)
			gate->bits.ist = KML_IST;
	}
	return 0;
}

/* A CPU comes: its TSS names the gate stack. */
static int kml_idt_prepare_cpu(unsigned int cpu)
{
	struct kml_gate_page *page = per_cpu(kml_gate_page, cpu);
	struct x86_hw_tss *tss = &this_cpu_ptr(&cpu_tss_rw)->x86_tss;
	unsigned long top = (unsigned long)page + KML_PAGE_SIZE;

	if (tss->ist[KML_IST_INDEX] && tss->ist[KML_IST_INDEX] != top) {
		pr_err("refused: somebody uses IST%d of CPU %u\n", KML_IST, cpu);
		return -EBUSY;
	}
	page->sp0 = tss->sp0;
	tss->ist[KML_IST_INDEX] = top;
	return 0;
}

/* No trusted task is left, so nothing is on the gate stacks. */
static void kml_idt_free_gate_pages(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct kml_gate_page *page = per_cpu(kml_gate_page, cpu);
		u64 *ist = &per_cpu(cpu_tss_rw, cpu).x86_tss.ist[KML_IST_INDEX];

		if (page && *ist == (unsigned long)page + KML_PAGE_SIZE)
			*ist = 0;
		free_page((unsigned long)page);
	}
}

/**
 * kml_idt_init() - make our interrupt table, and a gate page for each CPU
 *
 * Context: process; may sleep.
 * Return: 0 or why it cannot be; then nothing is left.
 */
int kml_idt_init(void)
{
	unsigned int cpu;
	int err = kml_idt_copy();

	if (err)
		return err;
	kml_direct_init();
	for_each_possible_cpu(cpu) {
		struct kml_gate_page *page = (void *)get_zeroed_page(GFP_KERNEL);

		if (!page) {
			err = -ENOMEM;
			goto fail;
		}
		kml_mm_init_page(page);
		per_cpu(kml_gate_page, cpu) = page;
	}
	/*
	 * Tasks come to a CPU after this state only. But some may still be there
	 * when it goes down, so that changes nothing.
	 */
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "shimos/kml:online",
				kml_idt_prepare_cpu, NULL);
	if (err < 0)
		goto fail;
	hotplug = err;
	return 0;
fail:
	kml_idt_free_gate_pages();
	return err;
}

/**
 * kml_idt_exit() - undo kml_idt_init()
 *
 * Context: process; no CPU uses our table.
 */
void kml_idt_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug);
	kml_idt_free_gate_pages();
}
