// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables of the layer and of what a guest sees: as many levels as Linux has.  And
 * those with which a guest begins: large pages, four levels.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <asm/io.h>
#include <asm/processor-flags.h>
#include <asm/processor.h>
#include <asm/special_insns.h>

#include <uapi/shimos_ikc.h>
#include <uapi/shimos_rt.h>

#include "../../spumone.h"
#include "tables.h"

u64 *tables_new(struct spumone_tables *t, u64 *physical)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	if (!page)
		return NULL;
	list_add_tail(&page->lru, &t->pages);
	*physical = page_to_phys(page);
	return page_address(page);
}

int spumone_arch_tables(struct spumone_tables *t)
{
	INIT_LIST_HEAD(&t->pages);
	return tables_new(t, &t->root) ? 0 : -ENOMEM;
}

void spumone_arch_free_tables(struct spumone_tables *t)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &t->pages, lru)
		__free_page(page);
	INIT_LIST_HEAD(&t->pages);
}

/* The root's level. */
static int tables_top(void)
{
	return native_read_cr4() & X86_CR4_LA57 ? 4 : 3;
}

int spumone_arch_map(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags)
{
	int level = tables_top();
	int last = flags & SPUMONE_LARGE ? 1 : 0;
	u64 *table = phys_to_virt(t->root), *entry, next;

	for (;; level--) {
		entry = &table[address >> (PAGE_SHIFT + level * TABLES_BITS) &
			       (TABLES_ENTRIES - 1)];
		if (level == last)
			break;
		if (!*entry) {
			if (!tables_new(t, &next))
				return -ENOMEM;
			*entry = next | TABLES_PRESENT | TABLES_WRITE |
				 (flags & SPUMONE_NESTED ? TABLES_USER : 0);
		}
		table = phys_to_virt(*entry & TABLES_ADDRESS);
	}
	*entry = physical | TABLES_PRESENT | (flags & SPUMONE_WRITE ? TABLES_WRITE : 0) |
		 (flags & SPUMONE_RUN ? 0 : TABLES_NO_RUN) |
		 (flags & SPUMONE_LARGE ? TABLES_LARGE : 0) |
		 (flags & SPUMONE_NESTED ? TABLES_USER : 0);
	return 0;
}

int spumone_arch_identity(struct spumone_tables *t)
{
	return spumone_arch_tables(t) ?:
	       identity_fill(t, phys_to_virt(t->root), tables_top(),
			     1ULL << boot_cpu_data.x86_phys_bits);
}

int spumone_arch_hide(struct spumone_tables *t, u64 start, u64 size)
{
	return identity_hide(t, phys_to_virt(t->root), tables_top(), start, start + size);
}

int spumone_arch_show(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags)
{
	return identity_place(t, phys_to_virt(t->root), tables_top(), address,
			      physical | TABLES_PRESENT | TABLES_USER | TABLES_ACCESSED |
			      (flags & SPUMONE_WRITE ? TABLES_WRITE | TABLES_DIRTY : 0));
}

/*
 * Every address is what it is physically.  Behind the boot record are a table for all, one
 * for its first GiBs, one for its memory, one for IKC's area, and two for what it watches.
 */
void spumone_arch_prepare_guest(struct spumone_guest *g)
{
	const u64 flags = TABLES_PRESENT | TABLES_WRITE, top = SHIMOS_RT_BOOT + PAGE_SIZE;
	u64 *table = g->memory + top, *gibs = table + TABLES_ENTRIES;
	u64 *memory = gibs + TABLES_ENTRIES, *area = memory + TABLES_ENTRIES;
	u64 *watch = area + TABLES_ENTRIES, *record = watch + TABLES_ENTRIES, at;

	g->start.tables = top;
	table[0] = (top + PAGE_SIZE) | flags;
	gibs[0] = (top + 2 * PAGE_SIZE) | flags;
	gibs[SHIMOS_RT_IKC / PUD_SIZE] = (top + 3 * PAGE_SIZE) | flags;
	gibs[SHIMOS_RT_WATCH / PUD_SIZE] = (top + 4 * PAGE_SIZE) | flags;
	gibs[SHIMOS_RT_REPORT / PUD_SIZE] = (top + 5 * PAGE_SIZE) | flags;
	for (at = 0; at < g->size; at += PMD_SIZE)
		*memory++ = at | flags | TABLES_LARGE;
	for (at = 0; at < IKC_MAX_CHUNKS * IKC_CHUNK_SIZE; at += PMD_SIZE)
		*area++ = (SHIMOS_RT_IKC + at) | flags | TABLES_LARGE;
	for (at = 0; at < SHIMOS_RT_MAX_MEMORY; at += PMD_SIZE)
		*watch++ = (SHIMOS_RT_WATCH + at) | flags | TABLES_LARGE;
	*record = SHIMOS_RT_REPORT | flags | TABLES_LARGE;
}
