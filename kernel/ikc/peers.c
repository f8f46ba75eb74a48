// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of the other kernels: who is up, where their doorbells are, what
 * memory and CPUs are theirs.  And what follows from it alone: ringing them, holding
 * their memory.
 */
#include <linux/ctype.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "local.h"

struct ikc_peer {
	u32 bells;
	u32 page;			/* the larger of its pages and ours */
	u32 cpus;
	u64 cpu[IKC_MAX_CPUS];		/* hardware ids; none for the host */
	u64 bell;			/* of one that shares a CPU of the host's; else 0 */
	u64 rung[IKC_MAX_BELLS];	/* bells that have been found to be its own */
	u32 ranges;
	u32 lasting;			/* of these, from the first: they stay as long as it runs */
	struct ikc_range range[IKC_MAX_RANGES];
};

u32 ikc_peer_lives[IKC_MAX_KERNELS];
static struct ikc_peer ikc_peers[IKC_MAX_KERNELS];
/* Guards both; written under ikc_peers_mutex as well. */
static DEFINE_RAW_SPINLOCK(ikc_peers_lock);
static u32 ikc_peers_bits;		/* bitmap of those with a life; under ikc_peers_mutex */
static DEFINE_RAW_SPINLOCK(ikc_holds_lock);
static u32 ikc_hold_count[IKC_MAX_KERNELS];	/* ikc_holds_lock */
static u32 ikc_events_seen;		/* ikc_peers_looking() only; a hint to others */
static struct work_struct ikc_look_work;

/* ---- asking ---- */

u32 ikc_peers_up(void)
{
	return READ_ONCE(ikc_peers_bits);
}

u32 ikc_peer_page(unsigned int kernel)
{
	return max_t(u32, READ_ONCE(ikc_peers[kernel].page), PAGE_SIZE);
}

int ikc_check_peer(unsigned int kernel)
{
	if (!ikc_attached())
		return -ENODEV;
	if (kernel >= IKC_MAX_KERNELS || kernel == ikc_self.number)
		return -EINVAL;
	if (ikc_peer_is_up(kernel))
		return 0;
	return READ_ONCE(ikc_facts(kernel)->state) == IKC_ABSENT ? -ENXIO : -EHOSTDOWN;
}

bool ikc_kernel_ready(unsigned int kernel)
{
	return !ikc_check_peer(kernel);
}
EXPORT_SYMBOL_GPL(ikc_kernel_ready);

bool ikc_kernel_stuck(unsigned int kernel)
{
	return ikc_attached() && kernel < IKC_MAX_KERNELS &&
	       READ_ONCE(ikc_facts(kernel)->state) == IKC_STUCK;
}
EXPORT_SYMBOL_GPL(ikc_kernel_stuck);

static bool ikc_range_touches(const struct ikc_range *range, u64 start, u64 size)
{
	return start < range->start + range->size && range->start < start + size;
}

/* The end of the range that it has this address in, or 0. */
static u64 ikc_peer_has_until(const struct ikc_peer *peer, u64 at)
{
	u32 i;

	for (i = 0; i < peer->ranges; i++)
		if (at >= peer->range[i].start && at - peer->range[i].start < peer->range[i].size)
			return peer->range[i].start + peer->range[i].size;
	return 0;
}

/* Ranges may touch, and what is asked about may lie across the seam. */
static bool ikc_peer_has(const struct ikc_peer *peer, u64 start, u64 size)
{
	u64 at = start, end;

	while (at < start + size) {
		end = ikc_peer_has_until(peer, at);
		if (end <= at)
			return false;
		at = end;
	}
	return true;
}

/*
 * A partition's memory is what KLoader gave it.  The host's is all RAM that is
 * no partition's; a kernel knows that its own and its peers' are not.
 */
bool ikc_peer_owns(unsigned int kernel, u64 start, u64 size)
{
	unsigned long flags;
	unsigned int k;
	bool owns;
	u32 i;

	if (!size || start + size < start)
		return false;
	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	owns = ikc_peer_has(&ikc_peers[kernel], start, size);
	for (k = 1; !kernel && k < IKC_MAX_KERNELS; k++)
		for (i = 0; i < ikc_peers[k].ranges; i++)
			owns &= !ikc_range_touches(&ikc_peers[k].range[i], start, size);
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	return owns;
}
EXPORT_SYMBOL_GPL(ikc_peer_owns);

unsigned int ikc_peer_ranges(unsigned int kernel, struct ikc_range range[IKC_MAX_RANGES],
			     unsigned int *lasting)
{
	unsigned int ranges = 0;
	unsigned long flags;

	if (lasting)
		*lasting = 0;
	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	if (kernel < IKC_MAX_KERNELS) {
		ranges = ikc_peers[kernel].ranges;
		if (lasting)
			*lasting = ikc_peers[kernel].lasting;
		memcpy(range, ikc_peers[kernel].range, ranges * sizeof(*range));
	}
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	return ranges;
}
EXPORT_SYMBOL_GPL(ikc_peer_ranges);

void ikc_kernel_name(unsigned int kernel, char name[IKC_NAME_LEN])
{
	unsigned int i = 0;

	if (ikc_attached() && kernel < IKC_MAX_KERNELS)
		for (; i < IKC_NAME_LEN - 1; i++) {
			/* it may change while we look */
			char ch = READ_ONCE(ikc_facts(kernel)->name[i]);

			if (!ch)
				break;
			name[i] = isascii(ch) && isprint(ch) ? ch : '?';
		}
	memset(name + i, 0, IKC_NAME_LEN - i);
}
EXPORT_SYMBOL_GPL(ikc_kernel_name);

unsigned int ikc_kernel_cpus(unsigned int kernel)
{
	/* which of its CPUs the host lends is not in the table */
	if (!ikc_attached() || !kernel || kernel >= IKC_MAX_KERNELS)
		return 0;
	return min_t(u32, READ_ONCE(ikc_facts(kernel)->cpus), IKC_MAX_CPUS);
}
EXPORT_SYMBOL_GPL(ikc_kernel_cpus);

static bool ikc_kernel_has_flag(unsigned int kernel, u32 flag)
{
	return ikc_attached() && kernel < IKC_MAX_KERNELS &&
	       READ_ONCE(ikc_facts(kernel)->flags) & flag;
}

bool ikc_kernel_is_guarded(unsigned int kernel)
{
	return ikc_kernel_has_flag(kernel, IKC_FACT_GUARDED);
}
EXPORT_SYMBOL_GPL(ikc_kernel_is_guarded);

bool ikc_kernel_is_confined(unsigned int kernel)
{
	return ikc_kernel_has_flag(kernel, IKC_FACT_CONFINED);
}
EXPORT_SYMBOL_GPL(ikc_kernel_is_confined);

/* ---- holding memory ---- */

static void ikc_change_hold(unsigned int kernel, int by)
{
	struct ikc_kernel *me = ikc_entry(ikc_self.number);
	u32 *count = &ikc_hold_count[kernel];
	unsigned long flags;

	raw_spin_lock_irqsave(&ikc_holds_lock, flags);
	*count += by;
	WRITE_ONCE(me->holds, *count ? me->holds | BIT(kernel) :
				       me->holds & ~BIT(kernel));
	raw_spin_unlock_irqrestore(&ikc_holds_lock, flags);
}

bool ikc_holds(unsigned int kernel)
{
	return READ_ONCE(ikc_hold_count[kernel]);
}

int ikc_hold(unsigned int kernel)
{
	int ret = ikc_check_peer(kernel);
	u32 life;
	bool up;

	if (ret)
		return ret;
	life = ikc_peer_life(kernel);
	ikc_change_hold(kernel, 1);
	smp_mb();	/* pairs with the one in ikc_host_wait_unheld() */
	up = READ_ONCE(ikc_facts(kernel)->state) == IKC_UP;
	smp_rmb();	/* pairs with host.c: the life in which it is up comes first */
	if (up && READ_ONCE(ikc_facts(kernel)->life) == life)
		return 0;
	ikc_unhold(kernel);
	return -EHOSTDOWN;
}
EXPORT_SYMBOL_GPL(ikc_hold);

void ikc_unhold(unsigned int kernel)
{
	/* who waits for it sees nothing of it used after that; a full barrier */
	smp_mb();
	ikc_change_hold(kernel, -1);
	ikc_poke(0);
}
EXPORT_SYMBOL_GPL(ikc_unhold);

/* ---- ringing ---- */

/* Does the table give @kernel this CPU? */
static bool ikc_facts_have_cpu(unsigned int kernel, u64 cpu)
{
	const struct ikc_facts *facts = ikc_facts(kernel);
	u32 cpus = min_t(u32, READ_ONCE(facts->cpus), IKC_MAX_CPUS), i;

	if (READ_ONCE(facts->state) == IKC_ABSENT)
		return false;
	for (i = 0; i < cpus; i++)
		if (READ_ONCE(facts->cpu[i]) == cpu)
			return true;
	return false;
}

/* A partition's CPUs are what KLoader gave it; the host's are no partition's. */
static bool ikc_peer_has_cpu(unsigned int kernel, u64 cpu)
{
	const struct ikc_peer *peer = &ikc_peers[kernel];
	bool has = !kernel;
	unsigned int k;
	u32 i;

	lockdep_assert_held(&ikc_peers_lock);
	for (i = 0; i < peer->cpus; i++)
		has |= peer->cpu[i] == cpu;
	for (k = 1; !kernel && k < IKC_MAX_KERNELS; k++)
		has &= !ikc_facts_have_cpu(k, cpu);
	return has;
}

/* A bell that this kernel has not rung before: is it the peer's, and harmless? */
static bool ikc_peer_check_bell(unsigned int kernel, unsigned int bell, u64 place)
{
	struct ikc_peer *peer = &ikc_peers[kernel];
	unsigned long flags;
	bool good;

	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	good = bell < peer->bells &&
	       ikc_arch_bell_valid(place) &&
	       ikc_peer_has_cpu(kernel, SHIMOS_BELL_CPU(place));
	if (good)
		WRITE_ONCE(peer->rung[bell], place);
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	return good;
}

/* The host says where the bell of one is that shares a CPU with it. */
static bool ikc_peer_ring_shared(unsigned int kernel)
{
	u64 place;

	/* pairs with ikc_peer_move_bell(): then nobody rings it where it was any more */
	rcu_read_lock();
	place = READ_ONCE(ikc_peers[kernel].bell);
	if (place)
		ikc_arch_bell_ring(place);
	rcu_read_unlock();
	return place;
}

static void ikc_peer_ring_for(unsigned int kernel, unsigned int queue)
{
	u32 bells = READ_ONCE(ikc_peers[kernel].bells), bell;
	u64 place;

	if (!bells || ikc_peer_ring_shared(kernel))
		return;
	bell = ikc_bell_index(queue, bells);
	place = READ_ONCE(ikc_entry(kernel)->bell[bell]);
	if (place & SHIMOS_BELL_READY &&
	    (place == READ_ONCE(ikc_peers[kernel].rung[bell]) ||
	     ikc_peer_check_bell(kernel, bell, place)))
		ikc_arch_bell_ring(place);
}

void ikc_peer_ring(unsigned int kernel)
{
	ikc_peer_ring_for(kernel, 0);
}

void ikc_ring_queues(unsigned int kernel, u64 queues, unsigned int queue)
{
	/* a full barrier; pairs with the one in ikc_bell_moved() */
	ikc_fetch_or64(&ikc_entry(kernel)->pending[ikc_self.number].queues, queues);
	ikc_peer_ring_for(kernel, queue);
}

void ikc_peers_look(void)
{
	if (ikc_attached() && READ_ONCE(ikc_entry(ikc_self.number)->events) !=
	    READ_ONCE(ikc_events_seen))
		schedule_work(&ikc_look_work);
}

void ikc_peers_looking(void)
{
	WRITE_ONCE(ikc_events_seen, READ_ONCE(ikc_entry(ikc_self.number)->events));
	/* pairs with ikc_poke(): what is counted later makes the work run again */
	smp_mb();
}

void ikc_poke(unsigned int kernel)
{
	/* who sees the count sees the reason; pairs with ikc_peers_looking() */
	smp_mb__before_atomic();
	atomic_inc((atomic_t *)&ikc_entry(kernel)->events);
	if (kernel == ikc_self.number)
		ikc_peers_look();
	else
		ikc_peer_ring(kernel);
}

void ikc_poke_all(void)
{
	unsigned int kernel;

	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		if (READ_ONCE(ikc_entry(kernel)->ready))
			ikc_poke(kernel);
}

void ikc_peers_flush(void)
{
	schedule_work(&ikc_look_work);
	flush_work(&ikc_look_work);
}

/* ---- learning ---- */

/* What was found of bells may be wrong now: CPUs change hands. */
static void ikc_peers_doubt(void)
{
	unsigned int kernel;

	lockdep_assert_held(&ikc_peers_lock);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		memset(ikc_peers[kernel].rung, 0, sizeof(ikc_peers[kernel].rung));
}

/* Programs of both map whole pages; what cannot be is not believed. */
static u32 ikc_larger_page(u32 page)
{
	return is_power_of_2(page) && page <= IKC_ALLOC_MAX ? max_t(u32, page, PAGE_SIZE) :
							      PAGE_SIZE;
}

static u64 ikc_peer_layers_bell(u64 place)
{
	return ikc_arch_bell_is_layers(place) ? place : 0;
}

/**
 * ikc_peer_move_bell() - one that shares a CPU with the host shares another
 * @kernel: which
 * @place: a SHIMOS_BELL of the layer
 *
 * Context: may sleep.  On return nobody of this kernel rings it where it was.
 */
void ikc_peer_move_bell(unsigned int kernel, u64 place)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	/* one that nobody has learned of yet is learned of with its new bell */
	if (ikc_peers[kernel].bell)
		WRITE_ONCE(ikc_peers[kernel].bell, ikc_peer_layers_bell(place));
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	synchronize_rcu_expedited();
}

static void ikc_peer_learn_memory(struct ikc_peer *peer, const struct ikc_facts *facts)
{
	u32 i;

	lockdep_assert_held(&ikc_peers_lock);
	peer->ranges = min_t(u32, READ_ONCE(facts->ranges), IKC_MAX_RANGES);
	peer->lasting = min_t(u32, READ_ONCE(facts->lasting), peer->ranges);
	for (i = 0; i < peer->ranges; i++) {
		peer->range[i].start = READ_ONCE(facts->range[i].start);
		peer->range[i].size = READ_ONCE(facts->range[i].size);
	}
}

void ikc_peers_resized(void)
{
	unsigned long flags;
	unsigned int kernel;

	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++) {
		if (!ikc_peer_life(kernel) && kernel != ikc_self.number)
			continue;
		raw_spin_lock_irqsave(&ikc_peers_lock, flags);
		ikc_peer_learn_memory(&ikc_peers[kernel], ikc_facts(kernel));
		raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	}
}

void ikc_peers_learn(unsigned int kernel, u32 life)
{
	const struct ikc_facts *facts = ikc_facts(kernel);
	struct ikc_peer *peer = &ikc_peers[kernel];
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	ikc_peers_doubt();
	peer->cpus = min_t(u32, READ_ONCE(facts->cpus), IKC_MAX_CPUS);
	for (i = 0; i < peer->cpus; i++)
		peer->cpu[i] = READ_ONCE(facts->cpu[i]);
	WRITE_ONCE(peer->bell, ikc_peer_layers_bell(READ_ONCE(facts->bell)));
	ikc_peer_learn_memory(peer, facts);
	WRITE_ONCE(peer->page, ikc_larger_page(READ_ONCE(ikc_entry(kernel)->page_size)));
	WRITE_ONCE(peer->bells, min_t(u32, READ_ONCE(ikc_entry(kernel)->bells),
				      IKC_MAX_BELLS));
	WRITE_ONCE(ikc_peer_lives[kernel], life);
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
	if (life)
		WRITE_ONCE(ikc_peers_bits, ikc_peers_bits | BIT(kernel));
}

void ikc_peers_forget(unsigned int kernel)
{
	unsigned long flags;

	WRITE_ONCE(ikc_peers_bits, ikc_peers_bits & ~BIT(kernel));
	raw_spin_lock_irqsave(&ikc_peers_lock, flags);
	ikc_peers_doubt();
	WRITE_ONCE(ikc_peer_lives[kernel], 0);
	memset(&ikc_peers[kernel], 0, sizeof(ikc_peers[kernel]));
	raw_spin_unlock_irqrestore(&ikc_peers_lock, flags);
}

/* What KLoader says of this kernel itself: its memory is no other's. */
void ikc_peers_init(work_func_t look)
{
	INIT_WORK(&ikc_look_work, look);
	ikc_peers_learn(ikc_self.number, 0);
}

/* Nobody is looking any more, nor will. */
void ikc_peers_exit(void)
{
	cancel_work_sync(&ikc_look_work);
}
