// SPDX-License-Identifier: GPL-2.0
/*
 * The other kernels: who is up, where their doorbells are, what memory is theirs.
 *
 * Who changes the table or a port counts up the `events` of those concerned and
 * rings; each kernel then compares the table with what it knows.
 */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "local.h"

struct peer {
	u32 life;			/* 0: not up as far as we know */
	u32 bells;
	u64 cpus[4];			/* bitmap of hardware ids */
	u32 ranges;
	struct ikc_range range[IKC_MAX_RANGES];
};

DEFINE_MUTEX(ikc_peers_mutex);

static struct peer peers[IKC_MAX_KERNELS];
/* Guards peers; written under ikc_peers_mutex as well. */
static DEFINE_RAW_SPINLOCK(peers_lock);
static u32 peers_up;			/* bitmap of peers[].life; under ikc_peers_mutex */
static u32 present;			/* bitmap: it exists; under ikc_peers_mutex */
static u32 holds[IKC_MAX_KERNELS];	/* holds_lock */
static DEFINE_RAW_SPINLOCK(holds_lock);
static u32 events_seen;			/* work only; a hint to others */

static void look(struct work_struct *work);
static DECLARE_WORK(look_work, look);

/* ---- asking ---- */

u32 ikc_peers_up(void)
{
	return READ_ONCE(peers_up);
}

u32 ikc_peer_life(unsigned int kernel)
{
	return READ_ONCE(peers[kernel].life);
}

int ikc_check_peer(unsigned int kernel)
{
	struct ikc_kernel *entry;
	u32 life;

	if (!ikc_attached())
		return -ENODEV;
	if (kernel >= IKC_MAX_KERNELS || kernel == ikc_self.number)
		return -EINVAL;
	entry = ikc_entry(kernel);
	life = ikc_peer_life(kernel);
	if (life && READ_ONCE(entry->ready) == life)
		return 0;
	return READ_ONCE(entry->state) == IKC_ABSENT ? -ENXIO : -EHOSTDOWN;
}

bool ikc_kernel_ready(unsigned int kernel)
{
	return !ikc_check_peer(kernel);
}
EXPORT_SYMBOL_GPL(ikc_kernel_ready);

static bool contains(const struct ikc_range *range, u64 start, u64 size)
{
	return start >= range->start && start - range->start < range->size &&
	       size <= range->size - (start - range->start);
}

static bool touches(const struct ikc_range *range, u64 start, u64 size)
{
	return start < range->start + range->size && range->start < start + size;
}

/*
 * A partition's memory is what KLoader gave it.  The host's is all RAM that is
 * no partition's; a kernel knows that its own and its peers' are not.
 */
bool ikc_peer_owns(unsigned int kernel, u64 start, u64 size)
{
	bool owns = false;
	unsigned long flags;
	unsigned int k;
	u32 i;

	if (!size || start + size < start)
		return false;
	raw_spin_lock_irqsave(&peers_lock, flags);
	for (i = 0; i < peers[kernel].ranges; i++)
		owns |= contains(&peers[kernel].range[i], start, size);
	for (k = 1; !kernel && k < IKC_MAX_KERNELS; k++)
		for (i = 0; i < peers[k].ranges; i++)
			owns &= !touches(&peers[k].range[i], start, size);
	raw_spin_unlock_irqrestore(&peers_lock, flags);
	return owns;
}
EXPORT_SYMBOL_GPL(ikc_peer_owns);

unsigned int ikc_peer_ranges(unsigned int kernel, struct ikc_range range[IKC_MAX_RANGES])
{
	unsigned int ranges = 0;
	unsigned long flags;

	raw_spin_lock_irqsave(&peers_lock, flags);
	if (kernel < IKC_MAX_KERNELS) {
		ranges = peers[kernel].ranges;
		memcpy(range, peers[kernel].range, ranges * sizeof(*range));
	}
	raw_spin_unlock_irqrestore(&peers_lock, flags);
	return ranges;
}
EXPORT_SYMBOL_GPL(ikc_peer_ranges);

void ikc_kernel_name(unsigned int kernel, char name[IKC_NAME_LEN])
{
	*name = '\0';
	if (ikc_attached() && kernel < IKC_MAX_KERNELS)
		strscpy(name, ikc_entry(kernel)->name, IKC_NAME_LEN);
}
EXPORT_SYMBOL_GPL(ikc_kernel_name);

unsigned int ikc_kernel_cpus(unsigned int kernel)
{
	unsigned int i, cpus = 0;

	/* which of its CPUs the host lends is not in the table */
	if (!ikc_attached() || !kernel || kernel >= IKC_MAX_KERNELS)
		return 0;
	for (i = 0; i < ARRAY_SIZE(ikc_entry(kernel)->cpus); i++)
		cpus += hweight64(READ_ONCE(ikc_entry(kernel)->cpus[i]));
	return cpus;
}
EXPORT_SYMBOL_GPL(ikc_kernel_cpus);

/* ---- holding memory ---- */

static void change_hold(unsigned int kernel, int by)
{
	struct ikc_kernel *me = ikc_entry(ikc_self.number);
	unsigned long flags;

	raw_spin_lock_irqsave(&holds_lock, flags);
	holds[kernel] += by;
	WRITE_ONCE(me->holds, holds[kernel] ? me->holds | BIT(kernel) :
					      me->holds & ~BIT(kernel));
	raw_spin_unlock_irqrestore(&holds_lock, flags);
}

bool ikc_holds(unsigned int kernel)
{
	return READ_ONCE(holds[kernel]);
}

int ikc_hold(unsigned int kernel)
{
	int ret = ikc_check_peer(kernel);
	u32 life;

	if (ret)
		return ret;
	life = ikc_peer_life(kernel);
	change_hold(kernel, 1);
	smp_mb();	/* pairs with the one in ikc_host_wait_unheld() */
	if (READ_ONCE(ikc_entry(kernel)->state) == IKC_UP &&
	    READ_ONCE(ikc_entry(kernel)->life) == life)
		return 0;
	ikc_unhold(kernel);
	return -EHOSTDOWN;
}
EXPORT_SYMBOL_GPL(ikc_hold);

void ikc_unhold(unsigned int kernel)
{
	/* who waits for it sees nothing of it used after that; a full barrier */
	smp_mb();
	change_hold(kernel, -1);
	ikc_poke(0);
}
EXPORT_SYMBOL_GPL(ikc_unhold);

/* ---- ringing ---- */

static bool ring_bell(unsigned int kernel, unsigned int queue)
{
	struct shimos_bell bell;
	unsigned long flags;
	bool ours = false;
	u32 bells;

	bells = READ_ONCE(peers[kernel].bells);
	if (!bells || !ikc_bell_read(&ikc_entry(kernel)->bell[queue % bells], &bell) ||
	    bell.cpu >= 256)
		return false;
	raw_spin_lock_irqsave(&peers_lock, flags);
	ours = peers[kernel].cpus[bell.cpu / 64] >> bell.cpu % 64 & 1;
	raw_spin_unlock_irqrestore(&peers_lock, flags);
	if (ours)
		ikc_arch_bell_ring(&bell);
	return ours;
}

void ikc_ring_queues(unsigned int kernel, u64 queues, unsigned int queue)
{
	/* a full barrier; pairs with the one in ikc_bell_moved() */
	ikc_fetch_or64(&ikc_entry(kernel)->pending[ikc_self.number].queues, queues);
	ring_bell(kernel, queue);
}

void ikc_peers_look(void)
{
	if (ikc_attached() && READ_ONCE(ikc_entry(ikc_self.number)->events) !=
	    READ_ONCE(events_seen))
		schedule_work(&look_work);
}

void ikc_poke(unsigned int kernel)
{
	atomic_inc((atomic_t *)&ikc_entry(kernel)->events);
	if (kernel == ikc_self.number)
		ikc_peers_look();
	else
		ring_bell(kernel, 0);
}

void ikc_poke_all(void)
{
	unsigned int kernel;

	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		if (READ_ONCE(ikc_entry(kernel)->ready))
			ikc_poke(kernel);
}

/* ---- looking ---- */

/* Copy what KLoader says of a kernel. */
static void learn(unsigned int kernel, u32 life)
{
	struct ikc_kernel *entry = ikc_entry(kernel);
	struct peer *peer = &peers[kernel];
	unsigned long flags;
	u32 i, bells = READ_ONCE(entry->bells);

	raw_spin_lock_irqsave(&peers_lock, flags);
	for (i = 0; i < ARRAY_SIZE(peer->cpus); i++)
		peer->cpus[i] = READ_ONCE(entry->cpus[i]);
	peer->ranges = min_t(u32, READ_ONCE(entry->ranges), IKC_MAX_RANGES);
	for (i = 0; i < peer->ranges; i++) {
		peer->range[i].start = READ_ONCE(entry->range[i].start);
		peer->range[i].size = READ_ONCE(entry->range[i].size);
	}
	WRITE_ONCE(peer->bells, min_t(u32, bells, IKC_MAX_BELLS));
	WRITE_ONCE(peer->life, life);
	raw_spin_unlock_irqrestore(&peers_lock, flags);
}

static void forget(unsigned int kernel)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&peers_lock, flags);
	memset(&peers[kernel], 0, sizeof(peers[kernel]));
	raw_spin_unlock_irqrestore(&peers_lock, flags);
}

static void look_at(unsigned int kernel)
{
	struct ikc_kernel *entry = ikc_entry(kernel);
	/* pairs with the release in ikc_attach() */
	u32 ready = smp_load_acquire(&entry->ready);
	u32 life = ikc_peer_life(kernel);

	if (READ_ONCE(entry->state) != IKC_UP || ready != READ_ONCE(entry->life))
		ready = 0;
	if (life && life != ready) {
		forget(kernel);
		WRITE_ONCE(peers_up, peers_up & ~BIT(kernel));
		ikc_queues_peer(kernel, false);
		ikc_heap_recall(&ikc_self.heap, kernel);
	}
	if (READ_ONCE(entry->state) != IKC_ABSENT) {
		present |= BIT(kernel);
	} else if (present & BIT(kernel)) {
		present &= ~BIT(kernel);
		ikc_queues_gone(kernel);
	}
	if (ready && life != ready && !ikc_tx_prepare(kernel)) {
		learn(kernel, ready);
		WRITE_ONCE(peers_up, peers_up | BIT(kernel));
		ikc_queues_peer(kernel, true);
		/* it may have been poked when its bells were not known yet */
		ring_bell(kernel, 0);
	}
}

static void look(struct work_struct *work)
{
	unsigned int kernel;

	mutex_lock(&ikc_peers_mutex);
	if (!ikc_attached() || !READ_ONCE(ikc_entry(ikc_self.number)->ready))
		goto unlock;
	WRITE_ONCE(events_seen, READ_ONCE(ikc_entry(ikc_self.number)->events));
	smp_mb();	/* what is counted later makes the work run again */
	/* before anybody can send here: what was usable before this kernel was counted */
	ikc_area_update();
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		if (kernel != ikc_self.number)
			look_at(kernel);
	ikc_tx_update();
	ikc_rx_update();
	ikc_queues_update();
	ikc_channels_update();
	if (!ikc_self.number)
		ikc_host_update();
	ikc_queues_changed();
unlock:
	mutex_unlock(&ikc_peers_mutex);
	wake_up_all(&ikc_changed);
}

/* Look now, and return when that is done.  May sleep. */
void ikc_peers_flush(void)
{
	schedule_work(&look_work);
	flush_work(&look_work);
}

/* What KLoader says of this kernel itself: its memory is no other's. */
void ikc_peers_init(void)
{
	learn(ikc_self.number, 0);
}

/* This kernel leaves: forget all others. */
void ikc_peers_exit(void)
{
	unsigned int kernel;

	mutex_lock(&ikc_peers_mutex);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++) {
		if (ikc_peer_life(kernel))
			ikc_queues_peer(kernel, false);
		forget(kernel);
	}
	WRITE_ONCE(peers_up, 0);
	ikc_channels_update();
	mutex_unlock(&ikc_peers_mutex);
}

void ikc_peers_quiet(void)
{
	cancel_work_sync(&look_work);
}
