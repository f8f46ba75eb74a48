// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbells, architecture-neutral part: one for control, between KLoader and
 * an agent or a real-time program, and several for queues, spread over this kernel's CPUs.
 */
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "local.h"

static const struct ikc_bell_user __rcu *ikc_bell_user;
static const struct ikc_bell_queues __rcu *ikc_bell_queues;
static DEFINE_MUTEX(ikc_bell_mutex);	/* serialises changes of both */
static unsigned int ikc_bell_count;
/* Which queues a bell is for: those that ikc_ring_queues() rings it for. */
static u64 ikc_bell_mask[1 + IKC_MAX_BELLS];

static void ikc_bell_rang(unsigned int number)
{
	const struct ikc_bell_queues *queues;
	const struct ikc_bell_user *user;

	rcu_read_lock();
	user = rcu_dereference(ikc_bell_user);
	queues = rcu_dereference(ikc_bell_queues);
	if (number == IKC_CONTROL_BELL && user)
		user->rang();
	if (queues)
		queues->rang(ikc_bell_mask[number]);
	rcu_read_unlock();
}

static void ikc_bell_look_at_all(struct irq_work *work)
{
	const struct ikc_bell_queues *queues;

	rcu_read_lock();
	queues = rcu_dereference(ikc_bell_queues);
	if (queues)
		queues->rang(~0ULL);
	rcu_read_unlock();
}

static DEFINE_IRQ_WORK(ikc_bell_work, ikc_bell_look_at_all);

/*
 * A bell has moved, because its CPU goes offline or somebody set its affinity.
 * A sender may have read the old place just before and ring where nobody listens
 * any more; but it has set the pending bit before that.  So look at the bits
 * once after the new place is known: the barriers make one of the two see the
 * other.
 */
static void ikc_bell_moved(unsigned int number)
{
	u64 place = ikc_arch_bell_get(number);
	const struct ikc_bell_queues *queues;
	const struct ikc_bell_user *user;

	rcu_read_lock();
	user = rcu_dereference(ikc_bell_user);
	queues = rcu_dereference(ikc_bell_queues);
	if (number == IKC_CONTROL_BELL && user)
		user->moved(place);
	if (number != IKC_CONTROL_BELL && queues) {
		queues->moved(number - 1, place);
		smp_mb();	/* pairs with the fetch_or in ikc_ring_queues() */
		irq_work_queue(&ikc_bell_work);
	}
	rcu_read_unlock();
}

static const struct ikc_arch_bell_user ikc_bell_arch_user = {
	.rang	= ikc_bell_rang,
	.moved	= ikc_bell_moved,
};

/**
 * ikc_bells_count() - how many queue bells there are
 *
 * Context: any.
 */
unsigned int ikc_bells_count(void)
{
	return ikc_bell_count - 1;
}

/**
 * ikc_bells_get() - where a queue bell is
 * @bell: counted from 0
 *
 * Context: any.
 * Return: a SHIMOS_BELL, or 0.
 */
u64 ikc_bells_get(unsigned int bell)
{
	return ikc_arch_bell_get(bell + 1);
}

/**
 * ikc_bells_listen() - who hears of queue bells from now on
 * @queues: NULL: nobody
 *
 * Context: may sleep, until nobody is in a callback.
 */
void ikc_bells_listen(const struct ikc_bell_queues *queues)
{
	mutex_lock(&ikc_bell_mutex);
	rcu_assign_pointer(ikc_bell_queues, queues);
	mutex_unlock(&ikc_bell_mutex);
	if (queues)
		return;
	synchronize_rcu();
	irq_work_sync(&ikc_bell_work);
}

int ikc_bell_open(const struct ikc_bell_user *user)
{
	int ret = 0;

	mutex_lock(&ikc_bell_mutex);
	if (rcu_access_pointer(ikc_bell_user))
		ret = -EBUSY;
	else
		rcu_assign_pointer(ikc_bell_user, user);
	mutex_unlock(&ikc_bell_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_bell_open);

/* Returns when no callback runs any more.  May sleep. */
void ikc_bell_close(void)
{
	mutex_lock(&ikc_bell_mutex);
	RCU_INIT_POINTER(ikc_bell_user, NULL);
	mutex_unlock(&ikc_bell_mutex);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(ikc_bell_close);

u64 ikc_bell_get(void)
{
	return ikc_arch_bell_get(IKC_CONTROL_BELL);
}
EXPORT_SYMBOL_GPL(ikc_bell_get);

bool ikc_bell_ring(u64 place)
{
	if (!ikc_arch_bell_valid(place))
		return false;
	ikc_arch_bell_ring(place);
	return true;
}
EXPORT_SYMBOL_GPL(ikc_bell_ring);

/**
 * ikc_bells_init() - make this kernel's bells: one for control, one for queues a CPU
 *
 * Context: may sleep; once, at module load.
 * Return: 0 or an error; then there is none.
 */
int ikc_bells_init(void)
{
	unsigned int bells = min_t(unsigned int, num_online_cpus(), IKC_MAX_BELLS), queue;

	ikc_bell_count = 1 + bells;
	/* a kernel that shares a CPU with this one has no other to ring */
	ikc_bell_mask[IKC_CONTROL_BELL] = ~0ULL;
	for (queue = 0; queue < IKC_QUEUES; queue++)
		ikc_bell_mask[1 + ikc_bell_index(queue, bells)] |= BIT_ULL(queue);
	return ikc_arch_bells_init(ikc_bell_count, &ikc_bell_arch_user);
}

/**
 * ikc_bells_exit() - give them back
 *
 * Context: may sleep.
 */
void ikc_bells_exit(void)
{
	ikc_arch_bells_exit();
	ikc_bells_listen(NULL);
}
