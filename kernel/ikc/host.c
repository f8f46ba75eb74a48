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
#include <shimos/ikc_host.h>

#include "local.h"

#define IKC_CHUNK_ORDER	(IKC_CHUNK_SHIFT - PAGE_SHIFT)

/* A life that ended and whose blocks have not been taken back yet. */
struct ikc_dead {
	struct list_head link;		/* ikc_peers_mutex */
	u32 owner;
};

/*
 * The truth about all kernels, and what is in the area is a copy of it: any kernel
 * can write there.  Changed under ikc_peers_mutex.
 */
static struct ikc_facts ikc_host_facts[IKC_MAX_KERNELS];
static u32 ikc_host_running;	/* bitmap of partitions; written under ikc_peers_mutex */
static struct page *ikc_host_chunk[IKC_MAX_CHUNKS];	/* ikc_peers_mutex */
static LIST_HEAD(ikc_host_dead);			/* ikc_peers_mutex */
static void (*ikc_host_share)(unsigned int chunk, u64 physical);	/* set before there is one */

u64 ikc_host_area(void)
{
	return page_to_phys(ikc_host_chunk[0]);
}
EXPORT_SYMBOL_GPL(ikc_host_area);

/* ---- the table ---- */

/* Let the others read what is true of a kernel; its state comes last.  */
static void ikc_host_publish(struct ikc_area *area, u32 number)
{
	const struct ikc_facts *from = &ikc_host_facts[number];
	struct ikc_facts *to = &area->facts[number];
	u32 i;

	memcpy(to->name, from->name, sizeof(to->name));
	WRITE_ONCE(to->life, from->life);
	WRITE_ONCE(to->incarnation, from->incarnation);
	WRITE_ONCE(to->cpus, from->cpus);
	WRITE_ONCE(to->ranges, from->ranges);
	WRITE_ONCE(to->lasting, from->lasting);
	WRITE_ONCE(to->flags, from->flags);
	WRITE_ONCE(to->bell, from->bell);
	for (i = 0; i < IKC_MAX_CPUS; i++)
		WRITE_ONCE(to->cpu[i], from->cpu[i]);
	memcpy(to->range, from->range, sizeof(to->range));
	/* pairs with ikc_hold(), and the acquire of `ready`, which comes later still */
	smp_wmb();
	WRITE_ONCE(to->state, from->state);
}

static void ikc_host_set_state(u32 number, u32 state)
{
	lockdep_assert_held(&ikc_peers_mutex);
	/* pairs with the read barrier in ikc_hold(), on other CPUs of the host */
	smp_store_release(&ikc_host_facts[number].state, state);
	ikc_host_publish(ikc_self.area, number);
}

/* ---- chunks ---- */

static int ikc_host_new_chunk(unsigned int n, unsigned int reserved)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
					__GFP_COMP, IKC_CHUNK_ORDER);

	if (!page)
		return -ENOMEM;
	ikc_chunk_init(page_address(page), reserved);
	ikc_host_chunk[n] = page;
	ikc_host_share(n, page_to_phys(page));
	return 0;
}

static void ikc_host_grow(void)
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
	/* one that could not be mapped is there already */
	if ((!ikc_host_chunk[n] && ikc_host_new_chunk(n, 1)) ||
	    ikc_area_map(page_to_phys(ikc_host_chunk[n]))) {
		pr_warn_ratelimited("no memory for another %u MiB of shared area\n",
				    IKC_CHUNK_SIZE >> 20);
		return;
	}
	WRITE_ONCE(area->chunk[n], page_to_phys(ikc_host_chunk[n]));
	smp_wmb();	/* pairs with the read barrier in ikc_area_follow() */
	WRITE_ONCE(area->chunks, n + 1);
	ikc_poke_all();
}

/* A chunk may be used when every kernel that is up can follow an offset into it. */
static void ikc_host_update_usable(void)
{
	struct ikc_area *area = ikc_self.area;
	u32 usable = ikc_self.heap.mapped;
	unsigned int kernel;

	for (kernel = 1; kernel < IKC_MAX_KERNELS; kernel++)
		if (READ_ONCE(area->kernel[kernel].ready))
			/* pairs with the release in ikc_area_follow() */
			usable = min(usable, smp_load_acquire(&area->kernel[kernel].chunks));
	if (usable > ikc_self.heap.chunks) {
		WRITE_ONCE(area->usable, usable);
		ikc_area_use(usable);
		ikc_poke_all();
	}
}

/* ---- the dead ---- */

/* Does a living kernel still write into a ring of a dead one? */
static bool ikc_host_is_attached(u32 owner)
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

static void ikc_host_reclaim(void)
{
	struct ikc_dead *dead, *next;

	list_for_each_entry_safe(dead, next, &ikc_host_dead, link) {
		if (ikc_host_is_attached(dead->owner))
			continue;	/* who lets go will poke us */
		atomic64_add(ikc_heap_reclaim(&ikc_self.heap, dead->owner),
			     &ikc_self.reclaimed);
		list_del(&dead->link);
		kfree(dead);
	}
}

/* Nothing of what a dead kernel had set up may be taken for its next life's. */
static void ikc_host_clear_ports(unsigned int kernel)
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

static void ikc_host_look(void)
{
	ikc_host_reclaim();
	ikc_host_update_usable();
	if (READ_ONCE(ikc_self.area->wanted))
		ikc_host_grow();
}

/* ---- kernels ---- */

static u64 ikc_gap_behind(const struct ikc_range *range)
{
	return range[1].start - range[0].start - range[0].size;
}

/*
 * Ranges ascend.  If they are more than fit, the smallest hole counts as RAM: a few
 * pages that the firmware keeps, not the registers of devices below 4 GiB.
 */
static void ikc_host_add_ram(struct ikc_facts *facts, u64 start, u64 size)
{
	struct ikc_range range[IKC_MAX_RANGES + 1];
	u32 n = facts->ranges, i, at = 0;

	if (n < IKC_MAX_RANGES) {
		facts->range[facts->ranges++] = (struct ikc_range){ start, size };
		return;
	}
	memcpy(range, facts->range, sizeof(facts->range));
	range[n] = (struct ikc_range){ start, size };
	for (i = 1; i < n; i++)
		if (ikc_gap_behind(&range[i]) < ikc_gap_behind(&range[at]))
			at = i;
	range[at].size = range[at + 1].start + range[at + 1].size - range[at].start;
	memmove(&range[at + 1], &range[at + 2], (n - at - 1) * sizeof(*range));
	memcpy(facts->range, range, sizeof(facts->range));
}

static int ikc_host_add_ram_resource(struct resource *ram, void *facts)
{
	ikc_host_add_ram(facts, ram->start, resource_size(ram));
	return 0;
}

/* A new kernel has the number: nothing of the one before may be taken for its. */
static struct ikc_facts *ikc_host_enter(struct ikc_area *area, u32 number, const char *name)
{
	struct ikc_facts *facts = &ikc_host_facts[number];

	memset(&area->kernel[number], 0, sizeof(area->kernel[number]));
	*facts = (struct ikc_facts) {
		.life = facts->life,	/* goes on for a number used again */
		.incarnation = facts->incarnation + 1,
	};
	strscpy(facts->name, name, sizeof(facts->name));
	return facts;
}

static int ikc_host_free_number(void)
{
	int number;

	for (number = 1; number < IKC_MAX_KERNELS; number++)
		if (ikc_host_facts[number].state == IKC_ABSENT)
			return number;
	return -ENOSPC;
}

int ikc_host_add(const char *name, const struct ikc_range *range, u32 ranges,
		 const u64 *cpu, u32 cpus, u64 bell, bool guarded)
{
	struct ikc_facts *facts;
	int number;

	if (cpus > IKC_MAX_CPUS)
		return -EINVAL;
	mutex_lock(&ikc_peers_mutex);
	number = ikc_host_free_number();
	if (number > 0) {
		facts = ikc_host_enter(ikc_self.area, number, name);
		facts->cpus = cpus;
		memcpy(facts->cpu, cpu, cpus * sizeof(*cpu));
		facts->bell = bell;
		facts->flags = guarded ? IKC_FACT_GUARDED : 0;
		while (ranges--)
			ikc_host_add_ram(facts, range[ranges].start, range[ranges].size);
		facts->lasting = facts->ranges;
		ikc_host_set_state(number, IKC_DOWN);
	}
	mutex_unlock(&ikc_peers_mutex);
	if (number > 0)
		ikc_peers_flush();	/* the host at least has noticed it */
	return number;
}
EXPORT_SYMBOL_GPL(ikc_host_add);

void ikc_host_move_bell(u32 number, u64 bell)
{
	mutex_lock(&ikc_peers_mutex);
	WRITE_ONCE(ikc_host_facts[number].bell, bell);
	ikc_host_publish(ikc_self.area, number);
	mutex_unlock(&ikc_peers_mutex);
	ikc_peer_move_bell(number, bell);
}
EXPORT_SYMBOL_GPL(ikc_host_move_bell);

void ikc_host_confine(u32 number)
{
	mutex_lock(&ikc_peers_mutex);
	ikc_host_facts[number].flags |= IKC_FACT_CONFINED;
	ikc_host_publish(ikc_self.area, number);
	mutex_unlock(&ikc_peers_mutex);
}
EXPORT_SYMBOL_GPL(ikc_host_confine);

/* A kernel that runs and does not go by this change yet, or -1. */
static int ikc_host_unaware(u32 resizes)
{
	u32 up = READ_ONCE(ikc_host_running) | BIT(0), kernel;

	for (; up; up &= up - 1) {
		kernel = __ffs(up);
		if (!READ_ONCE(ikc_entry(kernel)->ready))
			continue;	/* one that joins begins with it */
		/* pairs with the release in ikc_look_at_memory() */
		if (smp_load_acquire(&ikc_entry(kernel)->resizes) != resizes)
			return kernel;
	}
	return -1;
}

int ikc_host_resize(u32 number, const struct ikc_range *range, u32 ranges, unsigned int timeout_ms)
{
	struct ikc_facts *facts = &ikc_host_facts[number];
	u32 resizes;

	if (ranges > IKC_MAX_RANGES || ranges < facts->lasting)
		return -EINVAL;
	mutex_lock(&ikc_peers_mutex);
	memcpy(facts->range, range, ranges * sizeof(*range));
	facts->ranges = ranges;
	ikc_host_publish(ikc_self.area, number);
	resizes = READ_ONCE(ikc_self.area->resizes) + 1;
	/* pairs with ikc_look_at_memory() */
	smp_store_release(&ikc_self.area->resizes, resizes);
	mutex_unlock(&ikc_peers_mutex);
	ikc_poke_all();
	ikc_peers_flush();
	wait_event_timeout(ikc_changed, ikc_host_unaware(resizes) < 0, msecs_to_jiffies(timeout_ms));
	return ikc_host_unaware(resizes) < 0 ? 0 : -ETIMEDOUT;
}
EXPORT_SYMBOL_GPL(ikc_host_resize);

void ikc_host_remove(u32 number)
{
	mutex_lock(&ikc_peers_mutex);
	ikc_host_set_state(number, IKC_ABSENT);
	mutex_unlock(&ikc_peers_mutex);
	ikc_poke_all();
	ikc_peers_flush();	/* before the number can be another's */
}
EXPORT_SYMBOL_GPL(ikc_host_remove);

u32 ikc_host_up(u32 number)
{
	struct ikc_kernel *entry = ikc_entry(number);
	struct ikc_facts *facts = &ikc_host_facts[number];
	u32 life;

	mutex_lock(&ikc_peers_mutex);
	life = facts->life % U16_MAX + 1;
	WRITE_ONCE(facts->life, life);
	/* it begins with all that it has */
	facts->lasting = facts->ranges;
	ikc_host_clear_ports(number);
	entry->ready = entry->chunks = entry->bells = entry->holds = 0;
	memset(entry->bell, 0, sizeof(entry->bell));
	WRITE_ONCE(ikc_host_running, ikc_host_running | BIT(number));
	ikc_host_set_state(number, IKC_UP);
	mutex_unlock(&ikc_peers_mutex);
	return life;
}
EXPORT_SYMBOL_GPL(ikc_host_up);

void ikc_host_down(u32 number, bool stuck)
{
	struct ikc_dead *dead = kmalloc(sizeof(*dead), GFP_KERNEL | __GFP_NOFAIL);

	mutex_lock(&ikc_peers_mutex);
	ikc_host_set_state(number, stuck ? IKC_STUCK : IKC_DOWN);
	WRITE_ONCE(ikc_entry(number)->ready, 0);
	if (stuck) {
		kfree(dead);
	} else {
		WRITE_ONCE(ikc_host_running, ikc_host_running & ~BIT(number));
		ikc_host_clear_ports(number);
		dead->owner = ikc_owner(number, ikc_host_facts[number].life);
		list_add_tail(&dead->link, &ikc_host_dead);
	}
	mutex_unlock(&ikc_peers_mutex);
	ikc_poke_all();
	ikc_peers_flush();
}
EXPORT_SYMBOL_GPL(ikc_host_down);

/* Who runs is for us to say, whatever a partition gone wild has written into the table. */
int ikc_host_held(u32 number)
{
	u32 up = READ_ONCE(ikc_host_running);

	for (; up; up &= up - 1)
		if (READ_ONCE(ikc_entry(__ffs(up))->holds) & BIT(number))
			return __ffs(up);
	return -1;
}
EXPORT_SYMBOL_GPL(ikc_host_held);

/* A kernel that runs and holds memory of @number, or -1. */
static int ikc_host_holder(u32 number)
{
	return ikc_holds(number) ? 0 : ikc_host_held(number);
}

int ikc_host_wait_unheld(u32 number, unsigned int timeout_ms)
{
	smp_mb();	/* pairs with the one in ikc_hold(): it is seen down, or held */
	wait_event_timeout(ikc_changed, ikc_host_holder(number) < 0, msecs_to_jiffies(timeout_ms));
	return ikc_host_holder(number);
}
EXPORT_SYMBOL_GPL(ikc_host_wait_unheld);

/* ---- the area itself ---- */

static void ikc_host_free_chunks(void)
{
	unsigned int i;

	for (i = 0; i < IKC_MAX_CHUNKS; i++) {
		if (ikc_host_chunk[i])
			__free_pages(ikc_host_chunk[i], IKC_CHUNK_ORDER);
		ikc_host_chunk[i] = NULL;
	}
}

int ikc_host_init(struct module *owner, void (*share)(unsigned int chunk, u64 physical))
{
	struct ikc_facts *host;
	struct ikc_area *area;
	int ret;

	BUILD_BUG_ON(sizeof(struct ikc_chunk) > IKC_SPAN_SIZE);
	BUILD_BUG_ON(sizeof(struct ikc_area) > (IKC_PORTS_SPAN - IKC_AREA_SPAN) * IKC_SPAN_SIZE);
	BUILD_BUG_ON(sizeof(struct ikc_port) * IKC_MAX_KERNELS * IKC_MAX_KERNELS * IKC_QUEUES >
		     (IKC_RESERVED_SPANS - IKC_PORTS_SPAN) * IKC_SPAN_SIZE);

	ikc_host_share = share;
	ret = ikc_host_new_chunk(0, IKC_RESERVED_SPANS);
	if (ret)
		return ret;
	area = page_address(ikc_host_chunk[0]) + IKC_AREA_SPAN * IKC_SPAN_SIZE;
	area->version = IKC_VERSION;
	area->size = sizeof(*area);
	area->chunk[0] = page_to_phys(ikc_host_chunk[0]);
	area->chunks = area->usable = 1;
	host = ikc_host_enter(area, 0, IKC_HOST_NAME);
	walk_iomem_res_desc(IORES_DESC_NONE, IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY, 0,
			    -1, host, ikc_host_add_ram_resource);
	host->life = 1;
	host->state = IKC_UP;
	ikc_host_publish(area, 0);
	area->magic = IKC_MAGIC;
	ikc_look_also(ikc_host_look);
	ret = ikc_attach_as(page_to_phys(ikc_host_chunk[0]), 0, 1, ikc_host_facts, owner);
	if (ret)
		ikc_host_free_chunks();
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_host_init);

void ikc_host_exit(void)
{
	ikc_detach();
	ikc_host_free_chunks();
}
EXPORT_SYMBOL_GPL(ikc_host_exit);
