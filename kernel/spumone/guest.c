// SPDX-License-Identifier: GPL-2.0
/* An RTOS in memory that it was given: what is in it when it is entered, and what it may do with it. */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <asm/tsc.h>
#include <uapi/shimos.h>
#include <uapi/shimos_rt.h>
#include <uapi/shimos_shared.h>

#include "guest.h"
#include "spumone.h"

struct spumone_guest guest_table[LAYER_GUESTS];

static u64 guest_shared(const struct spumone_guest *g)
{
	return g->size - SHIMOS_SHARED_SIZE;
}

/* As new, but for the area that it shares with its starter. */
static void guest_clear(struct spumone_guest *g)
{
	u64 at, step;

	for (at = 0; at < guest_shared(g); at += step) {
		step = min_t(u64, guest_shared(g) - at, SZ_4M);
		memset(g->memory + at, 0, step);
		cond_resched();
	}
}

static u64 guest_cycles(u64 ns)
{
	return mul_u64_u32_div(ns, tsc_khz, NSEC_PER_MSEC);
}

static void guest_fill(struct spumone_guest *g, const struct spumone_rt *rt,
		       const struct guest_image *asked)
{
	struct shimos_rt_boot *boot = g->memory + SHIMOS_RT_BOOT;
	const struct guest_segment *s;

	guest_clear(g);
	for (s = asked->segments; s < asked->segments + asked->count; s++)
		memcpy(g->memory + s->address, rt->image + s->offset, s->stored);
	boot->magic = SHIMOS_RT_MAGIC;
	boot->version = SHIMOS_RT_VERSION;
	boot->size = sizeof(*boot);
	boot->memory = g->size;
	boot->shared = guest_shared(g);
	boot->cycles_per_second = (u64)tsc_khz * 1000;
	boot->bell = spumone_arch_rt_bell(g->cpu);
	g->start.entry = asked->entry;
	g->start.stack = guest_shared(g);
	g->start.argument = SHIMOS_RT_BOOT;
	g->start.budget = guest_cycles(g->share.budget_ns);
	g->start.period = guest_cycles(g->share.period_ns);
	g->start.priority = g->share.priority;
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
		ret = spumone_arch_map(&g->tables, at, __pa(g->memory + at),
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

static int guest_check(const void *image, u64 len, u64 size, struct guest_image *asked,
		       struct complaint *c)
{
	return guest_check_memory(size, c) ?:
	       guest_elf_parse(image, len, size - SHIMOS_SHARED_SIZE, asked, c);
}

int spumone_rt_check(const void *image, u64 len, u64 size, struct complaint *c)
{
	struct guest_image asked;

	return guest_check(image, len, size, &asked, c);
}
EXPORT_SYMBOL_GPL(spumone_rt_check);

/**
 * guest_make() - an RTOS that can be entered
 * @g: somebody has it, and it does not run
 * @rt: its memory and image
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int guest_make(struct spumone_guest *g, const struct spumone_rt *rt, struct complaint *c)
{
	struct guest_image asked;
	int ret = guest_check(rt->image, rt->len, rt->size, &asked, c);

	if (ret)
		return ret;
	INIT_LIST_HEAD(&g->tables.pages);
	g->size = rt->size;
	g->memory = rt->memory;
	g->hidden = rt->hidden;
	g->chunks = 0;
	ret = guest_map(g, &asked);
	if (!ret) {
		guest_fill(g, rt, &asked);
		ret = area_show(g) ?: record_show(g, rt);
	}
	if (!ret)
		return 0;
	guest_free(g);
	return shimos_refuse(c, -ENOMEM, "the host has no memory left for page tables");
}

/**
 * guest_free() - give back what guest_make() has allocated
 * @g: does not run
 *
 * Context: may sleep.
 */
void guest_free(struct spumone_guest *g)
{
	spumone_arch_free_tables(&g->tables);
}
