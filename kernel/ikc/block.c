// SPDX-License-Identifier: GPL-2.0
/* Memory to exchange: blocks of the shared area, and pages of other kernels. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/ratelimit.h>

#include "local.h"

/* How long ikc_alloc_wait() gives the host to add memory. */
#define IKC_GROW_TIMEOUT	(2 * HZ)

void *ikc_alloc(size_t size)
{
	u64 offset;

	if (!ikc_attached())
		return NULL;
	if (!size || size > IKC_ALLOC_MAX) {
		atomic64_inc(&ikc_self.too_large);
		pr_warn_ratelimited("ikc_alloc: %zu bytes asked, a block has 1 to %u\n",
				    size, IKC_ALLOC_MAX);
		return NULL;
	}
	offset = ikc_heap_alloc(&ikc_self.heap, size);
	if (offset)
		return ikc_pointer(offset);
	atomic64_inc(&ikc_self.failed);
	if (!READ_ONCE(ikc_self.area->wanted)) {
		WRITE_ONCE(ikc_self.area->wanted, 1);
		ikc_poke(0);
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(ikc_alloc);

/**
 * ikc_alloc_wait() - ikc_alloc() that waits until the host has added memory
 * @size: bytes
 *
 * Context: may sleep.
 * Return: as ikc_alloc().
 */
void *ikc_alloc_wait(size_t size)
{
	void *block = ikc_alloc(size);
	u32 chunks = ikc_self.heap.chunks;

	if (block || size > IKC_ALLOC_MAX)
		return block;
	wait_event_timeout(ikc_changed, ikc_heap_chunks(&ikc_self.heap) != chunks,
			   IKC_GROW_TIMEOUT);
	return ikc_alloc(size);
}

void ikc_free(void *block)
{
	u64 offset;
	int ret;

	if (!block || !ikc_attached())
		return;
	offset = ikc_offset(block);
	ret = offset ? ikc_heap_free(&ikc_self.heap, offset) : -EFAULT;
	if (!ret)
		return;
	atomic64_inc(ret == -EALREADY ? &ikc_self.double_free : &ikc_self.foreign_free);
	pr_warn_ratelimited("ikc_free: refused: %s, called from %pS\n",
			    ret == -EALREADY ? "the block is free already" :
			    ret == -EPERM ? "the block belongs to another kernel" :
			    "that is no block of the shared area",
			    __builtin_return_address(0));
}
EXPORT_SYMBOL_GPL(ikc_free);

void *ikc_map(unsigned int kernel, u64 physical, u32 size)
{
	if (ikc_check_peer(kernel) || !ikc_peer_owns(kernel, physical, size))
		return NULL;
	return memremap(physical, size, MEMREMAP_WB);
}
EXPORT_SYMBOL_GPL(ikc_map);

void ikc_unmap(void *address)
{
	memunmap(address);
}
EXPORT_SYMBOL_GPL(ikc_unmap);
