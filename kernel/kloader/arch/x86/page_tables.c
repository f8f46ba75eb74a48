// SPDX-License-Identifier: GPL-2.0
/*
 * The page tables a kernel image is entered with: identity maps of the first
 * 2 MiB (the trampoline), of the boot structures and of the image with the
 * room it asks for (Linux boot protocol, "64-bit boot protocol").  The image
 * replaces them at once with its own.
 */
#include <linux/io.h>
#include <linux/string.h>
#include <asm/pgtable_types.h>

#include "x86.h"

struct page_tables_builder {
	struct partition *p;
	u64 next;		/* offset of the next unused page */
};

static u64 *page_tables_entry(u64 *table, u64 addr, unsigned int shift)
{
	return &table[(addr >> shift) & (PTRS_PER_PTE - 1)];
}

/* Two ranges of less than 512 MiB need five pages at the most; we have 16. */
static u64 *page_tables_lower(struct page_tables_builder *b, u64 *entry)
{
	if (!*entry) {
		memset(partition_at(b->p, b->next), 0, PAGE_SIZE);
		*entry = partition_phys(b->p, b->next) | _PAGE_PRESENT | _PAGE_RW;
		b->next += PAGE_SIZE;
	}
	return phys_to_virt(*entry & PTE_PFN_MASK);
}

static void page_tables_map(struct page_tables_builder *b, u64 start, u64 end)
{
	u64 *pgd = partition_at(b->p, X86_PAGE_TABLES);
	u64 *pud, *pmd, addr;

	for (addr = ALIGN_DOWN(start, PMD_SIZE); addr < end; addr += PMD_SIZE) {
		pud = page_tables_lower(b, page_tables_entry(pgd, addr, 39));
		pmd = page_tables_lower(b, page_tables_entry(pud, addr, PUD_SHIFT));
		*page_tables_entry(pmd, addr, PMD_SHIFT) = addr | _PAGE_PRESENT | _PAGE_RW |
						  _PAGE_PSE;
	}
}

/**
 * x86_write_page_tables() - write the tables by which its kernel begins
 * @p: does not run
 *
 * The top level lies at X86_PAGE_TABLES.  Addresses are the physical ones.
 *
 * Context: may sleep; p->mutex is held.
 */
void x86_write_page_tables(struct partition *p)
{
	struct page_tables_builder b = { .p = p, .next = X86_PAGE_TABLES + PAGE_SIZE };
	u64 base = partition_phys(p, 0);

	memset(partition_at(p, X86_PAGE_TABLES), 0, PAGE_SIZE);
	page_tables_map(&b, 0, PMD_SIZE);
	page_tables_map(&b, base, base + p->layout.kernel + p->layout.kernel_room);
	WARN_ON_ONCE(b.next > X86_PAGE_TABLES + X86_PAGE_TABLES_LEN);
}
