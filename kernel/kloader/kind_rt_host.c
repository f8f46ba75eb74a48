// SPDX-License-Identifier: GPL-2.0
/* The host's own CPUs, while some are shared: where they are. */
#include <linux/cpumask.h>

#include "kind_rt.h"

static int kind_rt_host_check(struct complaint *c)
{
	if (spumone_rt_any())
		return 0;
	return shimos_refuse(c, -ENOENT,
			     "no CPU of the host's is shared, and nothing of this means anything: start a real-time program first");
}

/**
 * kind_rt_host_move() - one of the host's CPUs runs on another one's core
 * @cpu: which
 * @core: the other one's number; its own: it comes home
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it is where it was.
 */
int kind_rt_host_move(u32 cpu, u32 core, struct complaint *c)
{
	int ret = kind_rt_host_check(c);

	return ret ?: spumone_host_move(cpu, core, c);
}

/**
 * kind_rt_host_priority() - real-time tasks of a CPU go before programs that are less urgent
 * @cpu: which
 * @priority: up to this one; 0: it goes after all programs
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it is as it was.
 */
int kind_rt_host_priority(u32 cpu, u32 priority, struct complaint *c)
{
	int ret = kind_rt_host_check(c);

	return ret ?: spumone_host_priority(cpu, priority, c);
}

/**
 * kind_rt_host_cpus() - where those are that can move
 * @out: all but the header
 *
 * Context: may sleep.
 * Return: 0.
 */
int kind_rt_host_cpus(struct shimos_host_cpus *out)
{
	struct spumone_host host;
	unsigned int cpu;

	BUILD_BUG_ON(LAYER_HOSTS != SHIMOS_HOST_CPUS);
	out->count = 0;
	for (cpu = 0; cpu < LAYER_HOSTS; cpu++) {
		if (!spumone_host_state(cpu, &host))
			continue;
		out->at[out->count++] = (struct shimos_host_cpu) {
			.cpu = cpu,
			.core = host.core,
			.exits = host.exits,
			.moves = host.moves,
			.moved_ns = kind_rt_cycles_to_ns(host.moved_last),
			.moved_max_ns = kind_rt_cycles_to_ns(host.moved_max),
			.priority = host.priority,
			.lost = host.lost,
		};
	}
	return 0;
}

/**
 * kind_rt_host_policy() - where they are while real-time programs share some of them
 * @arg: see SHIMOS_IOC_HOST_POLICY
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it is as it was.
 */
int kind_rt_host_policy(struct shimos_host_policy *arg, struct complaint *c)
{
	int ret = 0;

	BUILD_BUG_ON(SHIMOS_HOST_POLICY_FIXED != SPUMONE_POLICY_FIXED);
	BUILD_BUG_ON(SHIMOS_HOST_POLICY_LHP != SPUMONE_POLICY_LHP);
	BUILD_BUG_ON(SHIMOS_HOST_POLICY_SPREAD != SPUMONE_POLICY_SPREAD);
	BUILD_BUG_ON(SHIMOS_HOST_POLICY_PACK != SPUMONE_POLICY_PACK);
	BUILD_BUG_ON(SHIMOS_HOST_POLICY_USER_ONLY != SPUMONE_POLICY_USER_ONLY);
	if (arg->flags & ~SHIMOS_HOST_POLICY_SET)
		return shimos_refuse(c, -EINVAL, "flags %#x: only SET is known", arg->flags);
	if (arg->flags && arg->policy > SHIMOS_HOST_POLICY_USER_ONLY)
		return shimos_refuse(c, -EINVAL, "there is no policy %u", arg->policy);
	if (arg->flags)
		ret = spumone_policy(arg->policy, c);
	arg->policy = spumone_policy_now();
	return ret;
}
