// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables of guarded partitions: what the guard has for itself, and what a kernel sees.
 * Every address is what it is physically, and four levels are enough: the guard is entered
 * by the trampoline, which does not switch the fifth on.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <asm/apicdef.h>
#include <asm/pgtable_types.h>
#include <uapi/shimos_ikc.h>

#include "../../arch.h"
#include "guard.h"
#include "pci.h"
#include "../../guard/guard.h"

#define SEEN_TOP		3	/* the root's level; pages of 4 KiB have 0 */
#define SEEN_BITS		9
/* What a guest does is a program's doing, to nested tables; and nothing is to be marked here. */
#define SEEN_FLAGS \
	(_PAGE_PRESENT | _PAGE_RW | _PAGE_USER | _PAGE_ACCESSED | _PAGE_DIRTY)

/* Guards which guarded partitions there are, what they see, and the chunks of IKC's area. */
static DEFINE_MUTEX(x86_guard_mutex);
static LIST_HEAD(x86_guards);
static u64 x86_guard_chunk[IKC_MAX_CHUNKS];	/* 0: not there yet */

static u64 *guard_seen_new_table(struct x86_guard_tables *t, u64 *physical)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	if (!page)
		return NULL;
	list_add_tail(&page->lru, &t->pages);
	t->count++;
	*physical = page_to_phys(page);
	return page_address(page);
}

static void guard_seen_free(struct x86_guard_tables *t)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &t->pages, lru)
		__free_page(page);
	INIT_LIST_HEAD(&t->pages);
}

/* A page of 4 KiB (level 0) or 2 MiB (1). */
static int guard_seen_map(struct x86_guard_tables *t, u64 address, u64 physical, int last)
{
	u64 *table = phys_to_virt(t->root), *entry, next;
	int level;

	for (level = SEEN_TOP;; level--) {
		entry = &table[address >> (PAGE_SHIFT + level * SEEN_BITS) & (PTRS_PER_PTE - 1)];
		if (level == last)
			break;
		if (!*entry) {
			if (!guard_seen_new_table(t, &next))
				return -ENOMEM;
			WRITE_ONCE(*entry, next | SEEN_FLAGS);
		}
		table = phys_to_virt(*entry & PTE_PFN_MASK);
	}
	WRITE_ONCE(*entry, physical | SEEN_FLAGS | (last ? _PAGE_PSE : 0));
	return 0;
}

/* Whole pages, each at its own address. */
static int guard_seen_show(struct x86_guard_tables *t, u64 start, u64 size)
{
	u64 at, end = start + size;
	int level, ret = 0;

	for (at = start; !ret && at < end; at += level ? PMD_SIZE : PAGE_SIZE) {
		level = IS_ALIGNED(at, PMD_SIZE) && end - at >= PMD_SIZE;
		ret = guard_seen_map(t, at, at, level);
	}
	return ret;
}

/*
 * Below 1 MiB a kernel looks for what firmware has left, and leaves a word for the firmware.
 * It finds one empty page everywhere but where its own memory is.
 */
static int guard_seen_show_low(struct x86_guard *g, struct partition *p)
{
	u64 own = x86_of(p)->low_memory, at;
	int ret = 0;

	for (at = 0; !ret && at < SZ_1M; at += PAGE_SIZE)
		ret = guard_seen_map(&g->seen, at, at >= own && at < own + X86_LOW_PAGES * PAGE_SIZE ?
					     at : __pa(g->blank), 0);
	return ret;
}

static int guard_seen_fill(struct x86_guard *g, struct partition *p)
{
	int ret = guard_seen_show_low(g, p) ?:
		  guard_seen_show(&g->seen, APIC_DEFAULT_PHYS_BASE, PAGE_SIZE);
	u32 i;

	for (i = 0; !ret && i < p->range_count; i++)
		ret = guard_seen_show(&g->seen, p->ranges[i].start, p->ranges[i].size);
	for (i = 0; !ret && i < IKC_MAX_CHUNKS; i++)
		if (x86_guard_chunk[i])
			ret = guard_seen_show(&g->seen, x86_guard_chunk[i], IKC_CHUNK_SIZE);
	return ret;
}

/* The trampoline, from which it is entered, and what it needs itself. */
static int guard_seen_fill_own(struct x86_guard *g, struct partition *p)
{
	int ret = guard_seen_show(&g->own, x86_cpu_trampoline(), PAGE_SIZE) ?:
		  guard_seen_show(&g->own, __pa(g->image), PAGE_SIZE << g->image_order) ?:
		  guard_seen_show(&g->own, __pa(g->idt), PAGE_SIZE) ?:
		  guard_seen_show(&g->own, partition_phys(p, X86_MAILBOX), PAGE_SIZE);
	u32 i;

	for (i = 0; !ret && i < g->cpu_count; i++)
		ret = guard_seen_show(&g->own, __pa(g->cpu[i]), PAGE_SIZE << GUARD_CPU_ORDER);
	return ret;
}

/**
 * x86_guard_make_tables() - make the page tables of a guard and of what its kernel sees
 * @g: its image and its CPUs' memory are there
 * @p: whose
 *
 * Context: may sleep; takes x86_guard_mutex.
 * Return: 0 or -ENOMEM; x86_guard_free_tables() has to follow either way.
 */
int x86_guard_make_tables(struct x86_guard *g, struct partition *p)
{
	int ret = -ENOMEM;

	mutex_lock(&x86_guard_mutex);
	if (guard_seen_new_table(&g->own, &g->own.root) && guard_seen_new_table(&g->seen, &g->seen.root))
		ret = guard_seen_fill_own(g, p) ?: guard_seen_fill(g, p);
	list_add(&g->link, &x86_guards);
	mutex_unlock(&x86_guard_mutex);
	return ret;
}

/* A page of registers at the least: what else is in it comes with them. */
static int guard_seen_show_bar(struct x86_guard *g, const struct resource *bar)
{
	u64 start = PAGE_ALIGN_DOWN(bar->start);

	if (!bar->flags || bar->flags & IORESOURCE_UNSET || !bar->start)
		return 0;
	if (bar->flags & IORESOURCE_MEM)
		return guard_seen_show(&g->seen, start, PAGE_ALIGN(bar->end + 1) - start);
	if (bar->flags & IORESOURCE_IO)
		x86_guard_allow_ports(g, bar->start, bar->end);
	return 0;
}

/**
 * x86_guard_show_devices() - let its kernel reach the devices that the partition was given
 * @g: of @p
 * @p: whose devices
 *
 * Context: p->mutex is held, and it does not run.  May sleep.
 * Return: 0 or -ENOMEM.
 */
int x86_guard_show_devices(struct x86_guard *g, struct partition *p)
{
	struct passthrough *d;
	int i, ret = 0;
	u64 ecam;

	mutex_lock(&x86_guard_mutex);
	list_for_each_entry(d, &p->passthrough, link) {
		if (!ret && passthrough_first_of_bus(d) && !x86_bus_ecam(d->pdev->bus, &ecam))
			ret = guard_seen_show(&g->seen, ecam, X86_BUS_ECAM_LEN);
		for (i = 0; !ret && i <= PCI_ROM_RESOURCE; i++)
			ret = guard_seen_show_bar(g, &d->pdev->resource[i]);
	}
	mutex_unlock(&x86_guard_mutex);
	return ret;
}

/**
 * x86_guard_free_tables() - free them
 * @g: no CPU uses them
 *
 * Context: may sleep; takes x86_guard_mutex.
 */
void x86_guard_free_tables(struct x86_guard *g)
{
	mutex_lock(&x86_guard_mutex);
	list_del_init(&g->link);
	mutex_unlock(&x86_guard_mutex);
	guard_seen_free(&g->seen);
	guard_seen_free(&g->own);
}

/* What was not there before is in no processor's memory of the tables. */
void kloader_arch_share(unsigned int chunk, u64 physical)
{
	struct x86_guard *g;

	mutex_lock(&x86_guard_mutex);
	x86_guard_chunk[chunk] = physical;
	list_for_each_entry(g, &x86_guards, link)
		if (guard_seen_show(&g->seen, physical, IKC_CHUNK_SIZE))
			pr_err("no memory left to show a guarded partition the area that all share: it may end\n");
	mutex_unlock(&x86_guard_mutex);
}
