// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions that grow and shrink while they run: a CPU or some memory at a time comes or goes.
 *
 * Its kernel takes it or leaves it, and says so.  Nobody waits for that with p->mutex
 * held: a kernel that hangs must be killed all the same.  What it may have meanwhile is
 * the partition's in any case, and a CPU of it is stopped with the rest.
 */
#include "arch.h"
#include "resize.h"

static int resize_check(struct partition *p, struct complaint *c)
{
	lockdep_assert_held(&p->mutex);
	if (!p->kind->own_cpus)
		return shimos_refuse(c, -EINVAL, "'%s' is a real-time program, and has what it was given",
				     p->name);
	if (p->state != SHIMOS_RUNNING || !p->agent)
		return shimos_refuse(c, -EBUSY,
				     "'%s' is %s: it can grow and shrink only while it runs and has an agent",
				     p->name, state_name(p->state));
	if (p->resizing)
		return shimos_refuse(c, -EBUSY, "'%s' is growing or shrinking just now", p->name);
	return kloader_arch_check_resize(p, c);
}

static bool resize_is_cpu(const struct shimos_resize *arg)
{
	return arg->what == SHIMOS_RESIZE_ADD_CPU || arg->what == SHIMOS_RESIZE_REMOVE_CPU;
}

/* From here on nobody else resizes it, and it is not destroyed. */
static int resize_reserve(struct partition *p, const struct shimos_resize *arg, u32 *starts,
			  struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	ret = resize_check(p, c);
	if (!ret)
		ret = resize_is_cpu(arg) ? resize_cpu_check(p, arg, c) :
					   resize_memory_check(p, arg, c);
	if (!ret)
		p->resizing = true;
	*starts = p->starts;
	mutex_unlock(&p->mutex);
	return ret;
}

static void resize_release(struct partition *p)
{
	mutex_lock(&p->mutex);
	p->resizing = false;
	state_event(p);
	mutex_unlock(&p->mutex);
}

/**
 * resize_partition() - give a CPU or memory to a partition that runs, or take some back
 * @p: which
 * @arg: what to do; gets how much memory it was
 * @c: why not
 *
 * Context: may sleep for half a minute.
 * Return: 0 or an error; see struct shimos_resize.
 */
int resize_partition(struct partition *p, struct shimos_resize *arg, struct complaint *c)
{
	u32 starts;
	int ret;

	if (arg->what < SHIMOS_RESIZE_ADD_CPU || arg->what > SHIMOS_RESIZE_REMOVE_MEMORY)
		return shimos_refuse(c, -EINVAL, "there is no way %u to resize a partition", arg->what);
	ret = resize_reserve(p, arg, &starts, c);
	if (ret)
		return ret;
	if (resize_is_cpu(arg))
		ret = resize_cpu(p, arg, starts, c);
	else
		ret = resize_memory(p, arg, starts, c);
	resize_release(p);
	return ret;
}
