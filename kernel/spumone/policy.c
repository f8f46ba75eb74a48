// SPDX-License-Identifier: GPL-2.0
/*
 * Where CPUs of this kernel's are while RTOSes share some of them (SPUMONE 2011, figure 2).
 *
 * A policy gives each a core, and perhaps a refuge: a core without an RTOS where it goes by
 * itself.  Several may have the same one, and then they take turns.
 */
#include <linux/cpu.h>
#include <linux/module.h>

#include "spumone.h"

static enum spumone_policy policy;	/* guarded by launch_mutex */

/* Of one CPU.  Its own number: it is at home, or stays. */
struct policy_place {
	unsigned int core, refuge;
};

static unsigned int policy_count(void)
{
	return min(LAYER_HOSTS, nr_cpu_ids);
}

/* How many have a core, or flee to it, besides one CPU?  Not those that have it as their own. */
static unsigned int policy_guests(unsigned int core, unsigned int but)
{
	unsigned int cpu, count = 0;

	for (cpu = 0; cpu < policy_count(); cpu++)
		if (cpu != but && cpu != core)
			count += visits_wanted(cpu) == core || visits_refuge(cpu) == core;
	return count;
}

/* The one with fewest guests that has no RTOS; the next one after the CPU.  Its own number: none. */
static unsigned int policy_free_core(unsigned int cpu)
{
	unsigned int i, core, best = cpu, guests, least = UINT_MAX;

	for (i = 1; i < policy_count(); i++) {
		core = (cpu + i) % policy_count();
		if (!cpu_online(core) || turns_any(core))
			continue;
		guests = policy_guests(core, cpu);
		if (guests < least) {
			least = guests;
			best = core;
		}
	}
	return best;
}

/* The first one with an RTOS; a CPU's own number: none. */
static unsigned int policy_shared_core(unsigned int cpu)
{
	unsigned int core;

	for (core = 0; core < policy_count(); core++)
		if (turns_any(core))
			return core;
	return cpu;
}

static struct policy_place policy_place(unsigned int cpu)
{
	struct policy_place at = { cpu, cpu };

	switch (policy) {
	case SPUMONE_POLICY_FIXED:
		at.core = visits_wanted(cpu);
		break;
	case SPUMONE_POLICY_SPREAD:
		if (turns_any(cpu))
			at.core = policy_free_core(cpu);
		break;
	case SPUMONE_POLICY_PACK:
		at.core = policy_shared_core(cpu);
		break;
	case SPUMONE_POLICY_LHP:
	case SPUMONE_POLICY_USER_ONLY:
		if (turns_any(cpu))
			at.refuge = policy_free_core(cpu);
		break;
	}
	return at;
}

/* The layer is under both as long as one is the other one's refuge. */
static int policy_flee(unsigned int cpu, unsigned int core, struct complaint *c)
{
	unsigned int was = visits_refuge(cpu);
	int ret;

	if (core == was)
		return 0;
	ret = core == cpu ? 0 : host_ask_both(cpu, core, c);
	if (ret)
		return ret;
	visits_take_refuge(cpu, core);
	host_ask_no_more(cpu, was);
	return 0;
}

static void policy_apply(unsigned int cpu)
{
	struct policy_place at = policy_place(cpu);
	struct complaint c = { "" };

	visits_keep_kernel_out(cpu, policy == SPUMONE_POLICY_USER_ONLY);
	if ((at.core != visits_wanted(cpu) && host_move(cpu, at.core, &c)) ||
	    policy_flee(cpu, at.refuge, &c))
		pr_err("CPU %u does not move as it should: %s\n", cpu, c.text);
}

/**
 * policy_renew() - an RTOS has come, or gone, or moved
 *
 * Context: may sleep; under launch_lock().
 */
void policy_renew(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < policy_count(); cpu++)
		if (cpu_online(cpu))
			policy_apply(cpu);
}

int spumone_policy(enum spumone_policy to, struct complaint *c)
{
	int ret = launch_lock_all(c);

	if (ret)
		return ret;
	if (to != SPUMONE_POLICY_FIXED)
		ret = visits_check(0, c);
	if (!ret && to != policy) {
		host_home();
		policy = to;
		policy_renew();
	}
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_policy);

enum spumone_policy spumone_policy_now(void)
{
	enum spumone_policy now;

	mutex_lock(&launch_mutex);
	now = policy;
	mutex_unlock(&launch_mutex);
	return now;
}
EXPORT_SYMBOL_GPL(spumone_policy_now);

static int policy_check_move(struct complaint *c)
{
	if (policy == SPUMONE_POLICY_FIXED)
		return 0;
	return shimos_refuse(c, -EBUSY,
			     "a policy says where the host's CPUs are: with 'fixed' they can be moved");
}

int spumone_host_move(unsigned int cpu, unsigned int core, struct complaint *c)
{
	int ret = launch_lock_all(c);

	if (ret)
		return ret;
	ret = policy_check_move(c) ?: host_move(cpu, core, c);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_host_move);
