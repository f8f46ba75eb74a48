// SPDX-License-Identifier: GPL-2.0
/*
 * The shared area as this kernel sees it: joining and leaving, mapping its
 * chunks, allocating from it, and pages of other kernels.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/ratelimit.h>

#include "local.h"

/* How long ikc_alloc_wait() gives the host to add memory. */
#define GROW_TIMEOUT	(2 * HZ)

struct ikc_self ikc_self;
DECLARE_WAIT_QUEUE_HEAD(ikc_changed);
/* Serialises leaving with those who want this kernel to stay. */
static DEFINE_MUTEX(attach_mutex);

/* Map the next chunk. */
static int map_chunk(u64 physical)
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

void ikc_area_update(void)
{
	struct ikc_area *area = ikc_self.area;
	struct ikc_heap *heap = &ikc_self.heap;
	u32 exist = min_t(u32, READ_ONCE(area->chunks), IKC_MAX_CHUNKS);
	u32 usable;

	while (heap->mapped < exist) {
		smp_rmb();	/* pairs with the host's store of chunks */
		if (map_chunk(READ_ONCE(area->chunk[heap->mapped]))) {
			pr_err_once("chunk %u of the shared area cannot be mapped\n",
				    heap->mapped);
			break;
		}
		/* pairs with the acquire in update_usable(): blocks from there are known */
		smp_store_release(&ikc_entry(ikc_self.number)->chunks, heap->mapped);
		ikc_poke(0);
	}
	usable = min(READ_ONCE(area->usable), heap->mapped);
	if (usable > heap->chunks) {
		/* pairs with the acquire in the allocator */
		smp_store_release(&heap->chunks, usable);
		wake_up_all(&ikc_changed);
	}
}

static int check_area(const struct ikc_area *area)
{
	if (area->magic != IKC_MAGIC) {
		pr_err("there is no IKC area where KLoader says\n");
		return -EPROTO;
	}
	if (area->version != IKC_VERSION || area->size != sizeof(*area)) {
		pr_err("the host's IKC area has version %u and %u bytes, this module knows version %u with %zu: install the same release on both sides\n",
		       area->version, area->size, IKC_VERSION, sizeof(*area));
		return -EPROTO;
	}
	return 0;
}

static void unmap_all(void)
{
	struct ikc_heap *heap = &ikc_self.heap;

	while (heap->mapped)
		memunmap(heap->chunk[--heap->mapped]);
	heap->chunks = 0;
}

int ikc_attach(u64 physical, u32 number, u32 life, struct module *owner)
{
	struct ikc_area *area;
	struct ikc_kernel *me;
	void *first;
	int ret;

	if (ikc_self.area)
		return -EBUSY;
	if (number >= IKC_MAX_KERNELS || !life || life > U16_MAX)
		return -EINVAL;
	ret = map_chunk(physical);
	if (ret)
		return ret;
	first = ikc_self.heap.chunk[0];
	area = first + IKC_AREA_SPAN * IKC_SPAN_SIZE;
	ret = check_area(area);
	if (ret) {
		unmap_all();
		return ret;
	}
	ikc_self.owner = owner;
	ikc_self.number = number;
	ikc_self.life = life;
	ikc_self.ports = first + IKC_PORTS_SPAN * IKC_SPAN_SIZE;
	ikc_self.heap.owner = ikc_owner(number, life);

	/* pairs with ikc_attached(): from now on doorbells are heard */
	smp_store_release(&ikc_self.area, area);
	me = ikc_entry(number);
	ikc_peers_init();
	mutex_lock(&ikc_peers_mutex);
	WRITE_ONCE(me->chunks, 1);
	ikc_area_update();
	mutex_unlock(&ikc_peers_mutex);
	ikc_bells_publish();
	WRITE_ONCE(me->version, IKC_VERSION);
	/* pairs with the acquire in peers.c: all of the above holds */
	smp_store_release(&me->ready, life);
	ret = ikc_echo_init();
	if (ret)
		pr_warn("no echo service (error %d): shimos ping will not reach this kernel\n",
			ret);
	ikc_peers_flush();
	ikc_poke_all();
	return 0;
}
EXPORT_SYMBOL_GPL(ikc_attach);

/* All queues and channels are closed.  May sleep. */
void ikc_detach(void)
{
	struct ikc_area *area = ikc_self.area;

	if (!area)
		return;
	ikc_echo_exit();
	mutex_lock(&attach_mutex);
	WRITE_ONCE(ikc_entry(ikc_self.number)->ready, 0);
	ikc_poke_all();
	ikc_peers_exit();
	ikc_tx_exit();
	ikc_rx_exit();
	WRITE_ONCE(ikc_self.area, NULL);
	ikc_bells_quiet();
	ikc_peers_quiet();
	unmap_all();
	mutex_unlock(&attach_mutex);
}
EXPORT_SYMBOL_GPL(ikc_detach);

int ikc_get(void)
{
	int ret = -ENODEV;

	mutex_lock(&attach_mutex);
	if (ikc_attached() && try_module_get(ikc_self.owner))
		ret = 0;
	mutex_unlock(&attach_mutex);
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

/* ---- blocks ---- */

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

void *ikc_alloc_wait(size_t size)
{
	void *block = ikc_alloc(size);
	u32 chunks = ikc_self.heap.chunks;

	if (block || size > IKC_ALLOC_MAX)
		return block;
	wait_event_timeout(ikc_changed, ikc_heap_chunks(&ikc_self.heap) != chunks,
			   GROW_TIMEOUT);
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

/* ---- pages of other kernels ---- */

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
