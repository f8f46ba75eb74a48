// SPDX-License-Identifier: GPL-2.0
/*
 * The host's part: it makes the area, enters and removes kernels, adds chunks,
 * and cleans up behind kernels that died.
 *
 * What a dead kernel owned is taken back by the owner's name in its tags, as soon
 * as no living kernel writes into one of its rings any more.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "local.h"

#define CHUNK_ORDER	(IKC_CHUNK_SHIFT - PAGE_SHIFT)

/* A life that ended and whose blocks have not been taken back yet. */
struct dead {
	struct list_head link;		/* ikc_peers_mutex */
	u32 owner;
};

/* Our copy of what the table says: what is taken back goes by it. */
static u32 lives[IKC_MAX_KERNELS];			/* ikc_peers_mutex */
static u32 running;		/* bitmap of partitions; written under ikc_peers_mutex */
static struct page *chunk_pages[IKC_MAX_CHUNKS];	/* ikc_peers_mutex */
static LIST_HEAD(dead_list);				/* ikc_peers_mutex */

u64 ikc_host_area(void)
{
	return page_to_phys(chunk_pages[0]);
}
EXPORT_SYMBOL_GPL(ikc_host_area);

/* ---- chunks ---- */

static struct page *new_chunk(unsigned int reserved)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
					__GFP_COMP, CHUNK_ORDER);

	if (page)
		ikc_chunk_init(page_address(page), reserved);
	return page;
}

static void grow(void)
{
	struct ikc_area *area = ikc_self.area;
	u32 n = ikc_self.heap.mapped;

	WRITE_ONCE(area->wanted, 0);
	/* what was added before has to come into use first */
	if (ikc_self.heap.chunks < n)
		return;
	if (n == IKC_MAX_CHUNKS) {
		pr_warn_once("the shared area has its largest size, %u MiB\n",
			     n * (IKC_CHUNK_SIZE >> 20));
		return;
	}
	chunk_pages[n] = new_chunk(1);
	if (!chunk_pages[n]) {
		pr_warn_ratelimited("no memory for another %u MiB of shared area\n",
				    IKC_CHUNK_SIZE >> 20);
		return;
	}
	WRITE_ONCE(area->chunk[n], page_to_phys(chunk_pages[n]));
	smp_wmb();	/* pairs with the read barrier in ikc_area_update() */
	WRITE_ONCE(area->chunks, n + 1);
	ikc_area_update();
	ikc_poke_all();
}

/* A chunk may be used when every kernel that is up can follow an offset into it. */
static void update_usable(void)
{
	struct ikc_area *area = ikc_self.area;
	u32 usable = ikc_self.heap.mapped;
	unsigned int kernel;

	for (kernel = 1; kernel < IKC_MAX_KERNELS; kernel++)
		if (READ_ONCE(area->kernel[kernel].ready))
			/* pairs with the release in ikc_area_update() */
			usable = min(usable, smp_load_acquire(&area->kernel[kernel].chunks));
	if (usable > area->usable) {
		WRITE_ONCE(area->usable, usable);
		ikc_area_update();
		ikc_poke_all();
	}
}

/* ---- the dead ---- */

/* Does a living kernel still write into a ring of a dead one? */
static bool is_attached(u32 owner)
{
	unsigned int receiver = owner >> 8 & 0xff, sender, queue;

	for (sender = 0; sender < IKC_MAX_KERNELS; sender++)
		for (queue = 0; queue < IKC_QUEUES; queue++) {
			u32 offset = READ_ONCE(ikc_port(receiver, sender, queue)->attached);

			if (offset && ikc_heap_owner(&ikc_self.heap, offset) == owner)
				return true;
		}
	return false;
}

static void reclaim(void)
{
	struct dead *dead, *next;

	list_for_each_entry_safe(dead, next, &dead_list, link) {
		if (is_attached(dead->owner))
			continue;	/* who lets go will poke us */
		atomic64_add(ikc_heap_reclaim(&ikc_self.heap, dead->owner),
			     &ikc_self.reclaimed);
		list_del(&dead->link);
		kfree(dead);
	}
}

/* Nothing of what a dead kernel had set up may be taken for its next life's. */
static void clear_ports(unsigned int kernel)
{
	unsigned int other, queue;

	for (other = 0; other < IKC_MAX_KERNELS; other++) {
		for (queue = 0; queue < IKC_QUEUES; queue++) {
			WRITE_ONCE(ikc_port(kernel, other, queue)->ring, 0);
			WRITE_ONCE(ikc_port(other, kernel, queue)->attached, 0);
		}
		WRITE_ONCE(ikc_entry(kernel)->pending[other].queues, 0);
		WRITE_ONCE(ikc_entry(other)->pending[kernel].queues, 0);
	}
}

void ikc_host_update(void)
{
	reclaim();
	update_usable();
	if (READ_ONCE(ikc_self.area->wanted))
		grow();
}

/* ---- kernels ---- */

static u64 gap_behind(const struct ikc_range *range)
{
	return range[1].start - range[0].start - range[0].size;
}

/*
 * Ranges ascend.  If they are more than fit, the smallest hole counts as RAM: a few
 * pages that the firmware keeps, not the registers of devices below 4 GiB.
 */
static void add_ram(struct ikc_kernel *entry, u64 start, u64 size)
{
	struct ikc_range range[IKC_MAX_RANGES + 1];
	u32 n = entry->ranges, i, at = 0;

	if (n < IKC_MAX_RANGES) {
		entry->range[entry->ranges++] = (struct ikc_range){ start, size };
		return;
	}
	memcpy(range, entry->range, sizeof(entry->range));
	range[n] = (struct ikc_range){ start, size };
	for (i = 1; i < n; i++)
		if (gap_behind(&range[i]) < gap_behind(&range[at]))
			at = i;
	range[at].size = range[at + 1].start + range[at + 1].size - range[at].start;
	memmove(&range[at + 1], &range[at + 2], (n - at - 1) * sizeof(*range));
	memcpy(entry->range, range, sizeof(entry->range));
}

static int add_ram_resource(struct resource *ram, void *entry)
{
	add_ram(entry, ram->start, resource_size(ram));
	return 0;
}

static void set_cpus(struct ikc_kernel *entry, bool (*owns_cpu)(void *, u32), void *context)
{
	u32 id;

	memset(entry->cpus, 0, sizeof(entry->cpus));
	for (id = 0; id < 256; id++)
		if (owns_cpu(context, id))
			entry->cpus[id / 64] |= BIT_ULL(id % 64);
}

/* Which of its CPUs the host lends is not ours to follow: partitions check. */
static bool any_cpu(void *context, u32 id)
{
	return true;
}

static void enter(struct ikc_area *area, u32 number, const char *name)
{
	struct ikc_kernel *entry = &area->kernel[number];

	memset(entry, 0, sizeof(*entry));
	strscpy(entry->name, name, sizeof(entry->name));
	entry->state = IKC_DOWN;
}

int ikc_host_add(const char *name, const struct ikc_range *range, u32 ranges,
		 bool (*owns_cpu)(void *context, u32 hardware_id), void *context)
{
	struct ikc_area *area = ikc_self.area;
	int number;

	mutex_lock(&ikc_peers_mutex);
	for (number = 1; number < IKC_MAX_KERNELS; number++)
		if (area->kernel[number].state == IKC_ABSENT)
			break;
	if (number == IKC_MAX_KERNELS) {
		number = -ENOSPC;
	} else {
		struct ikc_kernel *entry = &area->kernel[number];

		enter(area, number, name);
		set_cpus(entry, owns_cpu, context);
		while (ranges--)
			add_ram(entry, range[ranges].start, range[ranges].size);
	}
	mutex_unlock(&ikc_peers_mutex);
	if (number > 0)
		ikc_peers_flush();	/* the host at least has noticed it */
	return number;
}
EXPORT_SYMBOL_GPL(ikc_host_add);

void ikc_host_remove(u32 number)
{
	mutex_lock(&ikc_peers_mutex);
	WRITE_ONCE(ikc_self.area->kernel[number].state, IKC_ABSENT);
	mutex_unlock(&ikc_peers_mutex);
	ikc_poke_all();
	ikc_peers_flush();	/* before the number can be another's */
}
EXPORT_SYMBOL_GPL(ikc_host_remove);

u32 ikc_host_up(u32 number)
{
	struct ikc_kernel *entry = &ikc_self.area->kernel[number];
	u32 life;

	mutex_lock(&ikc_peers_mutex);
	life = lives[number] % U16_MAX + 1;	/* goes on for a number used again */
	lives[number] = life;
	clear_ports(number);
	entry->ready = entry->chunks = entry->bells = entry->holds = 0;
	memset(entry->bell, 0, sizeof(entry->bell));
	entry->life = life;
	WRITE_ONCE(running, running | BIT(number));
	WRITE_ONCE(entry->state, IKC_UP);
	mutex_unlock(&ikc_peers_mutex);
	return life;
}
EXPORT_SYMBOL_GPL(ikc_host_up);

void ikc_host_down(u32 number, bool stuck)
{
	struct ikc_kernel *entry = &ikc_self.area->kernel[number];
	struct dead *dead = kmalloc(sizeof(*dead), GFP_KERNEL | __GFP_NOFAIL);

	mutex_lock(&ikc_peers_mutex);
	WRITE_ONCE(entry->state, IKC_DOWN);
	WRITE_ONCE(entry->ready, 0);
	if (stuck) {
		kfree(dead);
	} else {
		WRITE_ONCE(running, running & ~BIT(number));
		clear_ports(number);
		dead->owner = ikc_owner(number, lives[number]);
		list_add_tail(&dead->link, &dead_list);
	}
	mutex_unlock(&ikc_peers_mutex);
	ikc_poke_all();
	ikc_peers_flush();
}
EXPORT_SYMBOL_GPL(ikc_host_down);

/*
 * A kernel that runs and holds memory of @number, or -1.  Who runs is for us to say,
 * whatever a partition gone wild has written into the table.
 */
static int holder_of(u32 number)
{
	u32 up = READ_ONCE(running);

	if (ikc_holds(number))
		return 0;
	for (; up; up &= up - 1)
		if (READ_ONCE(ikc_entry(__ffs(up))->holds) & BIT(number))
			return __ffs(up);
	return -1;
}

int ikc_host_wait_unheld(u32 number, unsigned int timeout_ms)
{
	smp_mb();	/* pairs with the one in ikc_hold(): it is seen down, or held */
	wait_event_timeout(ikc_changed, holder_of(number) < 0, msecs_to_jiffies(timeout_ms));
	return holder_of(number);
}
EXPORT_SYMBOL_GPL(ikc_host_wait_unheld);

/* ---- the area itself ---- */

static void free_chunks(void)
{
	unsigned int i;

	for (i = 0; i < IKC_MAX_CHUNKS; i++) {
		if (chunk_pages[i])
			__free_pages(chunk_pages[i], CHUNK_ORDER);
		chunk_pages[i] = NULL;
	}
}

int ikc_host_init(struct module *owner)
{
	struct ikc_area *area;
	int ret;

	BUILD_BUG_ON(sizeof(struct ikc_chunk) > IKC_SPAN_SIZE);
	BUILD_BUG_ON(sizeof(struct ikc_area) > (IKC_PORTS_SPAN - IKC_AREA_SPAN) * IKC_SPAN_SIZE);
	BUILD_BUG_ON(sizeof(struct ikc_port) * IKC_MAX_KERNELS * IKC_MAX_KERNELS * IKC_QUEUES >
		     (IKC_RESERVED_SPANS - IKC_PORTS_SPAN) * IKC_SPAN_SIZE);

	chunk_pages[0] = new_chunk(IKC_RESERVED_SPANS);
	if (!chunk_pages[0])
		return -ENOMEM;
	area = page_address(chunk_pages[0]) + IKC_AREA_SPAN * IKC_SPAN_SIZE;
	area->version = IKC_VERSION;
	area->size = sizeof(*area);
	area->chunk[0] = page_to_phys(chunk_pages[0]);
	area->chunks = area->usable = 1;
	enter(area, 0, "host");
	set_cpus(&area->kernel[0], any_cpu, NULL);
	walk_iomem_res_desc(IORES_DESC_NONE, IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY, 0,
			    -1, &area->kernel[0], add_ram_resource);
	area->kernel[0].life = 1;
	area->kernel[0].state = IKC_UP;
	area->magic = IKC_MAGIC;
	ret = ikc_attach(page_to_phys(chunk_pages[0]), 0, 1, owner);
	if (ret)
		free_chunks();
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_host_init);

void ikc_host_exit(void)
{
	ikc_detach();
	free_chunks();
}
EXPORT_SYMBOL_GPL(ikc_host_exit);
