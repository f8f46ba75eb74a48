// SPDX-License-Identifier: GPL-2.0
/*
 * Memory comes to a partition that runs, or leaves it.
 *
 * It comes behind what the partition has started with, a range at a time, and the last that
 * came goes first.  All other kernels know of it before its own does, and forget it before it
 * is the host's again: they believe of a partition's memory what is in IKC's table.
 */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <shimos/ikc_host.h>

#include "arch.h"
#include "confine.h"
#include "resize.h"

/* What kernels take memory in: a section, or so much of a large machine's. */
#define RESIZE_STEP_LEAST	SZ_128M
#define RESIZE_STEP_MOST	((u64)SZ_2G)
/* How long other kernels may take to see it: p->mutex is held. */
#define RESIZE_SEEN_MS		2000

/* In which steps its kernel takes memory, as that says; 0: in none. */
static u64 resize_memory_step(const struct partition *p)
{
	u64 step = READ_ONCE(p->shared->memory_step);

	return is_power_of_2(step) && step >= RESIZE_STEP_LEAST && step <= RESIZE_STEP_MOST ? step : 0;
}

/* ---- the table ---- */

static int resize_memory_publish(struct partition *p)
{
	struct ikc_range range[SHIMOS_MAX_RANGES];
	u32 i;

	lockdep_assert_held(&p->mutex);
	for (i = 0; i < p->range_count; i++)
		range[i] = (struct ikc_range){ p->ranges[i].start, p->ranges[i].size };
	return ikc_host_resize(p->ikc_kernel, range, p->range_count, RESIZE_SEEN_MS);
}

/* The last of its ranges has this size from now on, or is gone. */
static void resize_memory_set_last(struct partition *p, u64 size)
{
	struct shimos_range *last = &p->ranges[p->range_count - 1];

	lockdep_assert_held(&p->mutex);
	down_write(&p->memory_sem);
	p->memory = p->memory - last->size + size;
	last->size = size;
	p->range_count -= !size;
	up_write(&p->memory_sem);
}

static void resize_memory_append_range(struct partition *p, const struct shimos_range *range)
{
	lockdep_assert_held(&p->mutex);
	down_write(&p->memory_sem);
	p->ranges[p->range_count++] = *range;
	p->memory += range->size;
	up_write(&p->memory_sem);
}

static int resize_memory_refuse_unseen(struct complaint *c)
{
	return shimos_refuse(c, -ETIMEDOUT,
			     "a partition has not taken notice for %u ms: see `shimos ls` for one that hangs",
			     RESIZE_SEEN_MS);
}

/* For its devices, too. */
static void resize_memory_take_last_away(struct partition *p)
{
	confine_remove(p, &p->ranges[p->range_count - 1]);
	resize_memory_set_last(p, 0);
	resize_memory_publish(p);
}

static int resize_memory_append(struct partition *p, const struct shimos_range *range,
				struct complaint *c)
{
	int ret = confine_add(p, range, c);

	if (ret)
		return ret;
	resize_memory_append_range(p, range);
	if (!resize_memory_publish(p))
		return 0;
	resize_memory_take_last_away(p);
	return resize_memory_refuse_unseen(c);
}

static int resize_memory_cut_last(struct partition *p, u64 size, struct complaint *c)
{
	struct shimos_range whole = p->ranges[p->range_count - 1];
	struct shimos_range cut = { whole.start + whole.size - size, size };
	struct complaint other;

	confine_remove(p, &cut);
	resize_memory_set_last(p, whole.size - size);
	if (!resize_memory_publish(p))
		return 0;
	if (whole.size == size)
		resize_memory_append_range(p, &whole);
	else
		resize_memory_set_last(p, whole.size);
	resize_memory_publish(p);
	if (confine_add(p, &cut, &other))
		pr_warn("%s: %s\n", p->name, other.text);
	return resize_memory_refuse_unseen(c);
}

/* The end of its last range is not its own any more, if it has not been started since. */
static int resize_memory_cut(struct partition *p, u64 size, u32 starts, struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	if (p->state == SHIMOS_STUCK) {
		ret = state_refuse_stuck(p, c);
	} else if (p->starts != starts) {
		ret = shimos_refuse(c, -EBUSY, "'%s' was started again meanwhile, with all of its memory",
				    p->name);
	} else {
		ret = resize_memory_cut_last(p, size, c);
	}
	mutex_unlock(&p->mutex);
	return ret;
}

/* ---- what can be asked for ---- */

static int resize_memory_check_unheld(const struct partition *p, struct complaint *c)
{
	int holder = ikc_host_held(p->ikc_kernel);
	char name[IKC_NAME_LEN];

	if (holder < 0)
		return 0;
	ikc_kernel_name(holder, name);
	return shimos_refuse(c, -EBUSY,
			     "'%s' shares a device with '%s', and knows only the memory that it had then: detach it first",
			     name, p->name);
}

/**
 * resize_memory_check() - can memory come, or go?
 * @p: could be resized
 * @arg: what to do
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int resize_memory_check(struct partition *p, const struct shimos_resize *arg, struct complaint *c)
{
	u64 step = resize_memory_step(p);

	lockdep_assert_held(&p->mutex);
	if (!step)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the kernel of '%s' takes no memory while it runs: it was built without CONFIG_MEMORY_HOTREMOVE",
				     p->name);
	if (!arg->size || !IS_ALIGNED(arg->size, step))
		return shimos_refuse(c, -EINVAL,
				     "the kernel of '%s' takes memory in steps of %llu MiB, and %llu MiB are none",
				     p->name, step >> 20, arg->size >> 20);
	if (arg->what == SHIMOS_RESIZE_REMOVE_MEMORY && p->range_count == p->lasting_ranges)
		return shimos_refuse(c, -ENOSPC,
				     "'%s' keeps the %llu MiB that it has started with: it has got no more since",
				     p->name, p->memory >> 20);
	if (arg->what == SHIMOS_RESIZE_ADD_MEMORY && p->range_count == SHIMOS_MAX_RANGES)
		return shimos_refuse(c, -ENOSPC, "'%s' has memory in %u places already, which is the most",
				     p->name, SHIMOS_MAX_RANGES);
	if (arg->what == SHIMOS_RESIZE_ADD_MEMORY && arg->size > p->kind->memory_max - p->memory)
		return shimos_refuse(c, -EINVAL, "that would be more than %llu MiB, the most that a partition can have",
				     p->kind->memory_max >> 20);
	return resize_memory_check_unheld(p, c);
}

/* ---- the steps ---- */

static int resize_memory_begin(struct partition *p, const struct resize_request *request, u32 starts,
			       struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	if (p->starts != starts || p->state != SHIMOS_RUNNING) {
		ret = shimos_refuse(c, -ESHUTDOWN, "'%s' has ended meanwhile", p->name);
		goto unlock;
	}
	ret = request->what == SHIMOS_RESIZE_ADD_MEMORY ?
	      resize_memory_append(p, &request->range, c) : 0;
	if (ret)
		goto unlock;
	ret = resize_ask(p, request, c);
	if (ret && request->what == SHIMOS_RESIZE_ADD_MEMORY)
		resize_memory_take_last_away(p);
unlock:
	mutex_unlock(&p->mutex);
	return ret;
}

/*
 * What its kernel has not taken goes back, also if it has ended; but not what it may still take, or
 * has begun anew with.
 */
static int resize_memory_add(struct partition *p, struct shimos_resize *arg, u32 starts,
			     struct complaint *c)
{
	struct resize_request request = { .what = arg->what };
	struct complaint other;
	int ret = memory_take_more(p, arg->size, resize_memory_step(p) ?: RESIZE_STEP_MOST,
				   &request.range, c);

	if (ret)
		return ret;
	arg->size = request.range.size;
	ret = resize_memory_begin(p, &request, starts, c);
	if (!ret) {
		ret = resize_answer(p, starts, c);
		if (!ret || ret == -ETIMEDOUT ||
		    resize_memory_cut(p, request.range.size, starts, &other))
			return ret;
	}
	memory_give_range_back(&request.range);
	return ret;
}

static int resize_memory_remove(struct partition *p, struct shimos_resize *arg, u32 starts,
				struct complaint *c)
{
	/* only resizing changes it, and a start; that is seen */
	const struct shimos_range *last = &p->ranges[p->range_count - 1];
	struct resize_request request = { .what = arg->what };
	int ret;

	request.range.size = min(arg->size, last->size);
	request.range.start = last->start + last->size - request.range.size;
	ret = resize_memory_begin(p, &request, starts, c) ?: resize_answer(p, starts, c) ?:
	      resize_memory_cut(p, request.range.size, starts, c);
	if (ret)
		return ret;
	arg->size = request.range.size;
	memory_give_range_back(&request.range);
	return 0;
}

/**
 * resize_memory() - do it
 * @p: nobody else resizes it
 * @arg: checked; gets how much it was, which may be less
 * @starts: of it, then
 * @c: why not
 *
 * Context: may sleep for half a minute.
 * Return: 0 or an error.
 */
int resize_memory(struct partition *p, struct shimos_resize *arg, u32 starts, struct complaint *c)
{
	if (arg->what == SHIMOS_RESIZE_ADD_MEMORY)
		return resize_memory_add(p, arg, starts, c);
	return resize_memory_remove(p, arg, starts, c);
}
