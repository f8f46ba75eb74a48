// SPDX-License-Identifier: GPL-2.0
/*
 * What an RTOS that watches another one shares with its starter: a page in which it reports,
 * and the list of what it watches, which it can only read.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include <uapi/shimos_rt.h>

#include "spumone.h"

/**
 * record_show() - let an RTOS see the records, if it watches
 * @g: its memory is filled
 * @rt: what it was started with
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int record_show(struct spumone_guest *g, const struct spumone_rt *rt)
{
	struct shimos_rt_boot *boot = g->memory + SHIMOS_RT_BOOT;
	unsigned int flags = SPUMONE_WRITE | SPUMONE_NESTED;
	int ret = 0;
	u64 at;

	if (!rt->watch)
		return 0;
	for (at = 0; !ret && at < rt->watch_size; at += PAGE_SIZE) {
		ret = spumone_arch_map(&g->tables, SHIMOS_RT_REPORT + at,
				       PFN_PHYS(vmalloc_to_pfn(rt->watch + at)), flags);
		flags = SPUMONE_NESTED;		/* all but the first */
	}
	boot->watch = !ret;
	return ret;
}
