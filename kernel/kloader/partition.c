// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions as objects: making them, finding them, giving everything back.
 */
#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <shimos/ikc.h>

#include "kloader.h"
#include "partitions.h"
#include "passthrough.h"

DEFINE_MUTEX(kloader_mutex);

/* Changed under kloader_mutex; the doorbell walks it under RCU. */
LIST_HEAD(partitions);
static u32 last_id;		/* kloader_mutex */

void *partition_at(struct partition *p, u64 offset)
{
	return phys_to_virt(p->ranges[0].start + offset);
}

u64 partition_phys(struct partition *p, u64 offset)
{
	return p->ranges[0].start + offset;
}

static void partition_free(struct kref *ref)
{
	struct partition *p = container_of(ref, struct partition, ref);

	kfree(p->cmdline);
	kfree(p);
	module_put(THIS_MODULE);
}

void partition_put(struct partition *p)
{
	kref_put(&p->ref, partition_free);
}

/* A partition that is being made has no state yet and is not found. */
static bool is_visible(const struct partition *p)
{
	return READ_ONCE(p->state) && !READ_ONCE(p->gone);
}

/**
 * partition_get() - find a partition and take a reference
 * @id: its id
 * @next: find the one with the smallest id above @id instead
 */
struct partition *partition_get(u32 id, bool next)
{
	struct partition *p, *found = NULL;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(p, &partitions, link) {	/* ids ascend */
		if (is_visible(p) && (next ? p->id > id : p->id == id)) {
			kref_get(&p->ref);
			found = p;
			break;
		}
	}
	mutex_unlock(&kloader_mutex);
	return found;
}

unsigned int partition_count(void)
{
	unsigned int count = 0;
	struct partition *p;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(p, &partitions, link)
		count += is_visible(p);
	mutex_unlock(&kloader_mutex);
	return count;
}

static int check_name(const char *name, struct complaint *c)
{
	size_t i, len = strnlen(name, SHIMOS_NAME_LEN);

	if (!len)
		return refuse(c, -EINVAL, "a partition needs a name");
	if (len == SHIMOS_NAME_LEN)
		return refuse(c, -ENAMETOOLONG, "a name has at most %u characters",
			      SHIMOS_NAME_LEN - 1);
	for (i = 0; i < len; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && (!i || !strchr("._-", name[i]))))
			return refuse(c, -EINVAL,
				      "a name consists of letters, digits and . _ - and starts with a letter or digit");
	return 0;
}

/* Enter the name, so that no second partition can take it. */
static int enlist(struct partition *p, struct complaint *c)
{
	struct partition *other;
	int ret = 0;

	mutex_lock(&kloader_mutex);
	list_for_each_entry(other, &partitions, link)
		if (!strcmp(other->name, p->name))
			ret = refuse(c, -EEXIST, "a partition named '%s' exists (id %u)",
				     p->name, other->id);
	if (!ret) {
		p->id = ++last_id;
		list_add_tail_rcu(&p->link, &partitions);
	}
	mutex_unlock(&kloader_mutex);
	return ret;
}

static void delist(struct partition *p)
{
	mutex_lock(&kloader_mutex);
	p->session = NULL;
	list_del_rcu(&p->link);
	mutex_unlock(&kloader_mutex);
	synchronize_rcu();	/* the doorbell may be looking at it */
}

static struct partition *partition_alloc(const struct shimos_create *arg,
					 const u32 *cpus)
{
	struct partition *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	__module_get(THIS_MODULE);	/* the caller's open file holds it too */
	kref_init(&p->ref);
	strscpy(p->name, arg->name, sizeof(p->name));
	p->flags = arg->flags;
	p->cpu_count = arg->cpu_count;
	memcpy(p->cpus, cpus, arg->cpu_count * sizeof(*cpus));
	INIT_LIST_HEAD(&p->passthrough);
	mutex_init(&p->mutex);
	mutex_init(&p->input_mutex);
	init_rwsem(&p->memory_sem);
	init_waitqueue_head(&p->event_wait);
	init_waitqueue_head(&p->console_wait);
	life_init(p);
	return p;
}

static bool owns_cpu(void *p, u32 hardware_id)
{
	return kloader_arch->owns_cpu(p, hardware_id);
}

static int join_ikc(struct partition *p, struct complaint *c)
{
	struct ikc_range range[SHIMOS_MAX_RANGES];
	u32 i;

	for (i = 0; i < p->range_count; i++)
		range[i] = (struct ikc_range){ p->ranges[i].start, p->ranges[i].size };
	p->ikc_kernel = ikc_host_add(p->name, range, p->range_count, owns_cpu, p);
	if (p->ikc_kernel < 0)
		return refuse(c, p->ikc_kernel,
			      "there are %u kernels on this machine, the most that can communicate: remove a partition first",
			      IKC_MAX_KERNELS);
	return 0;
}

/**
 * partition_create() - take CPUs and memory for a new partition
 * @s: the partition dies with this session unless it is started
 * @arg: what the user asked for; gets the id
 * @cpus: arg->cpu_count logical CPU numbers
 *
 * May sleep for seconds.  Takes all or nothing.
 */
int partition_create(struct session *s, struct shimos_create *arg, const u32 *cpus)
{
	struct complaint *c = &s->complaint;
	struct partition *p;
	int ret;

	ret = check_name(arg->name, c);
	if (ret)
		return ret;
	p = partition_alloc(arg, cpus);
	if (!p)
		return -ENOMEM;
	ret = enlist(p, c);
	if (ret)
		goto put;
	/* memory first: it is what fails most, and CPUs go offline slowly */
	ret = memory_take(p, arg->memory, c);
	if (ret)
		goto delist;
	ret = cpus_take(p->cpus, p->cpu_count, c);
	if (ret)
		goto give_memory;
	ret = kloader_arch->create(p, c);
	if (ret)
		goto give_cpus;
	ret = join_ikc(p, c);
	if (ret)
		goto destroy_arch;
	ret = sysfs_add(p);
	if (ret) {
		refuse(c, ret, "cannot enter '%s' into sysfs", p->name);
		goto leave_ikc;
	}
	mutex_lock(&kloader_mutex);
	p->session = s;
	mutex_unlock(&kloader_mutex);
	mutex_lock(&p->mutex);
	life_set_state(p, SHIMOS_CREATED);
	mutex_unlock(&p->mutex);
	arg->id = p->id;
	return 0;

leave_ikc:
	ikc_host_remove(p->ikc_kernel);
destroy_arch:
	kloader_arch->destroy(p);
give_cpus:
	cpus_give_back(p->cpus, p->cpu_count);
give_memory:
	memory_give_back(p);
delist:
	delist(p);
put:
	partition_put(p);
	return ret;
}

/**
 * partition_destroy() - give CPUs and memory back
 *
 * Refused while CPUs run in it.  Whoever still holds a reference finds an empty
 * shell.  May sleep for seconds.
 */
int partition_destroy(struct partition *p, struct complaint *c)
{
	int ret = 0;

	life_wait_unheld(p);
	mutex_lock(&p->mutex);
	if (p->gone)
		ret = refuse(c, -ENOENT, "'%s' is being removed already", p->name);
	else if (life_is_up(p))
		ret = refuse(c, -EBUSY, "'%s' is %s: stop or kill it first",
			     p->name, state_name(p->state));
	else if (p->cpus_stuck)
		ret = refuse(c, -EIO,
			     "a CPU of '%s' did not answer INIT and may still run: its CPUs and memory are kept until the machine restarts",
			     p->name);
	else
		ret = life_check_unheld(p, c);
	if (!ret)
		WRITE_ONCE(p->gone, true);
	mutex_unlock(&p->mutex);
	if (ret)
		return ret;

	delist(p);
	life_quiesce(p);
	sysfs_remove(p);
	/* its devices go before its memory */
	passthrough_release(p);
	ikc_host_remove(p->ikc_kernel);
	down_write(&p->memory_sem);
	p->shared = NULL;
	memory_give_back(p);
	up_write(&p->memory_sem);
	cpus_give_back(p->cpus, p->cpu_count);
	kloader_arch->destroy(p);
	wake_up_all(&p->event_wait);
	wake_up_all(&p->console_wait);
	partition_put(p);		/* the list's reference */
	return 0;
}

/* The file that made it is closed before it was ever started: take it down. */
void partition_destroy_session(struct session *s)
{
	struct partition *p, *victim;

	do {
		victim = NULL;
		mutex_lock(&kloader_mutex);
		list_for_each_entry(p, &partitions, link)
			if (p->session == s) {
				p->session = NULL;
				kref_get(&p->ref);
				victim = p;
				break;
			}
		mutex_unlock(&kloader_mutex);
		if (victim) {
			partition_destroy(victim, &s->complaint);
			partition_put(victim);
		}
	} while (victim);
}

static u64 host_bytes(const struct partition *p)
{
	u64 low = 0;

	if (kloader_arch->host_bytes)
		low = kloader_arch->host_bytes(p);
	return sizeof(*p) + (p->cmdline ? strlen(p->cmdline) + 1 : 0) + low;
}

void partition_status(struct partition *p, struct shimos_status *out)
{
	u64 now = ktime_get_ns();

	mutex_lock(&p->mutex);
	out->flags = 0;
	out->id = p->id;
	strscpy_pad(out->name, p->name, sizeof(out->name));
	out->state = p->state;
	out->cause = p->cause;
	out->event = p->event;
	out->memory = p->memory;
	out->cpu_count = p->cpu_count;
	memcpy(out->cpus, p->cpus, sizeof(out->cpus));
	out->range_count = p->range_count;
	memcpy(out->ranges, p->ranges, sizeof(out->ranges));
	out->starts = p->starts;
	out->agent = p->agent;
	out->uptime_ns = life_is_up(p) ? now - p->started_ns : 0;
	out->boot_ns = p->ready_ns ? p->ready_ns - p->started_ns : 0;
	out->silent_ns = life_is_up(p) && p->agent ? now - p->heartbeat_ns : 0;
	out->busy_ns = p->shared && p->agent ? READ_ONCE(p->shared->busy_ns) : 0;
	out->host_bytes = host_bytes(p);
	out->kernel_bytes = p->image.size;
	out->initrd_bytes = p->initrd_size;
	strscpy_pad(out->kernel_version, p->image.version,
		    sizeof(out->kernel_version));
	strscpy_pad(out->cmdline, p->cmdline ?: "", sizeof(out->cmdline));
	strscpy_pad(out->message, p->message, sizeof(out->message));
	mutex_unlock(&p->mutex);
}
