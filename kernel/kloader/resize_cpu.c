// SPDX-License-Identifier: GPL-2.0
/* A CPU comes to a partition that runs, or leaves it. */
#include "arch.h"
#include "resize.h"

static int resize_cpu_index(const u32 *cpus, u32 count, u32 cpu)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return i;
	return -ENOENT;
}

/* Its CPUs, in the eyes of those that stop all of them at any moment. */
static void resize_cpu_append(struct partition *p, u32 cpu)
{
	unsigned long flags;

	lockdep_assert_held(&p->mutex);
	spin_lock_irqsave(&p->cpus_lock, flags);
	p->cpus[p->cpu_count] = cpu;
	cpus_hardware_ids(&cpu, 1, &p->hardware_ids[p->cpu_count]);
	p->cpu_count++;
	spin_unlock_irqrestore(&p->cpus_lock, flags);
}

static void resize_cpu_drop(struct partition *p, u32 i)
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

static int resize_cpu_check_add(struct partition *p, u32 cpu, struct complaint *c)
{
	if (resize_cpu_index(p->cpus, p->cpu_count, cpu) >= 0)
		return shimos_refuse(c, -EEXIST, "CPU %u is its own already", cpu);
	if (resize_cpu_index(p->more, p->more_count, cpu) < 0)
		return shimos_refuse(c, -EINVAL,
				     "CPU %u is none of those that '%s' was told of when it started; it could get %u more: see --max-cpus",
				     cpu, p->name, p->more_count);
	return 0;
}

static int resize_cpu_check_remove(struct partition *p, u32 cpu, struct complaint *c)
{
	int i = resize_cpu_index(p->cpus, p->cpu_count, cpu);

	if (i < 0)
		return shimos_refuse(c, -ENOENT, "'%s' has no CPU %u", p->name, cpu);
	if (!i)
		return shimos_refuse(c, -EPERM,
				     "CPU %u has booted '%s', and stays with it to its end", cpu, p->name);
	return 0;
}

/**
 * resize_cpu_check() - can this CPU come, or go?
 * @p: could be resized
 * @arg: what to do
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int resize_cpu_check(struct partition *p, const struct shimos_resize *arg, struct complaint *c)
{
	if (arg->what == SHIMOS_RESIZE_ADD_CPU)
		return resize_cpu_check_add(p, arg->cpu, c);
	return resize_cpu_check_remove(p, arg->cpu, c);
}

/* Ask its kernel; the CPU that it is to get is its own from then on. */
static int resize_cpu_begin(struct partition *p, const struct shimos_resize *arg, u32 starts,
			struct complaint *c)
{
	struct resize_request request = { .what = arg->what };
	bool adds = arg->what == SHIMOS_RESIZE_ADD_CPU;
	int ret;

	mutex_lock(&p->mutex);
	if (p->starts != starts || p->state != SHIMOS_RUNNING) {
		ret = shimos_refuse(c, -ESHUTDOWN, "'%s' has ended meanwhile", p->name);
		goto unlock;
	}
	if (adds)
		resize_cpu_append(p, arg->cpu);
	cpus_hardware_ids(&arg->cpu, 1, &request.cpu);
	ret = resize_ask(p, &request, c);
	if (ret && adds)
		resize_cpu_drop(p, p->cpu_count - 1);
unlock:
	mutex_unlock(&p->mutex);
	return ret;
}

/* Stop that CPU, and count it as the partition's no longer; it is if it does not stop. */
static int resize_cpu_take_away(struct partition *p, u32 cpu, u32 starts, struct complaint *c)
{
	int ret, i;

	mutex_lock(&p->mutex);
	i = resize_cpu_index(p->cpus, p->cpu_count, cpu);
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
		resize_cpu_drop(p, i);
	mutex_unlock(&p->mutex);
	return ret;
}

/*
 * A CPU that its kernel has not taken goes back, and so does one if it has ended.  Not one
 * that it may still take: it would start it by INIT, whoever has it then.
 */
static int resize_cpu_add(struct partition *p, const struct shimos_resize *arg, u32 starts,
		      struct complaint *c)
{
	struct complaint other;
	int ret = cpus_take(&arg->cpu, 1, c);

	if (ret)
		return ret;
	ret = resize_cpu_begin(p, arg, starts, c);
	if (!ret) {
		ret = resize_answer(p, starts, c);
		if (!ret || ret == -ETIMEDOUT || resize_cpu_take_away(p, arg->cpu, starts, &other))
			return ret;
	}
	cpus_give_back(&arg->cpu, 1);
	return ret;
}

static int resize_cpu_remove(struct partition *p, const struct shimos_resize *arg, u32 starts,
			 struct complaint *c)
{
	int ret = resize_cpu_begin(p, arg, starts, c) ?: resize_answer(p, starts, c) ?:
		  resize_cpu_take_away(p, arg->cpu, starts, c);

	if (!ret)
		cpus_give_back(&arg->cpu, 1);
	return ret;
}

/**
 * resize_cpu() - do it
 * @p: nobody else resizes it
 * @arg: checked
 * @starts: of it, then
 * @c: why not
 *
 * Context: may sleep for half a minute.
 * Return: 0 or an error.
 */
int resize_cpu(struct partition *p, const struct shimos_resize *arg, u32 starts,
	       struct complaint *c)
{
	if (arg->what == SHIMOS_RESIZE_ADD_CPU)
		return resize_cpu_add(p, arg, starts, c);
	return resize_cpu_remove(p, arg, starts, c);
}
