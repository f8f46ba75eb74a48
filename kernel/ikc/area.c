// SPDX-License-Identifier: GPL-2.0
/* The shared area as this kernel sees it: which chunks are mapped, and where. */
#include <linux/io.h>
#include <linux/module.h>

#include "local.h"

struct ikc_self ikc_self;
DECLARE_WAIT_QUEUE_HEAD(ikc_changed);
DEFINE_MUTEX(ikc_attach_mutex);
DEFINE_MUTEX(ikc_peers_mutex);

/**
 * ikc_area_map() - map the area's next chunk
 * @physical: its address, as the table says; anything
 *
 * Context: may sleep; ikc_peers_mutex, or nobody else is there yet.
 * Return: 0, -EPROTO or -ENOMEM.
 */
int ikc_area_map(u64 physical)
{
	struct ikc_heap *heap = &ikc_self.heap;
	void *chunk;

	if (!physical || !IS_ALIGNED(physical, IKC_CHUNK_SIZE))
		return -EPROTO;
	chunk = memremap(physical, IKC_CHUNK_SIZE, MEMREMAP_WB);
	if (!chunk)
		return -ENOMEM;
	ikc_self.physical[heap->mapped] = physical;
	heap->chunk[heap->mapped] = chunk;
	/* pairs with the acquire in ikc_heap_mapped() */
	smp_store_release(&heap->mapped, heap->mapped + 1);
	return 0;
}

/**
 * ikc_area_use() - all kernels have mapped so many chunks: use them
 * @chunks: how many
 *
 * Context: ikc_peers_mutex.
 */
void ikc_area_use(u32 chunks)
{
	struct ikc_heap *heap = &ikc_self.heap;

	if (chunks <= heap->chunks)
		return;
	/* pairs with the acquire in ikc_heap_chunks() */
	smp_store_release(&heap->chunks, chunks);
	wake_up_all(&ikc_changed);
}

/**
 * ikc_area_follow() - not on the host: map what it added, use what all have mapped
 *
 * Context: may sleep; ikc_peers_mutex.
 * Return: whether there was something to map, which the host wants to know.
 */
bool ikc_area_follow(void)
{
	struct ikc_area *area = ikc_self.area;
	struct ikc_heap *heap = &ikc_self.heap;
	u32 exist = min_t(u32, READ_ONCE(area->chunks), IKC_MAX_CHUNKS);
	u32 had = heap->mapped;

	while (heap->mapped < exist) {
		smp_rmb();	/* pairs with the host's store of chunks */
		if (ikc_area_map(READ_ONCE(area->chunk[heap->mapped]))) {
			pr_err_once("chunk %u of the shared area cannot be mapped\n",
				    heap->mapped);
			break;
		}
	}
	/* pairs with the acquire in host.c: blocks from there are known here */
	smp_store_release(&ikc_entry(ikc_self.number)->chunks, heap->mapped);
	ikc_area_use(min(READ_ONCE(area->usable), heap->mapped));
	return heap->mapped > had;
}

/**
 * ikc_area_unmap() - the area is gone for this kernel
 *
 * Context: may sleep; nobody uses it.
 */
void ikc_area_unmap(void)
{
	struct ikc_heap *heap = &ikc_self.heap;

	while (heap->mapped)
		memunmap(heap->chunk[--heap->mapped]);
	heap->chunks = 0;
}

int ikc_get(void)
{
	int ret = -ENODEV;

	mutex_lock(&ikc_attach_mutex);
	if (ikc_attached() && try_module_get(ikc_self.owner))
		ret = 0;
	mutex_unlock(&ikc_attach_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_get);

void ikc_put(void)
{
	module_put(ikc_self.owner);
}
EXPORT_SYMBOL_GPL(ikc_put);

int ikc_self_number(void)
{
	return ikc_attached() ? ikc_self.number : -ENODEV;
}
EXPORT_SYMBOL_GPL(ikc_self_number);

u64 ikc_offset(const void *block)
{
	u32 chunks = ikc_heap_mapped(&ikc_self.heap), i;

	for (i = 0; i < chunks; i++) {
		size_t within = block - (void *)ikc_self.heap.chunk[i];

		if (within < IKC_CHUNK_SIZE)
			return ((u64)i << IKC_CHUNK_SHIFT) + within;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(ikc_offset);

void *ikc_pointer(u64 offset)
{
	u64 i = offset >> IKC_CHUNK_SHIFT;

	if (!offset || i >= ikc_heap_mapped(&ikc_self.heap))
		return NULL;
	return (void *)ikc_self.heap.chunk[i] + (offset & (IKC_CHUNK_SIZE - 1));
}
EXPORT_SYMBOL_GPL(ikc_pointer);
