// SPDX-License-Identifier: GPL-2.0
/*
 * Pages below 1 MiB, where CPUs start in real mode.  Linux reserves the whole
 * first MiB and uses of it only its own real-mode code, found by the signature
 * at its end; the rest of what the firmware calls RAM is free to use.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <asm/e820/api.h>

#include "x86.h"

#define FIRST_PAGE	0x10		/* below: what BIOSes like to scribble on */
#define LAST_PAGE	0x9e		/* above: EBDA */
#define SIGNATURE	0x65a22c82	/* of arch/x86/realmode/rm/header.S */
#define BLOB_PAGES	16		/* more than real-mode code ever had */

static DECLARE_BITMAP(x86_low_memory_used, LAST_PAGE);
static DEFINE_MUTEX(x86_low_memory_mutex);		/* guards used */

static bool x86_low_memory_is_ram(u64 start, u64 end)
{
	return e820__mapped_any(start, end, E820_TYPE_RAM) &&
	       !e820__mapped_any(start, end, E820_TYPE_RESERVED) &&
	       !e820__mapped_any(start, end, E820_TYPE_ACPI) &&
	       !e820__mapped_any(start, end, E820_TYPE_NVS);
}

static bool x86_low_memory_has_signature(const u32 *page)
{
	unsigned int i;

	for (i = 0; i < PAGE_SIZE / sizeof(*page); i++)
		if (page[i] == SIGNATURE)
			return true;
	return false;
}

/**
 * x86_low_memory_init() - find the pages below 1 MiB that nobody uses
 *
 * Those behind which firmware may look are left alone.
 *
 * Context: may sleep.
 */
void x86_low_memory_init(void)
{
	unsigned int page, first;

	bitmap_fill(x86_low_memory_used, LAST_PAGE);
	for (page = FIRST_PAGE; page < LAST_PAGE; page++)
		if (x86_low_memory_is_ram((u64)page << PAGE_SHIFT, (u64)(page + 1) << PAGE_SHIFT))
			clear_bit(page, x86_low_memory_used);
	for (page = FIRST_PAGE; page < LAST_PAGE; page++) {
		if (!x86_low_memory_has_signature(phys_to_virt((u64)page << PAGE_SHIFT)))
			continue;
		first = page > BLOB_PAGES ? page - BLOB_PAGES : 0;
		bitmap_set(x86_low_memory_used, first, page + 1 - first);
	}
}

/**
 * x86_low_memory_take() - take pages below 1 MiB, one after the other
 * @pages: how many
 *
 * Context: may sleep.
 * Return: the first one's physical address; 0: there are none left.
 */
u64 x86_low_memory_take(unsigned int pages)
{
	unsigned long page;

	mutex_lock(&x86_low_memory_mutex);
	page = bitmap_find_next_zero_area(x86_low_memory_used, LAST_PAGE, FIRST_PAGE, pages, 0);
	if (page < LAST_PAGE)
		bitmap_set(x86_low_memory_used, page, pages);
	mutex_unlock(&x86_low_memory_mutex);
	return page < LAST_PAGE ? page << PAGE_SHIFT : 0;
}

/**
 * x86_low_memory_give_back() - give them back
 * @addr: of x86_low_memory_take()
 * @pages: as many
 *
 * Context: may sleep.
 */
void x86_low_memory_give_back(u64 addr, unsigned int pages)
{
	mutex_lock(&x86_low_memory_mutex);
	bitmap_clear(x86_low_memory_used, addr >> PAGE_SHIFT, pages);
	mutex_unlock(&x86_low_memory_mutex);
}
