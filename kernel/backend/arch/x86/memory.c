// SPDX-License-Identifier: GPL-2.0
/* The direct map of the first MiBs on x86. */
#include <linux/mm.h>
#include <linux/sizes.h>

#include "../../backend.h"

/*
 * A partition has some RAM of its own below 1 MiB, where its CPUs start.  With it
 * came pages for all around, so that nothing can be added there; but the direct map
 * of what has RAM below ends at 1 MiB, in the middle of a table.  Fill that up.
 */
int user_memory_arch_map_start(u64 *start)
{
	unsigned int level;
	pte_t *pte;
	u64 addr;

	for (addr = SZ_1M; addr < SZ_2M; addr += PAGE_SIZE) {
		pte = lookup_address((unsigned long)phys_to_virt(addr), &level);
		if (!pte || level != PG_LEVEL_4K || !pfn_valid(PHYS_PFN(addr)))
			return -EFAULT;
		if (pte_none(*pte))
			set_pte(pte, pfn_pte(PHYS_PFN(addr), PAGE_KERNEL));
	}
	*start = SZ_2M;
	return 0;
}
