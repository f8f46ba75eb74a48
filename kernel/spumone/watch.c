// SPDX-License-Identifier: GPL-2.0
/*
 * RTOSes that watch others (SPUMONE 2011, section 5): what is to be watched, and that they
 * see it.  They can only read it, and what is not theirs to see any more is a page of zeros:
 * one that reads there at that moment shall not end for it.
 */
#include <linux/errno.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <crypto/sha2.h>
#include <uapi/shimos_rt.h>
#include <uapi/shimos_shared.h>

#include "guest.h"
#include "spumone.h"

/* ---- what is to be watched ---- */

static u32 watch_count(const struct guest_image *asked)
{
	const struct guest_segment *s;
	u32 count = 0;

	for (s = asked->segments; s < asked->segments + asked->count; s++)
		count += s->write ? 0 : (s->to - s->from) >> PAGE_SHIFT;
	return count;
}

/* @page is room for one. */
static void watch_fill(const void *image, const struct guest_image *asked, void *page,
		       struct shimos_rt_page *to)
{
	const struct guest_segment *s;
	u64 at;

	BUILD_BUG_ON(SHA256_DIGEST_SIZE != SHIMOS_RT_DIGEST);
	for (s = asked->segments; s < asked->segments + asked->count; s++) {
		for (at = s->from; !s->write && at < s->to; at += PAGE_SIZE, to++) {
			guest_elf_page(image, s, at, page);
			to->address = at;
			sha256(page, PAGE_SIZE, to->digest);
			cond_resched();
		}
	}
}

int spumone_rt_fixed(const void *image, u64 len, u64 size, struct shimos_rt_page **to)
{
	struct guest_image asked;
	struct complaint c;
	int ret = guest_elf_parse(image, len, size - SHIMOS_SHARED_SIZE, &asked, &c);
	u32 count = ret ? 0 : watch_count(&asked);
	void *page;

	*to = NULL;
	if (!count || count > SHIMOS_RT_WATCH_PAGES)
		return ret ?: count;
	page = (void *)__get_free_page(GFP_KERNEL);
	*to = kvcalloc(count, sizeof(**to), GFP_KERNEL);
	if (page && *to)
		watch_fill(image, &asked, page, *to);
	free_page((unsigned long)page);
	return page && *to ? count : -ENOMEM;
}
EXPORT_SYMBOL_GPL(spumone_rt_fixed);

/* ---- that it is seen ---- */

static int watch_map(struct spumone_guest *g, u64 address, u64 physical)
{
	return spumone_arch_map(&g->tables, SHIMOS_RT_WATCH + address, physical, SPUMONE_NESTED);
}

/* They have been mapped, so there are tables for them. */
static void watch_unmap(struct spumone_guest *g, const struct shimos_rt_page *pages, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		watch_map(g, pages[i].address, page_to_phys(ZERO_PAGE(0)));
}

static int watch_map_all(struct spumone_guest *g, u64 memory, const struct shimos_rt_page *pages,
			 u32 count)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < count; i += !ret)
		ret = watch_map(g, pages[i].address, memory + pages[i].address);
	if (ret)
		watch_unmap(g, pages, i);
	return ret;
}

/* Its tables can be hidden from Linux, as its memory is. */
static void watch_open(struct spumone_guest *g)
{
	if (g->hidden)
		protect_open_guests();
}

static void watch_close(struct spumone_guest *g)
{
	if (g->hidden)
		protect_close_guests();
	protect_flush(g->cpu);
}

int spumone_rt_watch(int number, u64 memory, const struct shimos_rt_page *pages, u32 count)
{
	struct spumone_guest *g = &guest_table[number];
	int ret = -ENOENT;

	launch_lock();
	if (g->runs) {
		watch_open(g);
		ret = watch_map_all(g, memory, pages, count);
		watch_close(g);
	}
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_watch);

void spumone_rt_unwatch(int number, const struct shimos_rt_page *pages, u32 count)
{
	struct spumone_guest *g = &guest_table[number];

	launch_lock();
	if (g->runs) {
		watch_open(g);
		watch_unmap(g, pages, count);
		watch_close(g);
	}
	launch_unlock();
}
EXPORT_SYMBOL_GPL(spumone_rt_unwatch);
