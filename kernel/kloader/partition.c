// SPDX-License-Identifier: GPL-2.0
/* Partitions as objects: making them, asking about them, giving everything back. */
#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <shimos/ikc_host.h>

#include "kloader.h"
#include "passthrough.h"

static const struct partition_kind *const partition_kinds[] = {
	[SHIMOS_KIND_LINUX] = &kind_linux,
	[SHIMOS_KIND_RT] = &kind_rt,
};

/**
 * partition_kind() - find a kind by its number
 * @kind: an enum shimos_kind; may be another number
 *
 * Context: any.
 *
 * Return: the kind; NULL: there is none of that number.
 */
const struct partition_kind *partition_kind(u32 kind)
{
	return kind < ARRAY_SIZE(partition_kinds) ? partition_kinds[kind] : NULL;
}

static int partition_check_name(const char *name, struct complaint *c)
{
	size_t i, len = strnlen(name, SHIMOS_NAME_LEN);

	if (!len)
		return shimos_refuse(c, -EINVAL, "a partition needs a name");
	if (len == SHIMOS_NAME_LEN)
		return shimos_refuse(c, -ENAMETOOLONG, "a name has at most %u characters",
				     SHIMOS_NAME_LEN - 1);
	if (!strcmp(name, IKC_HOST_NAME))
		return shimos_refuse(c, -EINVAL,
				     "a partition cannot be called '" IKC_HOST_NAME "': the host's own kernel is");
	for (i = 0; i < len; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && (!i || !strchr("._-", name[i]))))
			return shimos_refuse(c, -EINVAL,
					     "a name consists of letters, digits and . _ - and starts with a letter or digit");
	return 0;
}

static struct partition *partition_alloc(const struct shimos_create *arg,
					 const u32 *cpus, const u32 *more)
{
	struct partition *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	__module_get(THIS_MODULE);	/* the caller's open file holds it too */
	kref_init(&p->ref);
	strscpy(p->name, arg->name, sizeof(p->name));
	p->flags = arg->flags;
	p->kind = partition_kinds[arg->kind];
	p->budget_ns = arg->budget_ns;
	p->priority = arg->priority;
	p->period_ns = arg->period_ns;
	strscpy(p->watches, arg->watch, sizeof(p->watches));
	p->node = arg->node ? arg->node - 1 : NUMA_NO_NODE;
	p->cpu_count = arg->cpu_count;
	memcpy(p->cpus, cpus, arg->cpu_count * sizeof(*cpus));
	spin_lock_init(&p->cpus_lock);
	p->more_count = arg->more_count;
	memcpy(p->more, more, arg->more_count * sizeof(*more));
	INIT_LIST_HEAD(&p->passthrough);
	INIT_LIST_HEAD(&p->confinements);
	mutex_init(&p->mutex);
	mutex_init(&p->input_mutex);
	init_rwsem(&p->memory_sem);
	init_waitqueue_head(&p->event_wait);
	init_waitqueue_head(&p->console_wait);
	life_init(p);
	return p;
}

static int partition_join_ikc(struct partition *p, struct complaint *c)
{
	struct ikc_range range[SHIMOS_MAX_RANGES];
	u64 cpus[IKC_MAX_CPUS];
	u32 count = p->cpu_count, i;

	for (i = 0; i < p->range_count; i++)
		range[i] = (struct ikc_range){ p->ranges[i].start, p->ranges[i].size };
	memcpy(cpus, p->hardware_ids, count * sizeof(*cpus));
	/* those that it may get later, too: its bells may move there, and all others know them by then */
	for (i = 0; i < p->more_count && count < IKC_MAX_CPUS; i++)
		cpus_hardware_ids(&p->more[i], 1, &cpus[count++]);
	/* a CPU that is shared stays the host's, and so do all bells on it but one */
	p->ikc_kernel = ikc_host_add(p->name, range, p->range_count, cpus,
				     p->kind->own_cpus ? count : 0,
				     p->kind->own_cpus ? 0 : p->kind->bell(p),
				     p->flags & SHIMOS_CREATE_GUARDED);
	if (p->ikc_kernel < 0)
		return shimos_refuse(c, p->ikc_kernel,
				     "there are %u kernels on this machine, the most that can communicate: remove a partition first",
				     IKC_MAX_KERNELS);
	return 0;
}

/**
 * partition_create() - take CPUs and memory for a new partition
 * @s: the partition dies with this session unless it is started
 * @arg: what the user asked for, of a kind that there is; gets the id
 * @cpus: arg->cpu_count logical CPU numbers
 * @more: arg->more_count of these
 * @c: why not
 *
 * Context: may sleep for seconds.
 * Return: 0 or an error: nothing was taken.
 */
int partition_create(struct session *s, struct shimos_create *arg, const u32 *cpus,
		     const u32 *more, struct complaint *c)
{
	struct partition *p;
	int ret;

	ret = partition_check_name(arg->name, c);
	if (ret)
		return ret;
	p = partition_alloc(arg, cpus, more);
	if (!p)
		return -ENOMEM;
	ret = table_enter(p, c);
	if (ret)
		goto put;
	/* memory first: it is what fails most, and CPUs go offline slowly */
	ret = memory_take(p, arg->memory, c);
	if (ret)
		goto leave_table;
	ret = p->kind->create(p, c);
	if (ret)
		goto give_memory;
	ret = partition_join_ikc(p, c);
	if (ret)
		goto destroy_kind;
	ret = sysfs_enter(p);
	if (ret) {
		shimos_refuse(c, ret, "cannot enter '%s' into sysfs", p->name);
		goto leave_ikc;
	}
	mutex_lock(&kloader_mutex);
	p->session = s;
	mutex_unlock(&kloader_mutex);
	mutex_lock(&p->mutex);
	state_set(p, SHIMOS_CREATED);
	mutex_unlock(&p->mutex);
	arg->id = p->id;
	return 0;

leave_ikc:
	ikc_host_remove(p->ikc_kernel);
destroy_kind:
	p->kind->destroy(p);
give_memory:
	memory_give_back(p);
leave_table:
	table_leave(p);
put:
	table_put(p);
	return ret;
}

/**
 * partition_destroy() - give CPUs and memory back
 * @p: which
 * @c: why not
 *
 * Whoever still holds a reference finds an empty shell.
 *
 * Context: may sleep for seconds; takes p->mutex.
 * Return: 0 or an error; refused while CPUs run in it.
 */
int partition_destroy(struct partition *p, struct complaint *c)
{
	int ret = 0;

	life_wait_unheld(p);
	mutex_lock(&p->mutex);
	if (p->gone)
		ret = shimos_refuse(c, -ENOENT, "'%s' is being removed already", p->name);
	else if (state_is_up(p))
		ret = shimos_refuse(c, -EBUSY, "'%s' is %s: stop or kill it first",
				    p->name, state_name(p->state));
	else if (p->state == SHIMOS_STUCK)
		ret = state_refuse_stuck(p, c);
	else if (p->resizing)
		ret = shimos_refuse(c, -EBUSY, "'%s' was growing or shrinking: try again", p->name);
	else
		ret = life_check_unheld(p, c);
	if (!ret) {
		WRITE_ONCE(p->gone, true);
		state_event(p);
	}
	mutex_unlock(&p->mutex);
	if (ret)
		return ret;

	table_leave(p);
	life_quiesce(p);
	sysfs_leave(p);
	/* its devices go before its memory */
	passthrough_release(p);
	ikc_host_remove(p->ikc_kernel);
	down_write(&p->memory_sem);
	p->shared = NULL;
	memory_give_back(p);
	up_write(&p->memory_sem);
	p->kind->destroy(p);
	table_put(p);		/* the list's reference */
	return 0;
}

/**
 * partition_destroy_session() - the file that made them is closed: take down what was never started
 * @s: of the file
 *
 * Context: may sleep.
 */
void partition_destroy_session(struct session *s)
{
	struct partition *p, *victim;
	struct complaint c;

	do {
		victim = NULL;
		mutex_lock(&kloader_mutex);
		list_for_each_entry(p, &table_partitions, link)
			if (p->session == s) {
				p->session = NULL;
				kref_get(&p->ref);
				victim = p;
				break;
			}
		mutex_unlock(&kloader_mutex);
		if (victim) {
			partition_destroy(victim, &c);
			table_put(victim);
		}
	} while (victim);
}

static u64 partition_host_bytes(const struct partition *p)
{
	return sizeof(*p) + (p->cmdline ? strlen(p->cmdline) + 1 : 0) +
	       p->kind->host_bytes(p);
}

/**
 * partition_status() - all that can be said of a partition
 * @p: which
 * @out: all but the header
 *
 * Context: may sleep; takes p->mutex.
 */
void partition_status(struct partition *p, struct shimos_status *out)
{
	u64 now;

	mutex_lock(&p->mutex);
	/* not before the lock: a start may have been waited for */
	now = ktime_get_ns();
	out->flags = p->flags;
	out->id = p->id;
	strscpy_pad(out->name, p->name, sizeof(out->name));
	out->state = p->state;
	out->cause = p->cause;
	out->event = p->event;
	out->memory = p->memory;
	out->cpu_count = p->cpu_count;
	memcpy(out->cpus, p->cpus, sizeof(out->cpus));
	out->more_count = p->more_count;
	memcpy(out->more, p->more, sizeof(out->more));
	out->range_count = p->range_count;
	memcpy(out->ranges, p->ranges, sizeof(out->ranges));
	out->starts = p->starts;
	out->agent = p->agent;
	out->uptime_ns = state_is_up(p) ? now - p->started_ns : 0;
	out->boot_ns = p->ready_ns ? p->ready_ns - p->started_ns : 0;
	out->silent_ns = state_is_up(p) && p->agent && p->kind->heartbeat ?
			 now - p->heartbeat_ns : 0;
	out->busy_ns = p->kind->busy_ns(p);
	out->host_bytes = partition_host_bytes(p);
	out->kernel_bytes = p->image.size;
	out->initrd_bytes = p->initrd_size;
	strscpy_pad(out->kernel_version, p->image.version,
		    sizeof(out->kernel_version));
	strscpy_pad(out->cmdline, p->cmdline ?: "", sizeof(out->cmdline));
	strscpy_pad(out->message, p->message, sizeof(out->message));
	out->kind = p->kind->number;
	out->faults = p->kind->faults ? p->kind->faults(p) : 0;
	out->exits = p->kind->exits ? p->kind->exits(p) : 0;
	out->budget_ns = p->budget_ns;
	out->period_ns = p->period_ns;
	out->priority = p->priority;
	monitor_status(p, out);
	mutex_unlock(&p->mutex);
}
