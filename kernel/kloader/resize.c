// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions that grow and shrink while they run: one CPU at a time comes or goes.
 *
 * Its kernel takes the CPU or leaves it, and says so.  Nobody waits for that with p->mutex
 * held: a kernel that hangs must be killed all the same.  What the CPU does meanwhile is
 * the partition's in any case, and stopped with the rest of it.
 */
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "arch.h"

/* How long its kernel may take; emulated ones may be starved. */
#define RESIZE_ANSWER	(30 * HZ)

static int resize_index(const u32 *cpus, u32 count, u32 cpu)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return i;
	return -ENOENT;
}

/* Its CPUs, in the eyes of those that stop all of them at any moment. */
static void resize_append(struct partition *p, u32 cpu)
{
	unsigned long flags;

	lockdep_assert_held(&p->mutex);
	spin_lock_irqsave(&p->cpus_lock, flags);
	p->cpus[p->cpu_count] = cpu;
	cpus_hardware_ids(&cpu, 1, &p->hardware_ids[p->cpu_count]);
	p->cpu_count++;
	spin_unlock_irqrestore(&p->cpus_lock, flags);
}

static void resize_drop(struct partition *p, u32 i)
{
	unsigned long flags;

	lockdep_assert_held(&p->mutex);
	spin_lock_irqsave(&p->cpus_lock, flags);
	for (; i + 1 < p->cpu_count; i++) {
		p->cpus[i] = p->cpus[i + 1];
		p->hardware_ids[i] = p->hardware_ids[i + 1];
	}
	p->cpu_count--;
	spin_unlock_irqrestore(&p->cpus_lock, flags);
}

/* ---- what can be asked for ---- */

static int resize_check(struct partition *p, struct complaint *c)
{
	lockdep_assert_held(&p->mutex);
	if (!p->kind->own_cpus)
		return shimos_refuse(c, -EINVAL, "'%s' shares a CPU with the host, and has no other",
				     p->name);
	if (p->state != SHIMOS_RUNNING || !p->agent)
		return shimos_refuse(c, -EBUSY,
				     "'%s' is %s: its CPUs can change only while it runs and has an agent",
				     p->name, state_name(p->state));
	if (p->resizing)
		return shimos_refuse(c, -EBUSY, "'%s' is getting or losing a CPU just now", p->name);
	return kloader_arch_check_resize(p, c);
}

static int resize_check_add(struct partition *p, u32 cpu, struct complaint *c)
{
	if (resize_index(p->cpus, p->cpu_count, cpu) >= 0)
		return shimos_refuse(c, -EEXIST, "CPU %u is its own already", cpu);
	if (resize_index(p->more, p->more_count, cpu) < 0)
		return shimos_refuse(c, -EINVAL,
				     "CPU %u is none of those that '%s' was told of when it started; it could get %u more: see --max-cpus",
				     cpu, p->name, p->more_count);
	return 0;
}

static int resize_check_remove(struct partition *p, u32 cpu, struct complaint *c)
{
	int i = resize_index(p->cpus, p->cpu_count, cpu);

	if (i < 0)
		return shimos_refuse(c, -ENOENT, "'%s' has no CPU %u", p->name, cpu);
	if (!i)
		return shimos_refuse(c, -EPERM,
				     "CPU %u has booted '%s', and stays with it to its end", cpu, p->name);
	return 0;
}

/* ---- asking its kernel ---- */

static int resize_ask(struct partition *p, u32 what, u32 cpu, struct complaint *c)
{
	u64 id;

	lockdep_assert_held(&p->mutex);
	cpus_hardware_ids(&cpu, 1, &id);
	p->resize_number++;
	WRITE_ONCE(p->shared->resize_what, what);
	WRITE_ONCE(p->shared->resize_cpu, id);
	WRITE_ONCE(p->shared->resize_number, p->resize_number);
	smp_wmb();	/* pairs with the agent's xchg(): the request says that these are there */
	WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_RESIZE);
	smp_wmb();	/* the agent reads the request after the ring */
	if (!p->kind->ring(p)) {
		WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_NONE);
		return shimos_refuse(c, -ENOTCONN,
				     "the agent of '%s' has no doorbell on a CPU of its own", p->name);
	}
	return 0;
}

/* It has answered, or is not what it was: then it will not. */
static bool resize_is_over(struct partition *p, u32 starts)
{
	return READ_ONCE(p->starts) != starts || !state_is_up(p) ||
	       READ_ONCE(p->shared->resized) == p->resize_number;
}

/* Wait for the answer: 0, or why it has not done it.  Without p->mutex. */
static int resize_answer(struct partition *p, u32 starts, struct complaint *c)
{
	int ret;

	/* all of its kernel's rings end here, and so do its life's steps */
	wait_event_timeout(p->console_wait, resize_is_over(p, starts), RESIZE_ANSWER);
	if (READ_ONCE(p->starts) != starts || !state_is_up(p))
		return shimos_refuse(c, -ESHUTDOWN, "'%s' has ended meanwhile", p->name);
	/* pairs with the agent's release: its error is there */
	if (smp_load_acquire(&p->shared->resized) != p->resize_number)
		return shimos_refuse(c, -ETIMEDOUT,
				     "the kernel of '%s' has not answered for %u seconds; the CPU is its own until it lets it go",
				     p->name, RESIZE_ANSWER / HZ);
	ret = READ_ONCE(p->shared->resize_error);
	if (ret)
		return shimos_refuse(c, -EBUSY, "the kernel of '%s' refuses (error %d): see shimos logs %s",
				     p->name, ret, p->name);
	return 0;
}

/* ---- the steps ---- */

/* From here on nobody else resizes it, and it is not destroyed. */
static int resize_reserve(struct partition *p, const struct shimos_resize *arg, u32 *starts,
			  struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	ret = resize_check(p, c);
	if (!ret && arg->what == SHIMOS_RESIZE_ADD_CPU)
		ret = resize_check_add(p, arg->cpu, c);
	else if (!ret)
		ret = resize_check_remove(p, arg->cpu, c);
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

/* Ask its kernel; the CPU that it is to get is its own from then on. */
static int resize_begin(struct partition *p, const struct shimos_resize *arg, u32 starts,
			struct complaint *c)
{
	bool adds = arg->what == SHIMOS_RESIZE_ADD_CPU;
	int ret;

	mutex_lock(&p->mutex);
	if (p->starts != starts || p->state != SHIMOS_RUNNING) {
		ret = shimos_refuse(c, -ESHUTDOWN, "'%s' has ended meanwhile", p->name);
		goto unlock;
	}
	if (adds)
		resize_append(p, arg->cpu);
	ret = resize_ask(p, arg->what, arg->cpu, c);
	if (ret && adds)
		resize_drop(p, p->cpu_count - 1);
unlock:
	mutex_unlock(&p->mutex);
	return ret;
}

/* Stop that CPU, and count it as the partition's no longer; it is if it does not stop. */
static int resize_take_away(struct partition *p, u32 cpu, u32 starts, struct complaint *c)
{
	int ret, i;

	mutex_lock(&p->mutex);
	i = resize_index(p->cpus, p->cpu_count, cpu);
	if (p->state == SHIMOS_STUCK)
		ret = state_refuse_stuck(p, c);
	else if (p->starts != starts)
		ret = shimos_refuse(c, -EBUSY, "'%s' was started again meanwhile, with CPU %u",
				    p->name, cpu);
	else if (kloader_arch_park_cpu(p, i))
		ret = shimos_refuse(c, -EIO, "CPU %u does not stop, and stays with '%s': see dmesg",
				    cpu, p->name);
	else
		ret = 0;
	if (!ret)
		resize_drop(p, i);
	mutex_unlock(&p->mutex);
	return ret;
}

/*
 * A CPU that its kernel has not taken goes back, and so does one if it has ended.  Not one
 * that it may still take: it would start it by INIT, whoever has it then.
 */
static int resize_add(struct partition *p, const struct shimos_resize *arg, u32 starts,
		      struct complaint *c)
{
	struct complaint other;
	int ret = cpus_take(&arg->cpu, 1, c);

	if (ret)
		return ret;
	ret = resize_begin(p, arg, starts, c);
	if (!ret) {
		ret = resize_answer(p, starts, c);
		if (!ret || ret == -ETIMEDOUT || resize_take_away(p, arg->cpu, starts, &other))
			return ret;
	}
	cpus_give_back(&arg->cpu, 1);
	return ret;
}

static int resize_remove(struct partition *p, const struct shimos_resize *arg, u32 starts,
			 struct complaint *c)
{
	int ret = resize_begin(p, arg, starts, c) ?: resize_answer(p, starts, c) ?:
		  resize_take_away(p, arg->cpu, starts, c);

	if (!ret)
		cpus_give_back(&arg->cpu, 1);
	return ret;
}

/**
 * resize_partition() - give a CPU to a partition that runs, or take one back
 * @p: which
 * @arg: what to do
 * @c: why not
 *
 * Context: may sleep for half a minute.
 * Return: 0 or an error; see struct shimos_resize.
 */
int resize_partition(struct partition *p, const struct shimos_resize *arg, struct complaint *c)
{
	u32 starts;
	int ret;

	if (arg->what != SHIMOS_RESIZE_ADD_CPU && arg->what != SHIMOS_RESIZE_REMOVE_CPU)
		return shimos_refuse(c, -EINVAL, "there is no way %u to resize a partition", arg->what);
	ret = resize_reserve(p, arg, &starts, c);
	if (ret)
		return ret;
	if (arg->what == SHIMOS_RESIZE_ADD_CPU)
		ret = resize_add(p, arg, starts, c);
	else
		ret = resize_remove(p, arg, starts, c);
	resize_release(p);
	return ret;
}
