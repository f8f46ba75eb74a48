// SPDX-License-Identifier: GPL-2.0
/*
 * The user's memory as this kernel reaches it, page transfer without mapping per
 * request (SHIMOS 2009, section 3.2.2).
 *
 * On the host a partition's memory has been taken from the page allocator: it is in
 * the direct map and has pages.  In a partition that owns a device, the user's memory
 * is not RAM of this kernel: it is added as device memory, which gives it both, when
 * a user's first driver starts, and stays until this module is unloaded.
 */
#include <linux/io.h>
#include <linux/memory_hotplug.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <shimos/compat.h>

#include "backend.h"

#define GRANULE	SZ_2M		/* in which memory can be added */
#define KEEP	SZ_32M		/* that adding leaves to this kernel */
/* Of memory whose struct pages fill a page: no two additions may share one. */
#define SEAM	(PAGE_SIZE / sizeof(struct page) * PAGE_SIZE)

struct added {
	struct list_head link;		/* added_mutex */
	struct dev_pagemap map;
	u64 start, end;
};

static LIST_HEAD(added_list);
static DEFINE_MUTEX(added_mutex);

static bool user_memory_is_owned(const struct user_memory *memory, u64 addr, u64 len)
{
	const struct ikc_range *r;
	unsigned int i;

	for (i = 0; i < memory->ranges; i++) {
		r = &memory->range[i];
		if (addr >= r->start && addr - r->start < r->size &&
		    len <= r->size - (addr - r->start))
			return true;
	}
	/* the host's, or what it has got while it runs */
	return ikc_peer_owns(memory->kernel, addr, len);
}

void *user_memory_at(const struct user_memory *memory, u64 addr, u64 len)
{
	if (!len || !user_memory_is_owned(memory, addr, len))
		return NULL;
	return phys_to_virt(addr);
}

/* ---- adding memory that is not this kernel's ---- */

/* The direct map has a place for a part of all physical addresses only. */
static bool user_memory_is_in_reach(u64 start, u64 end)
{
	struct range reach = mhp_get_pluggable_range(true);

	return start >= reach.start && end - 1 <= reach.end;
}

int user_memory_check(u32 kernel, struct complaint *c)
{
	struct ikc_range range[IKC_MAX_RANGES];
	unsigned int n;

	if (ikc_kernel_is_guarded(ikc_self_number()))
		return shimos_refuse(c, -EPERM,
				     "this kernel is guarded: it cannot reach the memory of those who would use the device; run it without --guarded");
	if (ikc_kernel_is_confined(ikc_self_number()))
		return shimos_refuse(c, -EPERM,
				     "an IOMMU keeps this kernel's PCI devices from the memory of those who would use the device: run it with --pci ADDRESS,unsafe");
	if (!ikc_self_number())
		return 0;
	if (!IS_ENABLED(CONFIG_ZONE_DEVICE))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "this kernel was built without CONFIG_ZONE_DEVICE and cannot reach the memory of those who would use the device: share it from the host, or boot another kernel here");
	if (SEAM > GRANULE)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "this kernel has pages of %lu KiB and cannot reach the memory of those who would use the device: share it from the host, or boot a kernel with pages of 4 KiB here",
				     PAGE_SIZE >> 10);
	for (n = ikc_peer_ranges(kernel, range, NULL); n--;)
		if (!user_memory_is_in_reach(range[n].start, range[n].start + range[n].size))
			return shimos_refuse(c, -ERANGE,
					     "the memory of those who would use the device, at %#llx, lies outside of what this kernel can map: share it from the host",
					     range[n].start);
	return 0;
}

/* What is added costs memory here: a struct page for each of its pages. */
static bool user_memory_is_affordable(u64 bytes)
{
	u64 needed = (bytes >> PAGE_SHIFT) * sizeof(struct page) + KEEP;
	u64 available = (u64)si_mem_available() << PAGE_SHIFT;

	if (needed <= available)
		return true;
	pr_warn("to reach %llu MiB of another kernel's memory this one needs %llu MiB, and has %llu available\n",
		bytes >> 20, needed >> 20, available >> 20);
	return false;
}

static int user_memory_add(u64 start, u64 end)
{
	struct added *a;
	void *addr;

	if (!user_memory_is_in_reach(start, end)) {
		pr_warn("memory of another kernel at %#llx, %llu MiB, lies outside of what this one can map\n",
			start, (end - start) >> 20);
		return -ERANGE;
	}
	if (!user_memory_is_affordable(end - start))
		return -ENOMEM;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->start = start;
	a->end = end;
	a->map.type = MEMORY_DEVICE_GENERIC;
	a->map.range.start = start;
	a->map.range.end = end - 1;
	a->map.nr_range = 1;
	addr = compat_memremap_pages(&a->map, numa_node_id());
	if (IS_ERR(addr)) {
		pr_warn("memory of another kernel at %#llx, %llu MiB, cannot be reached: error %ld\n",
			start, (end - start) >> 20, PTR_ERR(addr));
		kfree(a);
		return PTR_ERR(addr);
	}
	list_add_tail(&a->link, &added_list);
	return 0;
}

/*
 * What stands in the way in [@start, @end): the first piece that has been added or is
 * this kernel's own.
 */
static void user_memory_find_obstacle(u64 start, u64 end, u64 *from, u64 *to)
{
	struct ikc_range own[IKC_MAX_RANGES];
	unsigned int n = ikc_peer_ranges(ikc_self_number(), own, NULL), i;
	struct added *a;

	*from = *to = end;
	for (i = 0; i < n; i++) {
		u64 low = ALIGN_DOWN(own[i].start, GRANULE);
		u64 high = ALIGN(own[i].start + own[i].size, GRANULE);

		if (low < *from && high > start) {
			*from = low;
			*to = high;
		}
	}
	list_for_each_entry(a, &added_list, link)
		if (a->start < *from && a->end > start) {
			*from = a->start;
			*to = a->end;
		}
}

/* Add what is neither there already nor this kernel's own. */
static int user_memory_add_missing(u64 start, u64 end)
{
	u64 from, to;
	int ret = 0;

	start = ALIGN_DOWN(start, GRANULE);
	end = ALIGN(end, GRANULE);
	if (!start)
		ret = user_memory_arch_map_start(&start);
	while (start < end && !ret) {
		user_memory_find_obstacle(start, end, &from, &to);
		if (from > start)
			ret = user_memory_add(start, from);
		start = to;
	}
	return ret;
}

static int user_memory_add_all(const struct ikc_range *range, unsigned int ranges)
{
	unsigned int i;
	int ret = 0;

	mutex_lock(&added_mutex);
	for (i = 0; i < ranges && !ret; i++)
		ret = user_memory_add_missing(range[i].start, range[i].start + range[i].size);
	mutex_unlock(&added_mutex);
	return ret;
}

void user_memory_exit(void)
{
	struct added *a, *next;

	list_for_each_entry_safe(a, next, &added_list, link) {
		compat_memunmap_pages(&a->map);
		kfree(a);
	}
}

/* ---- a device's view ---- */

/* Join ranges that touch: buffers may lie across the seam.  Returns how many are left. */
static unsigned int user_memory_merge(struct ikc_range *range, unsigned int ranges)
{
	unsigned int i = 0, j;

	while (i < ranges) {
		for (j = 0; j < ranges; j++)
			if (range[j].start == range[i].start + range[i].size && j != i)
				break;
		if (j == ranges) {
			i++;
			continue;
		}
		range[i].size += range[j].size;
		range[j] = range[--ranges];
		i = 0;
	}
	return ranges;
}

int user_memory_open(struct user_memory *memory, u32 kernel)
{
	unsigned int ranges, lasting;
	int ret = ikc_hold(kernel);

	if (ret)
		return ret;
	memory->kernel = kernel;
	ranges = ikc_peer_ranges(kernel, memory->range, &lasting);
	/* while it is held here, nobody but the host lets it have more, or take from it */
	ret = ikc_self_number() ? user_memory_add_all(memory->range, ranges) : 0;
	/* of the host's memory parts are partitions' */
	memory->ranges = kernel ? user_memory_merge(memory->range, lasting) : 0;
	if (ret)
		ikc_unhold(kernel);
	return ret;
}

void user_memory_close(struct user_memory *memory)
{
	ikc_unhold(memory->kernel);
}
