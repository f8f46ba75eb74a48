// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that starts has its MMU and caches off: it sees memory, and not what this kernel's
 * caches hold (Documentation/arch/arm64/booting.rst).  What it reads so is written back
 * first, and no copy stays that could be written over what it writes.
 */
#include <linux/bitfield.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>

#include "arm64.h"

#define CTR_DMINLINE	GENMASK(19, 16)	/* binary logarithm of its words */

/**
 * arm64_cache_clean() - write what caches hold of some memory back, and forget it there
 * @start: where
 * @size: bytes
 *
 * Context: any.
 */
void arm64_cache_clean(const void *start, u64 size)
{
	u64 line = 4UL << FIELD_GET(CTR_DMINLINE, read_sysreg(ctr_el0));
	u64 at = ALIGN_DOWN((u64)start, line), end = (u64)start + size;

	for (; at < end; at += line)
		asm volatile("dc civac, %0" :: "r"(at) : "memory");
	dsb(sy);
}

/**
 * arm64_cache_forget_code() - no CPU keeps instructions that were there before
 *
 * What was written is clean.
 *
 * Context: any.
 */
void arm64_cache_forget_code(void)
{
	asm volatile("ic ialluis" ::: "memory");
	dsb(ish);
	isb();
}
