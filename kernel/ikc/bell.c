// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell, architecture-neutral part: who listens, and publication.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "bell.h"

static const struct ikc_bell_user __rcu *bell_user;
static DEFINE_MUTEX(bell_mutex);	/* serialises open and close */

void ikc_bell_rang(void)
{
	const struct ikc_bell_user *user;

	rcu_read_lock();
	user = rcu_dereference(bell_user);
	if (user)
		user->rang();
	rcu_read_unlock();
}

void ikc_bell_moved(void)
{
	const struct ikc_bell_user *user;
	struct shimos_bell bell;

	ikc_arch_bell_get(&bell);
	rcu_read_lock();
	user = rcu_dereference(bell_user);
	if (user)
		user->moved(&bell);
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
	ikc_arch_bell_get(bell);
}
EXPORT_SYMBOL_GPL(ikc_bell_get);

bool ikc_bell_ring(const struct shimos_bell *peer)
{
	struct shimos_bell bell;

	/* The peer may be hostile and may be writing: read once, then check. */
	bell.ready = READ_ONCE(peer->ready);
	if (!bell.ready)
		return false;
	smp_rmb();	/* pairs with the publisher's store of ready, its last */
	bell.cpu = READ_ONCE(peer->cpu);
	bell.vector = READ_ONCE(peer->vector);
	if (!ikc_arch_bell_valid(&bell))
		return false;
	ikc_arch_bell_ring(&bell);
	return true;
}
EXPORT_SYMBOL_GPL(ikc_bell_ring);

static int __init ikc_init(void)
{
	return ikc_arch_bell_init();
}

static void __exit ikc_exit(void)
{
	ikc_arch_bell_exit();
}

module_init(ikc_init);
module_exit(ikc_exit);
MODULE_DESCRIPTION("SHIMOS inter-kernel communication");
MODULE_LICENSE("GPL");
