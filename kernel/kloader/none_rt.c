// SPDX-License-Identifier: GPL-2.0
/*
 * An architecture without SPUMONE's layer has no real-time partitions, so that nobody asks
 * about one; and no CPU of the host's is shared.
 */
#include <linux/string.h>

#include "kloader.h"

static int none_refuse(struct complaint *c)
{
	return shimos_refuse(c, -EOPNOTSUPP,
			     "real-time programs share CPUs with the host on x86 processors only");
}

static int none_check_share(struct shimos_create *arg, struct complaint *c)
{
	return none_refuse(c);
}

const struct partition_kind kind_rt = {
	.number		= SHIMOS_KIND_RT,
	.check_share	= none_check_share,
	.check_host	= none_refuse,
};

int kind_rt_status(struct partition *p, struct shimos_rt_status *out, struct complaint *c)
{
	return none_refuse(c);
}

int kind_rt_latency(struct partition *p, struct shimos_rt_latency *out, struct complaint *c)
{
	return none_refuse(c);
}

int kind_rt_vectors(struct partition *p, struct shimos_rt_vectors *out, struct complaint *c)
{
	return none_refuse(c);
}

int kind_rt_check(struct partition *p, struct shimos_rt_check *out, struct complaint *c)
{
	return none_refuse(c);
}

int kind_rt_move(struct partition *p, u32 cpu, struct complaint *c)
{
	return none_refuse(c);
}

int kind_rt_priority(struct partition *p, u32 priority, struct complaint *c)
{
	return none_refuse(c);
}

static int none_refuse_host(struct complaint *c)
{
	return shimos_refuse(c, -ENOENT,
			     "no CPU of the host's is shared, and none can be: real-time programs share CPUs on x86 processors only");
}

int kind_rt_host_move(u32 cpu, u32 core, struct complaint *c)
{
	return none_refuse_host(c);
}

int kind_rt_host_priority(u32 cpu, u32 priority, struct complaint *c)
{
	return none_refuse_host(c);
}

int kind_rt_host_cpus(struct shimos_host_cpus *out)
{
	out->count = 0;
	return 0;
}

int kind_rt_host_policy(struct shimos_host_policy *arg, struct complaint *c)
{
	if (arg->flags)
		return none_refuse_host(c);
	arg->policy = SHIMOS_HOST_POLICY_FIXED;
	return 0;
}

void kind_rt_share(unsigned int chunk, u64 physical)
{
}

void kind_rt_unshare(void)
{
}

void monitor_status(struct partition *p, struct shimos_status *out)
{
	memset(out->watch, 0, sizeof(out->watch));
}
