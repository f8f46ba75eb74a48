// SPDX-License-Identifier: GPL-2.0
/* The table of partitions: entering them, finding them, letting them go. */
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "kloader.h"

DEFINE_MUTEX(kloader_mutex);
LIST_HEAD(table_partitions);
static u32 table_last_id;	/* kloader_mutex */

/**
 * table_enter() - enter the name, so that no second partition can take it
 * @p: gets its id
 * @c: why not
 *
 * Context: may sleep; takes kloader_mutex.
 * Return: 0 or -EEXIST.
 */
int table_enter(struct partition *p, struct complaint *c)
{
	struct partition *other;
	int ret = 0;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(other, &table_partitions, link)
		if (!strcmp(other->name, p->name))
			ret = shimos_refuse(c, -EEXIST, "a partition named '%s' exists (id %u)",
					    p->name, other->id);
	if (!ret) {
		p->id = ++table_last_id;
		list_add_tail_rcu(&p->link, &table_partitions);
	}
	mutex_unlock(&kloader_mutex);
	return ret;
}

/**
 * table_leave() - nobody finds it any more
 * @p: in the table
 *
 * Context: may sleep; takes kloader_mutex.  No doorbell looks at it any more when it returns.
 */
void table_leave(struct partition *p)
{
	mutex_lock(&kloader_mutex);
	p->session = NULL;
	list_del_rcu(&p->link);
	mutex_unlock(&kloader_mutex);
	synchronize_rcu();
}

static void table_free(struct kref *ref)
{
	struct partition *p = container_of(ref, struct partition, ref);

	kfree(p->cmdline);
	kfree(p);
	module_put(THIS_MODULE);
}

/**
 * table_put() - give back a reference of table_get()
 * @p: may be gone after this
 *
 * Context: may sleep.
 */
void table_put(struct partition *p)
{
	kref_put(&p->ref, table_free);
}

/* A partition that is being made has no state yet and is not found. */
static bool table_shows(const struct partition *p)
{
	return READ_ONCE(p->state) && !READ_ONCE(p->gone);
}

/**
 * table_get() - find a partition and take a reference
 * @id: its id
 * @next: find the one with the smallest id above @id instead
 *
 * Context: may sleep.
 * Return: the partition, or NULL; table_put() gives it back.
 */
struct partition *table_get(u32 id, bool next)
{
	struct partition *p, *found = NULL;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(p, &table_partitions, link) {	/* ids ascend */
		if (table_shows(p) && (next ? p->id > id : p->id == id)) {
			kref_get(&p->ref);
			found = p;
			break;
		}
	}
	mutex_unlock(&kloader_mutex);
	return found;
}

/**
 * table_count() - how many partitions there are to see
 *
 * Context: may sleep; takes kloader_mutex.
 */
unsigned int table_count(void)
{
	unsigned int count = 0;
	struct partition *p;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(p, &table_partitions, link)
		count += table_shows(p);
	mutex_unlock(&kloader_mutex);
	return count;
}
