// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for partitions, taken from the running host and given back to it.
 *
 * alloc_contig_range() empties a range by moving what is in it; it wants to be
 * told which range.  We walk the zones from the top, skip what plainly cannot
 * be moved, and try.  One range is best for the partition; when there is none,
 * several smaller ones do.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page_ref.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/workqueue.h>
#include <shimos/compat.h>

#include "kloader.h"

#define ALIGN_PFN	(MEMORY_ALIGN >> PAGE_SHIFT)
#define PART_PFN	(SZ_64M >> PAGE_SHIFT)	/* least for one worker */
/* above the buddy allocator's blocks, which large pages make larger */
#define PART_ALIGN_PFN	max_t(unsigned long, SZ_16M >> PAGE_SHIFT, pageblock_nr_pages)
#define SMALLEST	SZ_32M		/* of several ranges */
#define FIRST_SMALLEST	SZ_64M		/* the one with the kernel in it */
#define HOST_KEEPS	SZ_128M		/* available memory the host is left */

/* Could the page be moved out of the way?  A guess: it may change at once. */
static bool memory_may_move(struct page *page)
{
	if (PageReserved(page))
		return false;
	if (!page_count(page))
		return true;			/* free, or part of a larger one */
	return PageLRU(page) || compat_page_movable(page);
}

/* First pfn in [start, end) that stands in the way, or end. */
static unsigned long memory_first_obstacle(struct zone *zone, unsigned long start,
					   unsigned long end)
{
	unsigned long pfn;

	for (pfn = start; pfn < end; pfn++) {
		struct page *page = pfn_to_online_page(pfn);

		if (!page || page_zone(page) != zone || !memory_may_move(page))
			return pfn;
		if (!(pfn & 0xffff))
			cond_resched();
	}
	return end;
}

/*
 * What is emptied by one call, each of which waits for all CPUs (lru_cache_disable(), in
 * the emulator 10 ms), and cleared without a pause, for the kernel takes none by itself.  A
 * CPU that is busy for long with it keeps others from going off, as all have to stop
 * for that; and a stock 6.12 whose CPU stands like that for long may find its fair
 * server awake and warn of a "Dying CPU not properly vacated".
 */
#define CHUNK_PFN	((unsigned long)SZ_16M >> PAGE_SHIFT)

/* Somebody may hold a page for a moment; then the same chunk can be had soon after. */
#define CHUNK_TRIES	5
#define CHUNK_PAUSE_MS	2

/* A part of a range, emptied by one of several workers. */
struct part {
	struct work_struct work;
	unsigned long start, end;	/* pfn */
	unsigned long *taken;		/* a bit for each of its chunks */
	unsigned long obstacle;		/* chunk that could not be emptied, or end */
	bool all;			/* or only chunks with something in them */
	int *failed;			/* of the whole range: no other part need go on */
};

/*
 * alloc_contig_range() gives pages one by one, and to free them so takes the most of a
 * partition's end.  As one block of the buddy allocator only its first page is counted.
 */
static void memory_free_block(unsigned long start, unsigned int order)
{
	struct page *first = pfn_to_page(start);
	unsigned long count = 1UL << order, i;

	for (i = 1; i < count; i++)
		if (!page_ref_freeze(first + i, 1))
			break;
	if (i == count) {
		__free_pages(first, order);
		return;
	}
	/* somebody looks at this one: it goes when they let go of it */
	while (--i)
		page_ref_unfreeze(first + i, 1);
	free_contig_range(start, count);
}

static void memory_free(unsigned long start, unsigned long end)
{
	unsigned int order;

	for (; start < end; start += 1UL << order) {
		order = min3(ilog2(MAX_ORDER_NR_PAGES), (int)__ffs(start), ilog2(end - start));
		memory_free_block(start, order);
		cond_resched();
	}
}

static int memory_take_chunk(unsigned long start, unsigned long end)
{
	int ret, tries;

	for (tries = 1; ; tries++) {
		ret = alloc_contig_range(start, end, MIGRATE_MOVABLE, GFP_KERNEL | __GFP_NOWARN);
		if (ret != -EBUSY || tries == CHUNK_TRIES)
			return ret;
		msleep(CHUNK_PAUSE_MS);
	}
}

/* Nothing is in it that would have to be moved. */
static bool memory_is_free(unsigned long start, unsigned long end)
{
	for (; start < end; start++)
		if (page_count(pfn_to_page(start)))
			return false;
	return true;
}

static void memory_take_part(struct work_struct *work)
{
	struct part *part = container_of(work, struct part, work);
	unsigned long at, end, chunk = 0;
	int ret;

	for (at = part->start; at < part->end; at = end, chunk++) {
		end = min(at + CHUNK_PFN, part->end);
		if (test_bit(chunk, part->taken) || (!part->all && memory_is_free(at, end)))
			continue;
		if (READ_ONCE(*part->failed))
			return;
		ret = memory_take_chunk(at, end);
		if (ret) {
			part->obstacle = at;
			WRITE_ONCE(*part->failed, ret);
			return;
		}
		__set_bit(chunk, part->taken);
		cond_resched();
	}
}

static void memory_take_parts(struct part *part, unsigned int parts, bool all)
{
	unsigned int i;

	for (i = 0; i < parts; i++) {
		part[i].all = all;
		queue_work(compat_system_dfl_wq, &part[i].work);
	}
	for (i = 0; i < parts; i++)
		flush_work(&part[i].work);
}

static void memory_free_part(const struct part *part)
{
	unsigned long at, end, chunk = 0;

	for (at = part->start; at < part->end; at = end, chunk++) {
		end = min(at + CHUNK_PFN, part->end);
		if (test_bit(chunk, part->taken))
			memory_free(at, end);
	}
}

/*
 * Parts meet where no free block of the buddy allocator can lie across, so that the workers do
 * not get into each other's way.
 */
static int memory_divide(struct part *part, unsigned int parts, unsigned long start,
			 unsigned long count, int *failed)
{
	unsigned long end = start + count, at = start;
	unsigned int i;

	for (i = 0; i < parts; i++) {
		part[i].start = at;
		at = i + 1 < parts ? ALIGN(start + count / parts * (i + 1), PART_ALIGN_PFN)
				   : end;
		part[i].end = at;
		part[i].obstacle = at;
		part[i].failed = failed;
		part[i].taken = bitmap_zalloc(DIV_ROUND_UP(at - part[i].start, CHUNK_PFN),
					      GFP_KERNEL);
		if (!part[i].taken)
			return -ENOMEM;
		INIT_WORK(&part[i].work, memory_take_part);
	}
	return 0;
}

/*
 * alloc_contig_range() on all CPUs: most of its time goes into clearing the
 * pages (init_on_alloc).  What has something in it goes first, for only that
 * can fail, and nothing has been cleared for nothing then.  @obstacle gets the
 * lowest pfn at which it is known to have failed, if it is: no range that is
 * as large lies between two of them.
 */
static int memory_take_range(unsigned long start, unsigned long count, unsigned long *obstacle)
{
	unsigned int i, parts = clamp_t(unsigned long, count / PART_PFN, 1,
					num_online_cpus());
	struct part *part = kcalloc(parts, sizeof(*part), GFP_KERNEL);
	int ret, failed = 0;

	if (!part)
		return -ENOMEM;
	ret = memory_divide(part, parts, start, count, &failed);
	if (!ret) {
		memory_take_parts(part, parts, false);
		if (!failed)
			memory_take_parts(part, parts, true);
		ret = failed;
		for (i = 0; ret && i < parts; i++) {
			memory_free_part(&part[i]);
			if (part[i].obstacle != part[i].end)
				*obstacle = min(*obstacle, part[i].obstacle);
		}
	}
	for (i = 0; i < parts; i++)
		bitmap_free(part[i].taken);
	kfree(part);
	return ret;
}

/* Take one range of @size bytes in @zone, at a multiple of @align.  -ENOSPC if there is none. */
static int memory_take_in_zone(struct zone *zone, u64 size, u64 align, struct shimos_range *out)
{
	unsigned long count = size >> PAGE_SHIFT, align_pfn = align >> PAGE_SHIFT;
	unsigned long low = ALIGN(zone->zone_start_pfn, align_pfn);
	unsigned long start, bad;
	int ret;

	if (zone_end_pfn(zone) < low + count)
		return -ENOSPC;
	start = ALIGN_DOWN(zone_end_pfn(zone) - count, align_pfn);
	for (;;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		bad = memory_first_obstacle(zone, start, start + count);
		if (bad == start + count) {
			ret = memory_take_range(start, count, &bad);
			if (!ret) {
				out->start = PFN_PHYS(start);
				out->size = size;
				return 0;
			}
			if (bad == start + count)
				return ret;
		}
		/* go on just below the obstacle */
		if (bad < low + count)
			return -ENOSPC;
		start = ALIGN_DOWN(bad - count, align_pfn);
	}
}

/* All that devices with few address lines can reach, on machines that may have some. */
static bool memory_is_scarce(const struct zone *zone)
{
	return zone_end_pfn(zone) <= PFN_DOWN(SZ_16M);
}

static int memory_take_on_node(int nid, u64 size, u64 align, struct shimos_range *out)
{
	int i, ret;

	for (i = MAX_NR_ZONES - 1; i >= 0; i--) {
		struct zone *zone = &NODE_DATA(nid)->node_zones[i];

		if (!populated_zone(zone))
			continue;
		if (memory_is_scarce(zone))
			continue;
		ret = memory_take_in_zone(zone, size, align, out);
		if (ret != -ENOSPC)
			return ret;
	}
	return -ENOSPC;
}

/* The node of the CPU that boots, which has not been checked yet. */
static int memory_near(const struct partition *p)
{
	u32 cpu = p->cpus[0];
	int nid = cpu < nr_cpu_ids && cpu_present(cpu) ? cpu_to_node(cpu) : NUMA_NO_NODE;

	if (p->node != NUMA_NO_NODE)
		return p->node;
	return nid != NUMA_NO_NODE && node_online(nid) ? nid : first_online_node;
}

/* Memory near its CPUs if there is any, for all that it does goes there. */
static int memory_take_anywhere(const struct partition *p, u64 size, u64 align,
				struct shimos_range *out)
{
	int near = memory_near(p);
	int nid, ret = memory_take_on_node(near, size, align, out);

	if (p->node != NUMA_NO_NODE)
		return ret;
	for_each_online_node(nid) {
		if (ret != -ENOSPC)
			break;
		if (nid != near)
			ret = memory_take_on_node(nid, size, align, out);
	}
	return ret;
}

static int memory_by_size(const void *a, const void *b)
{
	const struct shimos_range *x = a, *y = b;

	return x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

/* Halve the size wanted whenever there is no range as large. */
static int memory_take_pieces(struct partition *p, u64 size, struct complaint *c)
{
	u64 want = size, left = size;
	u64 least = p->kind->one_range ? size : FIRST_SMALLEST;
	int ret;

	while (left) {
		if (p->range_count == SHIMOS_MAX_RANGES)
			return shimos_refuse(c, -ENOSPC,
					     "the host's memory is too fragmented: %llu MiB of %llu were found in %u ranges; take less, or boot the host with movablecore=%lluM",
					     (size - left) >> 20, size >> 20,
					     SHIMOS_MAX_RANGES, size >> 20);
		want = min(want, left);
		ret = memory_take_anywhere(p, want, MEMORY_ALIGN, &p->ranges[p->range_count]);
		if (!ret) {
			p->range_count++;
			left -= want;
			least = SMALLEST;
			continue;
		}
		if (ret != -ENOSPC)
			return ret;
		if (want <= least && p->node != NUMA_NO_NODE)
			return shimos_refuse(c, -ENOSPC,
					     "node %d has no more than %llu MiB of %llu that can be moved: take less, or do not name a node",
					     p->node, (size - left) >> 20, size >> 20);
		if (want <= least)
			return shimos_refuse(c, -ENOSPC,
					     "the host's memory is too fragmented: no movable range of %llu MiB is left after %llu MiB of %llu; take less, or boot the host with movablecore=%lluM",
					     want >> 20, (size - left) >> 20, size >> 20,
					     size >> 20);
		want = max(ALIGN(want / 2, MEMORY_ALIGN), min(least, left));
	}
	sort(p->ranges, p->range_count, sizeof(p->ranges[0]), memory_by_size, NULL);
	return 0;
}

static int memory_check_host(u64 size, struct complaint *c)
{
	u64 available = (u64)si_mem_available() << PAGE_SHIFT;

	if (size <= available && available - size >= HOST_KEEPS)
		return 0;
	return shimos_refuse(c, -ENOMEM,
			     "%llu MiB asked, but the host has %llu MiB available and keeps %u MiB for itself",
			     size >> 20, available >> 20, HOST_KEEPS >> 20);
}

/**
 * memory_take() - find @size bytes for a partition
 * @p: has none
 * @size: bytes, a multiple of MEMORY_ALIGN
 * @c: why not
 *
 * p->ranges gets what was found, the largest first.
 *
 * Context: may sleep for seconds; a fatal signal ends it.
 * Return: 0 or an error: nothing was taken.
 */
int memory_take(struct partition *p, u64 size, struct complaint *c)
{
	int ret;

	if (p->node != NUMA_NO_NODE && (p->node >= nr_node_ids || !node_online(p->node)))
		return shimos_refuse(c, -EINVAL, "this machine has no node %u", p->node);
	if (!size || !IS_ALIGNED(size, MEMORY_ALIGN))
		return shimos_refuse(c, -EINVAL, "memory must be a multiple of %u MiB",
				     MEMORY_ALIGN >> 20);
	if (size < p->kind->memory_min)
		return shimos_refuse(c, -EINVAL, "%llu MiB are too little: give at least %llu MiB",
				     size >> 20, p->kind->memory_min >> 20);
	if (size > p->kind->memory_max)
		return shimos_refuse(c, -EINVAL, "%llu MiB are too much: give at most %llu MiB",
				     size >> 20, p->kind->memory_max >> 20);
	ret = memory_check_host(size, c);
	if (ret)
		return ret;
	ret = memory_take_pieces(p, size, c);
	if (ret)
		memory_give_back(p);
	else
		p->memory = size;
	return ret;
}

/**
 * memory_give_back() - give its memory back to the host
 * @p: does not run, and nobody reads its memory
 *
 * Context: may sleep.
 */
void memory_give_back(struct partition *p)
{
	u32 i;

	for (i = 0; i < p->range_count; i++)
		memory_free(PHYS_PFN(p->ranges[i].start),
			    PHYS_PFN(p->ranges[i].start + p->ranges[i].size));
	p->range_count = 0;
}

/**
 * memory_take_more() - find one more range for a partition that runs
 * @p: has some
 * @size: the most, in bytes: a multiple of @step
 * @step: the range begins at a multiple of it, and is one
 * @out: gets it, perhaps smaller; not the partition's yet
 * @c: why not
 *
 * Context: may sleep for seconds; a fatal signal ends it.
 * Return: 0 or an error: nothing was taken.
 */
int memory_take_more(const struct partition *p, u64 size, u64 step, struct shimos_range *out,
		     struct complaint *c)
{
	int ret = memory_check_host(size, c);

	if (ret)
		return ret;
	for (;;) {
		ret = memory_take_anywhere(p, size, step, out);
		if (ret != -ENOSPC)
			return ret;
		if (size == step)
			return shimos_refuse(c, ret,
					     "the host's memory is too fragmented: no movable range of %llu MiB, at a multiple of that, is left; boot the host with movablecore=SIZE",
					     step >> 20);
		size = ALIGN(size / 2, step);
	}
}

/**
 * memory_give_range_back() - give one range back to the host
 * @range: nobody's any more
 *
 * Context: may sleep.
 */
void memory_give_range_back(const struct shimos_range *range)
{
	memory_free(PHYS_PFN(range->start), PHYS_PFN(range->start + range->size));
}
