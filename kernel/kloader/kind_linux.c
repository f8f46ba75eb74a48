// SPDX-License-Identifier: GPL-2.0
/* The kind of partition that runs a stock Linux on CPUs and memory of its own. */
#include <linux/limits.h>
#include <linux/sizes.h>
#include <shimos/ikc.h>

#include "arch.h"

static int kind_check_share(struct shimos_create *arg, struct complaint *c)
{
	if (arg->budget_ns || arg->period_ns || arg->priority)
		return shimos_refuse(c, -EINVAL,
				     "a budget or a priority means nothing to a Linux, which has its CPUs for itself");
	return 0;
}

static int kind_create(struct partition *p, struct complaint *c)
{
	int ret = cpus_take(p->cpus, p->cpu_count, c);

	if (ret)
		return ret;
	cpus_hardware_ids(p->cpus, p->cpu_count, p->hardware_ids);
	ret = kloader_arch_create(p, c);
	if (ret)
		cpus_give_back(p->cpus, p->cpu_count);
	return ret;
}

static void kind_destroy(struct partition *p)
{
	cpus_give_back(p->cpus, p->cpu_count);
	kloader_arch_destroy(p);
}

static int kind_load(struct partition *p, const struct shimos_load *arg,
		     const char *cmdline, struct complaint *c)
{
	return kloader_arch_check_cmdline(cmdline, c) ?: image_load(p, arg, cmdline, c);
}

static int kind_stage(struct partition *p, struct complaint *c)
{
	return image_restage(p, c) ?: description_check(p, c) ?: kloader_arch_stage(p, c);
}

static u64 kind_busy_ns(struct partition *p)
{
	return p->shared && p->agent ? READ_ONCE(p->shared->busy_ns) : 0;
}

static u32 kind_faults(struct partition *p)
{
	u64 exits, strays;

	kloader_arch_guard_counts(p, &exits, &strays);
	return min_t(u64, strays, U32_MAX);
}

static u64 kind_exits(struct partition *p)
{
	u64 exits, strays;

	kloader_arch_guard_counts(p, &exits, &strays);
	return exits;
}

static u32 kind_ready(struct partition *p)
{
	/* pairs with the agent's write barrier: the rest is there */
	return smp_load_acquire(&p->shared->ready) ? READ_ONCE(p->shared->agent_version) : 0;
}

/* The guard's word, or the agent's, but for what is not for it to say. */
static enum shimos_cause kind_ended(struct partition *p)
{
	enum shimos_cause cause = READ_ONCE(p->shared->cause);

	if (kloader_arch_guard_ended(p))
		return SHIMOS_CAUSE_FAULT;
	return cause < SHIMOS_CAUSE_KILLED ? cause : SHIMOS_CAUSE_RESET;
}

static const char *kind_words(struct partition *p)
{
	return kloader_arch_guard_words(p) ?: p->shared->message;
}

static bool kind_owns_cpu(const struct partition *p, u64 hardware_id)
{
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		if (p->hardware_ids[i] == hardware_id)
			return true;
	return false;
}

/* Its bell may name only CPUs of its own. */
static bool kind_ring(struct partition *p)
{
	u64 place = READ_ONCE(p->shared->bell);

	return kind_owns_cpu(p, SHIMOS_BELL_CPU(place)) && ikc_bell_ring(place);
}

static void kind_hear(struct partition *p, u64 bell)
{
	WRITE_ONCE(p->shared->host_bell, bell);
}

const struct partition_kind kind_linux = {
	.number		= SHIMOS_KIND_LINUX,
	.flags		= SHIMOS_CREATE_RESTART | SHIMOS_CREATE_GUARDED,
	.own_cpus	= true,
	.memory_min	= SZ_64M,
	.memory_max	= U64_MAX,
	.devices	= true,
	.heartbeat	= true,
	.check_share	= kind_check_share,
	.check_host	= kloader_arch_check_host,
	.create		= kind_create,
	.destroy	= kind_destroy,
	.host_bytes	= kloader_arch_host_bytes,
	.busy_ns	= kind_busy_ns,
	.faults		= kind_faults,
	.exits		= kind_exits,
	.load		= kind_load,
	.stage		= kind_stage,
	.start		= kloader_arch_start,
	.halt		= kloader_arch_halt,
	.park		= kloader_arch_park,
	.settle		= kloader_arch_settle,
	.watch		= kloader_arch_watch,
	.ready		= kind_ready,
	.ended		= kind_ended,
	.words		= kind_words,
	.ring		= kind_ring,
	.hear		= kind_hear,
};
