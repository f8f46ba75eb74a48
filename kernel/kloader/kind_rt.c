// SPDX-License-Identifier: GPL-2.0
/*
 * The kind of partition that runs a real-time program on a CPU which it shares with the
 * host, over SPUMONE's layer (SPUMONE 2011, section 3).
 *
 * Its memory, from the start: what the program sees, with the shared area at the end of
 * that; behind it the image as it was loaded, for another start.  If it is protected, all
 * but what both use is hidden from the host while it runs.
 */
#include <linux/file.h>
#include <linux/math64.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <asm/tsc.h>
#include <shimos/ikc_host.h>
#include <shimos/layer_abi.h>
#include <shimos/spumone.h>
#include <uapi/shimos_ikc.h>
#include <uapi/shimos_rt.h>

#include "kind_rt.h"

/* The layer checks it; what nobody has asked for leaves the host alive. */
static int kind_rt_check_share(struct shimos_create *arg, struct complaint *c)
{
	if (!arg->budget_ns && !arg->period_ns) {
		arg->period_ns = SHIMOS_RT_DEFAULT_PERIOD_NS;
		arg->budget_ns = arg->period_ns / 100 * SHIMOS_RT_MAX_BUDGET_PERCENT;
	}
	if (!arg->priority)
		arg->priority = SHIMOS_RT_DEFAULT_PRIORITY;
	return spumone_check_budget(arg->budget_ns, arg->period_ns, c) ?:
	       spumone_check_priority(arg->priority, c);
}

static int kind_rt_check_host(struct complaint *c)
{
	/* any will do: what is asked is the same on all */
	return spumone_check(raw_smp_processor_id(), c);
}

static bool kind_rt_protected(const struct partition *p)
{
	return p->flags & SHIMOS_CREATE_PROTECTED;
}

int kind_rt_number(const struct partition *p)
{
	return p->rt->number;
}

/* ---- its CPU ---- */

static int kind_rt_take_cpu(u32 cpu, struct complaint *c)
{
	int ret = cpus_share(cpu, c);

	if (ret)
		return ret;
	ret = spumone_launch(cpu, c);
	if (ret)
		cpus_unshare(cpu);
	return ret;
}

static void kind_rt_give_cpu(u32 cpu)
{
	spumone_leave(cpu);
	cpus_unshare(cpu);
}

static int kind_rt_protect(struct partition *p, struct complaint *c)
{
	int ret = 0;

	if (kind_rt_protected(p))
		ret = spumone_protect(c);
	if (!ret)
		p->rt->faults = spumone_faults();
	return ret;
}

static void kind_rt_unprotect(struct partition *p)
{
	if (kind_rt_protected(p))
		spumone_unprotect();
}

static int kind_rt_new(struct partition *p, struct complaint *c)
{
	const struct spumone_share share = {
		.budget_ns = p->budget_ns,
		.period_ns = p->period_ns,
		.priority = p->priority,
	};

	p->rt->number = spumone_rt_new(p->cpus[0], &share, c);
	return min(p->rt->number, 0);
}

static int kind_rt_join(struct partition *p, struct complaint *c)
{
	int ret = kind_rt_take_cpu(p->cpus[0], c);

	if (ret)
		return ret;
	ret = kind_rt_protect(p, c);
	if (ret)
		goto give_cpu;
	ret = kind_rt_new(p, c);
	if (!ret)
		return 0;
	kind_rt_unprotect(p);
give_cpu:
	kind_rt_give_cpu(p->cpus[0]);
	return ret;
}

static int kind_rt_create(struct partition *p, struct complaint *c)
{
	int ret;

	if (p->cpu_count != 1)
		return shimos_refuse(c, -EINVAL, "%u CPUs given; a real-time partition shares one",
				     p->cpu_count);
	ret = monitor_create(p, c);
	if (ret)
		return ret;
	p->rt = kzalloc(sizeof(*p->rt), GFP_KERNEL);
	ret = p->rt ? kind_rt_join(p, c) : -ENOMEM;
	if (!ret)
		return 0;
	kfree(p->rt);
	monitor_destroy(p);
	return ret;
}

static void kind_rt_destroy(struct partition *p)
{
	spumone_rt_free(p->rt->number);
	kind_rt_unprotect(p);
	kind_rt_give_cpu(p->cpus[0]);
	monitor_destroy(p);
	kfree(p->rt);
	p->rt = NULL;
}

static u64 kind_rt_host_bytes(const struct partition *p)
{
	return sizeof(*p->rt) + monitor_host_bytes(p);
}

/* ---- its image ---- */

/* From the end: the image, and what the program sees. */
static int kind_rt_place(struct partition *p, u64 image, struct layout *l, struct complaint *c)
{
	u64 size = p->ranges[0].size;

	if (PAGE_ALIGN(image) + SHIMOS_RT_MIN_MEMORY > size)
		return shimos_refuse(c, -ENOMEM,
				     "an image of %llu KiB, which is kept, and 1 MiB for its program do not fit into %llu MiB: give it more memory",
				     image >> 10, size >> 20);
	l->end = size;
	l->stash = size - PAGE_ALIGN(image);
	l->shared = l->stash - SHIMOS_SHARED_SIZE;
	return 0;
}

static int kind_rt_fill(struct partition *p, struct file *image, u64 size, struct complaint *c)
{
	struct layout l = {};
	int ret = state_check_step(p, SHIMOS_LOADED, c) ?: kind_rt_place(p, size, &l, c);

	if (ret)
		return ret;
	ret = image_read_kernel(image, partition_at(p, l.stash), size, "image", c) ?:
	      spumone_rt_check(partition_at(p, l.stash), size, l.stash, c);
	if (ret)
		return ret;
	p->layout = l;
	p->image.size = size;
	p->kernel_crc = image_checksum(p, l.stash, size);
	image_loaded(p);
	return 0;
}

static int kind_rt_load(struct partition *p, const struct shimos_load *arg, const char *cmdline,
		   struct complaint *c)
{
	struct file *image;
	u64 size;
	int ret;

	if (arg->initrd_fd >= 0 || *cmdline)
		return shimos_refuse(c, -EINVAL,
				     "a real-time program has no initrd and no command line");
	image = image_open(arg->kernel_fd, "image", &size, c);
	if (IS_ERR(image))
		return PTR_ERR(image);
	mutex_lock(&p->mutex);
	ret = kind_rt_fill(p, image, size, c);
	mutex_unlock(&p->mutex);
	fput(image);
	return ret;
}

static int kind_rt_stage(struct partition *p, struct complaint *c)
{
	if (image_checksum(p, p->layout.stash, p->image.size) != p->kernel_crc)
		return shimos_refuse(c, -EIO,
				     "the copy of its image kept in the memory of '%s' was overwritten: remove it and run it anew",
				     p->name);
	/* anew each time: a stray write to these would end it again and again */
	return monitor_load(p, partition_at(p, p->layout.stash), p->image.size, p->layout.stash);
}

/* ---- its life ---- */

/* Whoever copies from its memory has done so. */
static void kind_rt_hide(struct partition *p, bool hidden)
{
	down_write(&p->memory_sem);
	p->hidden = hidden;
	up_write(&p->memory_sem);
}

static int kind_rt_start(struct partition *p, struct complaint *c)
{
	struct spumone_rt rt = {
		.memory	= partition_at(p, 0),
		.size	= p->layout.stash,
		.image	= partition_at(p, p->layout.stash),
		.len	= p->image.size,
	};
	int ret;

	p->rt->reason[0] = '\0';
	if (kind_rt_protected(p)) {
		rt.hidden = p->ranges[0].size;
		kind_rt_hide(p, true);
	}
	monitor_prepare(p, &rt);
	ret = spumone_rt_start(p->rt->number, &rt, c);
	if (!ret)
		monitor_started(p);
	return ret;
}

/* The host's own, which can be interrupted only by what it would take away. */
static void kind_rt_halt(struct partition *p)
{
}

static int kind_rt_park(struct partition *p)
{
	struct kind_rt *rt = p->rt;

	spumone_rt_state(rt->number, &rt->last);
	rt->late = *spumone_rt_late(rt->number);
	monitor_ends(p);
	if (rt->last.state == LAYER_RT_CRASHED)
		spumone_rt_reason(&rt->last, rt->reason, sizeof(rt->reason));
	/* if it was started; a host that is not whole cannot stop it */
	if (spumone_rt_stop(rt->number) == -EIO)
		return -EIO;
	kind_rt_hide(p, false);
	if (rt->last.state == LAYER_RT_RUNS && monitor_changed(p))
		monitor_reason(p, rt->reason, sizeof(rt->reason));
	return 0;
}

static void kind_rt_settle(struct partition *p)
{
}

/* The layer says all there is to say; of a CPU that cannot say it any more, too. */
static enum shimos_cause kind_rt_watch(struct partition *p)
{
	unsigned int cpu;
	u64 at;

	if (spumone_host_lost(&cpu, &at))
		pr_emerg_once("CPU %u has had a triple fault at 0x%llx and is lost: real-time programs go on, but this kernel is not whole any more: restart the machine\n",
			      cpu, at);
	return SHIMOS_CAUSE_NONE;
}

static u32 kind_rt_ready(struct partition *p)
{
	struct layer_rt now;

	spumone_rt_state(p->rt->number, &now);
	return now.ready ? SHIMOS_RT_VERSION : 0;
}

static enum shimos_cause kind_rt_ended(struct partition *p)
{
	struct layer_rt now;

	monitor_look(p);
	spumone_rt_state(p->rt->number, &now);
	switch (now.state) {
	case LAYER_RT_CRASHED:
		return SHIMOS_CAUSE_FAULT;
	case LAYER_RT_ENDED:
		return now.why == SHIMOS_RT_END_STOPPED ? SHIMOS_CAUSE_POWEROFF :
							  SHIMOS_CAUSE_FAILED;
	}
	return monitor_changed(p) ? SHIMOS_CAUSE_CHANGED : SHIMOS_CAUSE_NONE;
}

static const char *kind_rt_words(struct partition *p)
{
	return p->rt->reason[0] ? p->rt->reason : p->shared->message;
}

static bool kind_rt_ring(struct partition *p)
{
	spumone_rt_ring(p->rt->number);
	return true;
}

static void kind_rt_hear(struct partition *p, u64 bell)
{
	WRITE_ONCE(p->shared->host_bell, bell);
	spumone_rt_hear(p->rt->number, bell);
}

static u64 kind_rt_bell(struct partition *p)
{
	return spumone_rt_bell(p->cpus[0]);
}

void kind_rt_share(unsigned int chunk, u64 physical)
{
	spumone_rt_share(chunk, physical);
}

void kind_rt_unshare(void)
{
	spumone_rt_unshare();
}

/* ---- how it shares ---- */

static u64 kind_rt_busy_ns(struct partition *p)
{
	struct layer_rt now;

	if (p->gone)
		return 0;
	kind_rt_now(p, &now);
	return kind_rt_cycles_to_ns(now.cycles);
}

/* All of the host's, while this one is there: what it touched may be the layer's. */
static u32 kind_rt_faults(struct partition *p)
{
	if (p->gone || !kind_rt_protected(p))
		return 0;
	return min_t(u64, spumone_faults() - p->rt->faults, U32_MAX);
}

/* Both CPUs are its own until it is on the new one, and everybody rings it there. */
static int kind_rt_change_cpu(struct partition *p, u32 cpu, struct complaint *c)
{
	u32 before = p->cpus[0];
	int ret;

	if (cpu == before)
		return shimos_refuse(c, -EINVAL, "'%s' shares CPU %u already", p->name, cpu);
	ret = kind_rt_take_cpu(cpu, c);
	if (ret)
		return ret;
	ret = spumone_rt_move(p->rt->number, cpu, c);
	if (ret) {
		kind_rt_give_cpu(cpu);
		return ret;
	}
	p->cpus[0] = cpu;
	ikc_host_move_bell(p->ikc_kernel, spumone_rt_bell(cpu));
	/* who had still rung it where it was */
	spumone_rt_ring(p->rt->number);
	kind_rt_give_cpu(before);
	return 0;
}

/**
 * kind_rt_move() - let a real-time partition share another CPU
 * @p: of this kind
 * @cpu: any number
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it is where it was.
 */
int kind_rt_move(struct partition *p, u32 cpu, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);

	if (ret)
		return ret;
	ret = kind_rt_change_cpu(p, cpu, c);
	mutex_unlock(&p->mutex);
	return ret;
}

/**
 * kind_rt_priority() - let a real-time partition go before others as urgently as this
 * @p: of this kind
 * @priority: any number
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it has the priority that it had.
 */
int kind_rt_priority(struct partition *p, u32 priority, struct complaint *c)
{
	int ret = kind_rt_hold(p, c);

	if (ret)
		return ret;
	ret = spumone_rt_priority(p->rt->number, priority, c);
	if (!ret)
		p->priority = priority;
	mutex_unlock(&p->mutex);
	return ret;
}

const struct partition_kind kind_rt = {
	.number		= SHIMOS_KIND_RT,
	.flags		= SHIMOS_CREATE_RESTART | SHIMOS_CREATE_PROTECTED | SHIMOS_CREATE_RENEW,
	.memory_min	= MEMORY_ALIGN,
	.memory_max	= SHIMOS_RT_MAX_MEMORY,
	.one_range	= true,
	.check_share	= kind_rt_check_share,
	.check_host	= kind_rt_check_host,
	.create		= kind_rt_create,
	.destroy	= kind_rt_destroy,
	.host_bytes	= kind_rt_host_bytes,
	.busy_ns	= kind_rt_busy_ns,
	.faults		= kind_rt_faults,
	.load		= kind_rt_load,
	.stage		= kind_rt_stage,
	.start		= kind_rt_start,
	.halt		= kind_rt_halt,
	.park		= kind_rt_park,
	.settle		= kind_rt_settle,
	.watch		= kind_rt_watch,
	.ready		= kind_rt_ready,
	.ended		= kind_rt_ended,
	.words		= kind_rt_words,
	.ring		= kind_rt_ring,
	.hear		= kind_rt_hear,
	.bell		= kind_rt_bell,
};
