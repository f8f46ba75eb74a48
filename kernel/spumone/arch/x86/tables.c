// SPDX-License-Identifier: GPL-2.0
/* Page tables of an instance of the layer: small pages, as many levels as Linux has. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <asm/io.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>

#include "../../spumone.h"

#define TABLES_PRESENT	BIT_ULL(0)
#define TABLES_WRITE	BIT_ULL(1)
#define TABLES_NO_RUN	BIT_ULL(63)
#define TABLES_ADDRESS	GENMASK_ULL(51, 12)
#define TABLES_BITS	9

static u64 *tables_new(struct spumone_cpu *s, u64 *physical)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	if (!page)
		return NULL;
	list_add(&page->lru, &s->tables);
	*physical = page_to_phys(page);
	return page_address(page);
}

int spumone_arch_root(struct spumone_cpu *s)
{
	return tables_new(s, &s->root) ? 0 : -ENOMEM;
}

int spumone_arch_map(struct spumone_cpu *s, u64 address, u64 physical, bool write, bool run)
{
	int level = native_read_cr4() & X86_CR4_LA57 ? 4 : 3;
	u64 *table = phys_to_virt(s->root), *entry, next;

	for (;; level--) {
		entry = &table[address >> (PAGE_SHIFT + level * TABLES_BITS) &
			       (BIT(TABLES_BITS) - 1)];
		if (!level)
			break;
		if (!*entry) {
			if (!tables_new(s, &next))
				return -ENOMEM;
			*entry = next | TABLES_PRESENT | TABLES_WRITE;
		}
		table = phys_to_virt(*entry & TABLES_ADDRESS);
	}
	*entry = physical | TABLES_PRESENT | (write ? TABLES_WRITE : 0) |
		 (run ? 0 : TABLES_NO_RUN);
	return 0;
}
