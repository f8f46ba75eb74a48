// SPDX-License-Identifier: GPL-2.0
/*
 * Fragments the host's memory on purpose: keeps one unmovable page every
 * step_mb MiB, wherever a free page can be had near there.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>

static unsigned int step_mb = 192;
module_param(step_mb, uint, 0);

static LIST_HEAD(kept);

static bool keep_near(unsigned long pfn)
{
	unsigned long end = pfn + (8UL << (20 - PAGE_SHIFT));
	struct page *page;

	for (; pfn < end; pfn++) {
		page = pfn_to_online_page(pfn);
		if (!page || page_count(page) || PageReserved(page))
			continue;
		if (alloc_contig_range(pfn, pfn + 1, MIGRATE_MOVABLE, GFP_KERNEL))
			continue;
		list_add(&page->lru, &kept);
		return true;
	}
	return false;
}

static int __init fragment_init(void)
{
	unsigned long pfn, count = 0;
	unsigned long end = NODE_DATA(0)->node_start_pfn + NODE_DATA(0)->node_spanned_pages;

	for (pfn = 0; pfn < end; pfn += (unsigned long)step_mb << (20 - PAGE_SHIFT))
		count += keep_near(pfn);
	pr_info("shimos_fragment: keeping %lu pages\n", count);
	return 0;
}

static void __exit fragment_exit(void)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &kept, lru)
		__free_page(page);
}

module_init(fragment_init);
module_exit(fragment_exit);
MODULE_DESCRIPTION("SHIMOS tests: fragments memory");
MODULE_LICENSE("GPL");
