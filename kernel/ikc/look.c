// SPDX-License-Identifier: GPL-2.0
/*
 * Looking: at the table of kernels when it has changed, and at the pending bits when
 * a doorbell rang.  Tells all that depends on either.
 *
 * Who changes the table or a port counts up the `events` of those concerned and
 * rings; each kernel then compares the table with what it knows.
 */
#include <linux/sched.h>

#include "channel.h"
#include "local.h"

static u32 ikc_look_present;		/* bitmap: it exists; under ikc_peers_mutex */
static u32 ikc_look_incarnation[IKC_MAX_KERNELS];	/* ikc_peers_mutex */
static u32 ikc_look_stuck;		/* bitmap: over, but may write; ikc_peers_mutex */
static u32 ikc_look_resizes;		/* as in the area; ikc_peers_mutex */
static void (*ikc_look_host)(void);	/* set before this kernel attaches */

/* ---- doorbells ---- */

/* Look at what the kernels that run have set for these queues.  RCU. */
static void ikc_look_rang(u64 mine)
{
	u32 up = ikc_peers_up();
	u64 queues;

	if (!ikc_attached())
		return;
	for (; up; up &= up - 1) {
		unsigned int kernel = __ffs(up);
		u64 *pending = &ikc_entry(ikc_self.number)->pending[kernel].queues;

		if (!(READ_ONCE(*pending) & mine))
			continue;
		/* a full barrier: what is pending is read after the bit */
		queues = ikc_fetch_andnot64(pending, mine) & mine;
		for (; queues; queues &= queues - 1) {
			ikc_queue_rang(kernel, __ffs64(queues));
			ikc_channel_rang(kernel, __ffs64(queues));
		}
	}
	ikc_peers_look();
}

static void ikc_look_moved(unsigned int bell, u64 place)
{
	if (ikc_attached())
		WRITE_ONCE(ikc_entry(ikc_self.number)->bell[bell], place);
}

static const struct ikc_bell_queues ikc_look_bells = {
	.rang	= ikc_look_rang,
	.moved	= ikc_look_moved,
};

/* ---- the table ---- */

/*
 * It was up and is not any more, or is in another life.  One that is stuck may still
 * read and write what was on its way there: that is recalled when it is down at last,
 * and those who have kept memory for it are told once more.
 */
static void ikc_look_down(unsigned int kernel, bool stuck)
{
	ikc_look_stuck &= ~BIT(kernel);
	if (stuck)
		ikc_look_stuck |= BIT(kernel);
	ikc_peers_forget(kernel);
	ikc_queues_peer(kernel, false);
	if (!stuck)
		ikc_heap_recall(&ikc_self.heap, kernel);
}

/* What had the number is gone for good, even if another has the number already. */
static void ikc_look_incarnated(unsigned int kernel, u32 state, u32 incarnation)
{
	if (ikc_look_present & BIT(kernel) &&
	    (state == IKC_ABSENT || ikc_look_incarnation[kernel] != incarnation)) {
		ikc_look_present &= ~BIT(kernel);
		ikc_queues_gone(kernel);
	}
	if (state != IKC_ABSENT)
		ikc_look_present |= BIT(kernel);
	ikc_look_incarnation[kernel] = incarnation;
}

static void ikc_look_at(unsigned int kernel)
{
	const struct ikc_facts *facts = ikc_facts(kernel);
	/* pairs with the release in ikc_attach_as() */
	u32 ready = smp_load_acquire(&ikc_entry(kernel)->ready);
	u32 life = ikc_peer_life(kernel);
	u32 incarnation = READ_ONCE(facts->incarnation);
	u32 state = READ_ONCE(facts->state);

	if (state != IKC_UP || ready != READ_ONCE(facts->life))
		ready = 0;
	if ((life && life != ready) || (ikc_look_stuck & BIT(kernel) && state != IKC_STUCK))
		ikc_look_down(kernel, state == IKC_STUCK);
	ikc_look_incarnated(kernel, state, incarnation);
	if (ready && life != ready && !ikc_tx_prepare(kernel)) {
		ikc_peers_learn(kernel, ready);
		ikc_queues_peer(kernel, true);
		/* it may have been poked when its bells were not known yet */
		ikc_peer_ring(kernel);
	}
}

/* Kernels have got or lost memory while they run: go by what they have now, and say so. */
static void ikc_look_at_memory(void)
{
	/* pairs with the release in ikc_host_resize(): what has changed is in the facts */
	u32 resizes = smp_load_acquire(&ikc_self.area->resizes);

	if (resizes == ikc_look_resizes)
		return;
	ikc_peers_resized();
	ikc_look_resizes = resizes;
	/* pairs with the acquire in ikc_host_unaware() */
	smp_store_release(&ikc_entry(ikc_self.number)->resizes, resizes);
	if (ikc_self.number)
		ikc_poke(0);
}

static void ikc_look(struct work_struct *work)
{
	unsigned int kernel;

	mutex_lock(&ikc_peers_mutex);
	if (!ikc_attached() || !READ_ONCE(ikc_entry(ikc_self.number)->ready))
		goto unlock;
	ikc_peers_looking();
	ikc_look_at_memory();
	/* before anybody can send here: what was usable before this kernel was counted */
	if (ikc_self.number && ikc_area_follow())
		ikc_poke(0);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++)
		if (kernel != ikc_self.number)
			ikc_look_at(kernel);
	ikc_tx_update();
	ikc_rx_update();
	ikc_queues_update();
	ikc_channels_update();
	if (!ikc_self.number)
		ikc_look_host();
	ikc_queues_changed();
unlock:
	mutex_unlock(&ikc_peers_mutex);
	wake_up_all(&ikc_changed);
}

/**
 * ikc_look_also() - the host's part of each look
 * @update: called with ikc_peers_mutex; may sleep
 *
 * Context: any; before ikc_look_init().
 */
void ikc_look_also(void (*update)(void))
{
	ikc_look_host = update;
}

/**
 * ikc_look_init() - look at the table from now on, and publish this kernel's bells
 *
 * Context: may sleep; this kernel is attached, and nobody knows.
 */
void ikc_look_init(void)
{
	unsigned int bell;

	ikc_look_present = ikc_look_stuck = 0;
	/* before it learns of anybody: pairs as in ikc_look_at_memory() */
	ikc_look_resizes = smp_load_acquire(&ikc_self.area->resizes);
	WRITE_ONCE(ikc_entry(ikc_self.number)->resizes, ikc_look_resizes);
	ikc_peers_init(ikc_look);
	ikc_bells_listen(&ikc_look_bells);
	WRITE_ONCE(ikc_entry(ikc_self.number)->bells, ikc_bells_count());
	for (bell = 0; bell < ikc_bells_count(); bell++)
		ikc_look_moved(bell, ikc_bells_get(bell));
}

/**
 * ikc_look_exit() - this kernel leaves: forget all others
 *
 * Context: may sleep.
 */
void ikc_look_exit(void)
{
	unsigned int kernel;

	mutex_lock(&ikc_peers_mutex);
	for (kernel = 0; kernel < IKC_MAX_KERNELS; kernel++) {
		if (ikc_peer_life(kernel))
			ikc_queues_peer(kernel, false);
		ikc_peers_forget(kernel);
	}
	ikc_channels_update();
	mutex_unlock(&ikc_peers_mutex);
}
