// SPDX-License-Identifier: GPL-2.0
/* An RTOS in memory of its own: what is in it when it is entered, and what it may do with it. */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/tsc.h>
#include <uapi/shimos_rt.h>
#include <uapi/shimos_shared.h>

#include "guest.h"
#include "spumone.h"

static u64 guest_shared(const struct spumone_guest *g)
{
	return g->size - SHIMOS_SHARED_SIZE;
}

static void guest_fill(struct spumone_guest *g, const void *image, const struct guest_image *asked)
{
	struct shimos_rt_boot *boot = g->memory + SHIMOS_RT_BOOT;
	struct shimos_shared *shared = g->memory + guest_shared(g);
	const struct guest_segment *s;

	for (s = asked->segments; s < asked->segments + asked->count; s++)
		memcpy(g->memory + s->address, image + s->offset, s->stored);
	boot->magic = SHIMOS_RT_MAGIC;
	boot->version = SHIMOS_RT_VERSION;
	boot->size = sizeof(*boot);
	boot->memory = g->size;
	boot->shared = guest_shared(g);
	boot->cycles_per_second = (u64)tsc_khz * 1000;
	shared->magic = SHIMOS_SHARED_MAGIC;
	shared->version = SHIMOS_SHARED_VERSION;
	shared->size = SHIMOS_SHARED_SIZE;
	g->start.entry = asked->entry;
	g->start.stack = guest_shared(g);
	g->start.argument = SHIMOS_RT_BOOT;
	spumone_arch_prepare_guest(g);
}

static unsigned int guest_flags(const struct guest_image *asked, u64 at)
{
	const struct guest_segment *s;

	for (s = asked->segments; s < asked->segments + asked->count; s++)
		if (at >= s->from && at < s->to)
			return (s->write ? SPUMONE_WRITE : 0) | (s->run ? SPUMONE_RUN : 0);
	return SPUMONE_WRITE;
}

/* All but the first page, so that an address of 0 is found out. */
static int guest_map(struct spumone_guest *g, const struct guest_image *asked)
{
	int ret = spumone_arch_tables(&g->tables);
	u64 at;

	for (at = PAGE_SIZE; !ret && at < g->size; at += PAGE_SIZE)
		ret = spumone_arch_map(&g->tables, at,
				       page_to_phys(vmalloc_to_page(g->memory + at)),
				       guest_flags(asked, at) | SPUMONE_NESTED);
	g->start.nested = g->tables.root;
	return ret;
}

static int guest_check_memory(u64 memory, struct complaint *c)
{
	if (memory < SHIMOS_RT_MIN_MEMORY || memory > SHIMOS_RT_MAX_MEMORY ||
	    !IS_ALIGNED(memory, PAGE_SIZE))
		return shimos_refuse(c, -EINVAL,
				     "%llu bytes of memory: a real-time partition has 1M to 1G, in whole pages",
				     memory);
	return 0;
}

/**
 * guest_make() - an RTOS that can be entered
 *
 * Context: may sleep.
 * Return: it, or an error with its reason in @c.
 */
struct spumone_guest *guest_make(const void *image, u64 len, u64 memory, struct complaint *c)
{
	struct spumone_guest *g;
	struct guest_image asked;
	int ret = guest_check_memory(memory, c) ?:
		  guest_elf_parse(image, len, memory - SHIMOS_SHARED_SIZE, &asked, c);

	if (ret)
		return ERR_PTR(ret);
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (g) {
		INIT_LIST_HEAD(&g->tables.pages);
		g->size = memory;
		g->memory = vzalloc(memory);
	}
	if (!g || !g->memory || guest_map(g, &asked)) {
		guest_free(g);
		return ERR_PTR(shimos_refuse(c, -ENOMEM, "the host has no %llu bytes of memory left",
					     memory));
	}
	guest_fill(g, image, &asked);
	return g;
}

void guest_request(struct spumone_guest *g, u32 request)
{
	struct shimos_shared *shared = g->memory + guest_shared(g);

	WRITE_ONCE(shared->request, request);
}

void guest_free(struct spumone_guest *g)
{
	if (!g)
		return;
	spumone_arch_free_tables(&g->tables);
	vfree(g->memory);
	kfree(g);
}
