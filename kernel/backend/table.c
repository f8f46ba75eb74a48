// SPDX-License-Identifier: GPL-2.0
/* All shared devices of this kernel, in the order of their ids. */
#include <linux/rculist.h>
#include <linux/slab.h>

#include "backend.h"

LIST_HEAD(backend_devices);		/* changed under devices_mutex; RCU */
static DEFINE_MUTEX(devices_mutex);
static u32 last_id;			/* devices_mutex */

unsigned int backend_user_cpus(u32 user)
{
	return clamp(ikc_kernel_cpus(user), 1U, (unsigned int)SHIMOS_VIRTIO_BELLS);
}

static void backend_free(struct kref *ref)
{
	kfree(container_of(ref, struct backend, ref));
}

void backend_put(struct backend *b)
{
	kref_put(&b->ref, backend_free);
}

struct backend *backend_next(u32 id)
{
	struct backend *b, *found = NULL;

	mutex_lock(&devices_mutex);
	list_for_each_entry(b, &backend_devices, link)
		if (b->id > id) {
			kref_get(&b->ref);
			found = b;
			break;
		}
	mutex_unlock(&devices_mutex);
	return found;
}

struct backend *backend_find(u32 id)
{
	struct backend *b = id ? backend_next(id - 1) : NULL;

	if (!b || b->id == id)
		return b;
	backend_put(b);
	return NULL;
}

int backend_for_each(int (*look)(struct backend *b, void *context), void *context)
{
	struct backend *b;
	int ret = 0;

	mutex_lock(&devices_mutex);
	list_for_each_entry(b, &backend_devices, link) {
		ret = look(b, context);
		if (ret)
			break;
	}
	mutex_unlock(&devices_mutex);
	return ret;
}

u32 backend_new_id(void)
{
	u32 id;

	mutex_lock(&devices_mutex);
	id = ++last_id;
	mutex_unlock(&devices_mutex);
	return id;
}

static int backend_count_of_user(u32 user)
{
	struct backend *b;
	int count = 0;

	lockdep_assert_held(&devices_mutex);
	list_for_each_entry(b, &backend_devices, link)
		count += b->user == user;
	return count;
}

int backend_insert(struct backend *b)
{
	struct list_head *before = &backend_devices;
	struct backend *other;
	int ret = 0;

	mutex_lock(&devices_mutex);
	if (backend_count_of_user(b->user) >= SHIMOS_DEV_PER_USER) {
		ret = -ENOSPC;
		goto unlock;
	}
	/* numbers were given before, by threads that may have passed each other */
	list_for_each_entry(other, &backend_devices, link)
		if (other->id > b->id) {
			before = &other->link;
			break;
		}
	kref_get(&b->ref);
	list_add_tail_rcu(&b->link, before);
unlock:
	mutex_unlock(&devices_mutex);
	return ret;
}

void backend_take_out(struct backend *b)
{
	mutex_lock(&devices_mutex);
	list_del_rcu(&b->link);
	mutex_unlock(&devices_mutex);
	synchronize_rcu();
}
