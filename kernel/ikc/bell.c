// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbells, architecture-neutral part: one for control, between KLoader and
 * an agent, and several for queues, spread over this kernel's CPUs.
 */
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "local.h"

static const struct ikc_bell_user __rcu *bell_user;
static DEFINE_MUTEX(bell_mutex);	/* serialises open and close */
static unsigned int bell_count;
/* Which queues a bell is for: those that ikc_ring_queues() rings it for. */
static u64 bell_queues[1 + IKC_MAX_BELLS];

/* Look at what the kernels that run have set for this bell's queues.  RCU. */
static void take_pending(unsigned int number)
{
	u64 mine = bell_queues[number], queues;
	u32 up = ikc_peers_up();

	for (; up; up &= up - 1) {
		unsigned int kernel = __ffs(up);
		u64 *pending = &ikc_entry(ikc_self.number)->pending[kernel].queues;

		if (!(READ_ONCE(*pending) & mine))
			continue;
		/* a full barrier: what is pending is read after the bit */
		queues = ikc_fetch_andnot64(pending, mine) & mine;
		while (queues) {
			ikc_queue_rang(kernel, __ffs64(queues));
			queues &= queues - 1;
		}
	}
	ikc_peers_look();
}

static void take_all_pending(struct irq_work *work)
{
	unsigned int number;

	rcu_read_lock();
	for (number = IKC_CONTROL_BELL + 1; ikc_attached() && number < bell_count; number++)
		take_pending(number);
	rcu_read_unlock();
}

static DEFINE_IRQ_WORK(pending_work, take_all_pending);

void ikc_bell_rang(unsigned int number)
{
	const struct ikc_bell_user *user;

	rcu_read_lock();
	if (number == IKC_CONTROL_BELL) {
		user = rcu_dereference(bell_user);
		if (user)
			user->rang();
	} else if (ikc_attached()) {
		take_pending(number);
	}
	rcu_read_unlock();
}

void ikc_bell_publish(struct shimos_bell *to, const struct shimos_bell *bell)
{
	WRITE_ONCE(to->cpu, bell->cpu);
	WRITE_ONCE(to->vector, bell->vector);
	smp_wmb();	/* pairs with the read barrier in ikc_bell_read() */
	WRITE_ONCE(to->ready, bell->ready);
}
EXPORT_SYMBOL_GPL(ikc_bell_publish);

static void publish(unsigned int number)
{
	struct shimos_bell bell;

	ikc_arch_bell_get(number, &bell);
	ikc_bell_publish(&ikc_entry(ikc_self.number)->bell[number - 1], &bell);
}

void ikc_bells_publish(void)
{
	unsigned int number;

	WRITE_ONCE(ikc_entry(ikc_self.number)->bells, bell_count - 1);
	for (number = IKC_CONTROL_BELL + 1; number < bell_count; number++)
		publish(number);
}

/*
 * A bell has moved, because its CPU goes offline or somebody set its affinity.
 * A sender may have read the old place just before and ring where nobody listens
 * any more; but it has set the pending bit before that.  So look at the bits
 * once after the new place is known: the barriers make one of the two see the
 * other.
 */
void ikc_bell_moved(unsigned int number)
{
	const struct ikc_bell_user *user;
	struct shimos_bell bell;

	rcu_read_lock();
	if (number == IKC_CONTROL_BELL) {
		ikc_arch_bell_get(number, &bell);
		user = rcu_dereference(bell_user);
		if (user)
			user->moved(&bell);
	} else if (ikc_attached()) {
		publish(number);
		smp_mb();	/* pairs with the fetch_or in ikc_ring_queues() */
		irq_work_queue(&pending_work);
	}
	rcu_read_unlock();
}

int ikc_bell_open(const struct ikc_bell_user *user)
{
	int ret = 0;

	mutex_lock(&bell_mutex);
	if (rcu_access_pointer(bell_user))
		ret = -EBUSY;
	else
		rcu_assign_pointer(bell_user, user);
	mutex_unlock(&bell_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(ikc_bell_open);

/* Returns when no callback runs any more.  May sleep. */
void ikc_bell_close(void)
{
	mutex_lock(&bell_mutex);
	RCU_INIT_POINTER(bell_user, NULL);
	mutex_unlock(&bell_mutex);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(ikc_bell_close);

void ikc_bell_get(struct shimos_bell *bell)
{
	ikc_arch_bell_get(IKC_CONTROL_BELL, bell);
}
EXPORT_SYMBOL_GPL(ikc_bell_get);

bool ikc_bell_read(const struct shimos_bell *from, struct shimos_bell *bell)
{
	/* The peer may be hostile and may be writing: read once, then check. */
	bell->ready = READ_ONCE(from->ready);
	smp_rmb();	/* pairs with the write barrier in ikc_bell_publish() */
	bell->cpu = READ_ONCE(from->cpu);
	bell->vector = READ_ONCE(from->vector);
	return bell->ready && ikc_arch_bell_valid(bell);
}
EXPORT_SYMBOL_GPL(ikc_bell_read);

bool ikc_bell_ring(const struct shimos_bell *peer)
{
	struct shimos_bell bell;

	if (!ikc_bell_read(peer, &bell))
		return false;
	ikc_arch_bell_ring(&bell);
	return true;
}
EXPORT_SYMBOL_GPL(ikc_bell_ring);

int ikc_bells_init(void)
{
	unsigned int bells = min_t(unsigned int, num_online_cpus(), IKC_MAX_BELLS), queue;

	bell_count = 1 + bells;
	for (queue = 0; queue < IKC_QUEUES; queue++)
		bell_queues[1 + queue % bells] |= BIT_ULL(queue);
	return ikc_arch_bells_init(bell_count);
}

void ikc_bells_quiet(void)
{
	synchronize_rcu();
	irq_work_sync(&pending_work);
}

void ikc_bells_exit(void)
{
	ikc_arch_bells_exit();
	ikc_bells_quiet();
}
