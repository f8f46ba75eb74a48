// SPDX-License-Identifier: GPL-2.0
/*
 * The address space of a trusted program: without the user bit in its top-level
 * entries all of it is the supervisor's, and SMEP and SMAP, which stay on, do
 * not mind. Nothing of the kernel looks at that bit there.
 */
#include <linux/mm.h>
#include <asm/page.h>
#include <asm/pgtable.h>
#include <asm/tlbflush.h>
#include "kml.h"
#include "x86.h"

/**
 * kml_mm_init_page() - tell a gate page's stubs where this kernel has its memory
 * @page: zeroed
 *
 * Context: any.
 */
void kml_mm_init_page(struct kml_gate_page *page)
{
	page->direct_map = PAGE_OFFSET;
	page->cr3_mask = __PHYSICAL_MASK & PAGE_MASK;
	page->pgd_shift = PGDIR_SHIFT;
}

/* Entries that come later are treated when they fault; see gates.S. */
void kml_arch_own_mm(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < PTRS_PER_PGD / 2; i++)
		if (pgd_val(READ_ONCE(mm->pgd[i])) & _PAGE_USER)
			clear_bit(_PAGE_BIT_USER, (unsigned long *)&mm->pgd[i]);
	if (mm == current->mm)
		native_write_cr3(__native_read_cr3());
}

/*
 * A TLB that knew nothing of it would make an access a fault that is the program's
 * own: each CPU flushes it when it switches to this address space, which it left.
 */
void kml_arch_disown_mm(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < PTRS_PER_PGD / 2; i++)
		if (pgd_val(READ_ONCE(mm->pgd[i])))
			set_bit(_PAGE_BIT_USER, (unsigned long *)&mm->pgd[i]);
	atomic64_inc(&mm->context.tlb_gen);
}
