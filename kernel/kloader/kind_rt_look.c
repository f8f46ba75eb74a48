// SPDX-License-Identifier: GPL-2.0
/* What can be asked of a real-time partition: how it shares its CPU, and whether it is intact. */
#include <linux/math64.h>
#include <asm/tsc.h>
#include <uapi/shimos_rt.h>

#include "kind_rt.h"

/**
 * kind_rt_cycles_to_ns() - cycles of the TSC in nanoseconds
 * @cycles: of a span
 *
 * Context: any.
 */
u64 kind_rt_cycles_to_ns(u64 cycles)
{
	return mul_u64_u64_div_u64(cycles, NSEC_PER_MSEC, tsc_khz);
}

/**
 * kind_rt_now() - how it is, or was when it ran last
 * @p: of this kind
 * @out: gets that
 *
 * Context: p->mutex is held.
 */
void kind_rt_now(struct partition *p, struct layer_rt *out)
{
	if (state_is_up(p))
		spumone_rt_state(p->rt->number, out);
	else
		*out = p->rt->last;
}

/**
 * kind_rt_hold() - let nobody remove it, start it or stop it until p->mutex is given back
 * @p: of this kind
 * @c: why not
 *
 * Context: may sleep; takes p->mutex if it returns 0.
 * Return: 0; -ENOENT: it is being removed.
 */
int kind_rt_hold(struct partition *p, struct complaint *c)
{
	mutex_lock(&p->mutex);
	if (!p->gone)
		return 0;
	mutex_unlock(&p->mutex);
	return shimos_refuse(c, -ENOENT, "'%s' is being removed", p->name);
}

/**
 * kind_rt_status() - how a real-time partition shares its CPU
 * @p: of this kind
 * @out: all but the header
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT: it is being removed.
 */
int kind_rt_status(struct partition *p, struct shimos_rt_status *out, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);
	struct layer_rt now;

	if (ret)
		return ret;
	kind_rt_now(p, &now);
	out->host_exits = spumone_exits(p->cpus[0]);
	out->cpu = p->cpus[0];
	mutex_unlock(&p->mutex);
	out->ran_ns = kind_rt_cycles_to_ns(now.cycles);
	out->entered = now.entered;
	out->masked = now.masked;
	out->exits = now.exits;
	out->timers = now.timers;
	out->past = now.past;
	out->throttled = now.throttled;
	out->moves = now.moves;
	out->moved_ns = kind_rt_cycles_to_ns(now.moved_last);
	out->moved_max_ns = kind_rt_cycles_to_ns(now.moved_max);
	return 0;
}

static void kind_rt_fill_latency(const struct layer_late *late, struct shimos_rt_latency *out)
{
	BUILD_BUG_ON(LAYER_LATE_STEPS != SHIMOS_RT_LATENCY_STEPS);
	BUILD_BUG_ON(sizeof(late->buckets) != sizeof(out->buckets));
	memcpy(out->buckets, late->buckets, sizeof(out->buckets));
	out->count = READ_ONCE(late->count);
	out->min = out->count ? READ_ONCE(late->min) : 0;
	out->max = READ_ONCE(late->max);
	out->sum = READ_ONCE(late->sum);
}

/**
 * kind_rt_latency() - how late a real-time partition gets its timer's interrupts
 * @p: of this kind
 * @out: all but the header
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT: it is being removed.
 */
int kind_rt_latency(struct partition *p, struct shimos_rt_latency *out, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);
	struct layer_rt now;

	if (ret)
		return ret;
	kind_rt_now(p, &now);
	kind_rt_fill_latency(state_is_up(p) ? spumone_rt_late(p->rt->number) : &p->rt->late, out);
	mutex_unlock(&p->mutex);
	out->cycles_per_second = (u64)tsc_khz * 1000;
	out->past = now.past;
	return 0;
}

/**
 * kind_rt_vectors() - which interrupts a real-time partition and its CPU have had
 * @p: of this kind
 * @out: all but the header
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT: it is being removed.
 */
int kind_rt_vectors(struct partition *p, struct shimos_rt_vectors *out, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);
	struct layer_rt now;

	if (ret)
		return ret;
	out->cpu = p->cpus[0];
	spumone_vectors(out->cpu, out);
	kind_rt_now(p, &now);
	mutex_unlock(&p->mutex);
	out->program[0] = (struct shimos_rt_vector_count) { now.timers, SHIMOS_RT_TIMER, "timer" };
	out->program[1] = (struct shimos_rt_vector_count) { now.bells, SHIMOS_RT_BELL, "bell" };
	return 0;
}

static int kind_rt_look_at(struct partition *p, struct shimos_rt_check *out, struct complaint *c)
{
	if (!p->starts)
		return shimos_refuse(c, -EINVAL,
				     "'%s' has never run, so its memory holds nothing yet: start it",
				     p->name);
	if (p->hidden)
		return shimos_refuse(c, -EBUSY,
				     "the memory of '%s' is protected from the host while it runs: stop it, or let another program watch it",
				     p->name);
	out->image_changed = image_checksum(p, p->layout.stash, p->image.size) != p->kernel_crc;
	return monitor_check(p, out, c);
}

/**
 * kind_rt_check() - is what nobody may change in its memory as it was loaded?
 * @p: of this kind
 * @out: all but the header
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -ENOENT: it is being removed; -EINVAL, -EBUSY: the host cannot know.
 */
int kind_rt_check(struct partition *p, struct shimos_rt_check *out, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);

	if (ret)
		return ret;
	ret = kind_rt_look_at(p, out, c);
	mutex_unlock(&p->mutex);
	return ret;
}
