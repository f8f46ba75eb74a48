// SPDX-License-Identifier: GPL-2.0
/*
 * What a partition is told of its platform, where the architecture leaves that to the
 * caller: KLoader names the facts, takes the description, and keeps it beside the kernel.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch.h"

#define SEED_LEN	sizeof(u64)
#define ENTROPY_LEN	64
#define START_LEN	10

static bool description_needed(void)
{
	return kloader_arch_capabilities() & SHIMOS_NEEDS_DESCRIPTION;
}

/**
 * description_room() - bytes that a platform description takes in the stash
 *
 * Context: any.
 * Return: bytes; 0: none is needed here.
 */
u64 description_room(void)
{
	return description_needed() ? SHIMOS_DESCRIPTION_MAX : 0;
}

/* What is the same on all architectures, and then what is not.  p->mutex. */
static int description_fill(struct partition *p, struct shimos_platform *out, struct complaint *c)
{
	int ret;

	if (p->gone || !p->shared)
		return shimos_refuse(c, -EBUSY,
				     "'%s' has no kernel yet, on which depends what it is told of its platform",
				     p->name);
	ret = kloader_arch_describe(p, out, c);
	if (ret)
		return ret;
	out->shared = partition_phys(p, p->layout.shared);
	out->shared_size = SHIMOS_SHARED_SIZE;
	out->initrd = p->initrd_size ? partition_phys(p, p->layout.initrd) : 0;
	out->initrd_size = p->initrd_size;
	out->cpu_count = p->cpu_count;
	memcpy(out->cpus, p->hardware_ids, sizeof(out->cpus));
	return 0;
}

/**
 * description_facts() - what the description has to say
 * @p: the partition
 * @out: all but the header
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP: the architecture writes it by itself; -EBUSY: it has no kernel.
 */
int description_facts(struct partition *p, struct shimos_platform *out, struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	ret = description_fill(p, out, c);
	mutex_unlock(&p->mutex);
	return ret;
}

/* p->mutex. */
static int description_keep(struct partition *p, const void *description,
			    const struct shimos_describe *arg, struct complaint *c)
{
	int ret = kloader_arch_check_description(description, arg->size, c) ?:
		  state_check_step(p, SHIMOS_STARTING, c);

	if (ret)
		return ret;
	memcpy(partition_at(p, p->layout.description), description, arg->size);
	p->description_size = arg->size;
	p->description_seed = arg->seed;
	p->description_start = arg->start;
	p->description_entropy = arg->entropy;
	p->description_crc = image_checksum(p, p->layout.description, arg->size);
	return 0;
}

static int description_check_place(const struct shimos_describe *arg, u32 at, u32 len,
				   struct complaint *c)
{
	if (!at || (u64)at + len <= arg->size)
		return 0;
	return shimos_refuse(c, -EINVAL,
			     "what changes with each start, %u bytes at %u, is not inside of the platform description's %u",
			     len, at, arg->size);
}

/**
 * description_take() - keep a description for all starts to come
 * @p: the partition
 * @arg: what the caller has
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP: the architecture writes it by itself; -EBUSY: it has no kernel, or
 * runs; -EINVAL and others: it is none.
 */
int description_take(struct partition *p, const struct shimos_describe *arg,
		     struct complaint *c)
{
	void *description;
	int ret;

	if (!arg->size || arg->size > SHIMOS_DESCRIPTION_MAX)
		return shimos_refuse(c, -EINVAL, "a platform description has 1 to %u bytes, not %u",
				     SHIMOS_DESCRIPTION_MAX, arg->size);
	ret = description_check_place(arg, arg->seed, SEED_LEN, c) ?:
	      description_check_place(arg, arg->start, START_LEN, c) ?:
	      description_check_place(arg, arg->entropy, ENTROPY_LEN, c);
	if (ret)
		return ret;
	description = memdup_user(u64_to_user_ptr(arg->description), arg->size);
	if (IS_ERR(description))
		return shimos_refuse(c, PTR_ERR(description),
				     "cannot read the platform description");
	mutex_lock(&p->mutex);
	ret = description_keep(p, description, arg, c);
	mutex_unlock(&p->mutex);
	kfree(description);
	return ret;
}

/**
 * description_check() - about to start: is it there, where it has to be, and whole?
 * @p: loaded
 * @c: why not
 *
 * Context: p->mutex is held.
 * Return: 0; -EINVAL: there is none; -EIO: it was overwritten.
 */
int description_check(struct partition *p, struct complaint *c)
{
	if (!description_needed())
		return 0;
	if (!p->description_size)
		return shimos_refuse(c, -EINVAL,
				     "'%s' has no platform description, without which its kernel cannot boot here",
				     p->name);
	if (image_checksum(p, p->layout.description, p->description_size) != p->description_crc)
		return shimos_refuse(c, -EIO,
				     "the copy of the platform description kept in the memory of '%s' was overwritten: remove it and run it anew",
				     p->name);
	return 0;
}

/**
 * description_copy() - copy it to where the kernel finds it
 * @p: checked
 * @offset: from the start of its memory
 *
 * With fresh random numbers and the number of the start.
 *
 * Context: p->mutex is held.
 */
void description_copy(struct partition *p, u64 offset)
{
	char number[START_LEN + 1];

	memcpy(partition_at(p, offset), partition_at(p, p->layout.description),
	       p->description_size);
	if (p->description_seed)
		get_random_bytes(partition_at(p, offset + p->description_seed), SEED_LEN);
	if (p->description_entropy)
		get_random_bytes(partition_at(p, offset + p->description_entropy), ENTROPY_LEN);
	snprintf(number, sizeof(number), "%0*u", START_LEN, p->starts + 1);
	if (p->description_start)
		memcpy(partition_at(p, offset + p->description_start), number, START_LEN);
}
