// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that come and go, while the layer is under some.
 *
 * A CPU that goes off leaves the layer first, and a CPU that comes again gets its
 * instance again, both from its own hot-plug thread.  All of this kernel's CPUs are at home
 * meanwhile (visits.c).  While memory is hidden from this
 * kernel, the layer is under all of its CPUs, and one that cannot have it does not come.
 */
#include <linux/cpuhotplug.h>

#include "spumone.h"

static int hotplug_state, hotplug_change_state;

static int hotplug_again(struct spumone_cpu *s)
{
	int ret = launch_here(s) ?: protect_renew();

	if (ret)
		launch_leave_here(s);
	return ret;
}

/* A CPU comes. */
static int hotplug_online(unsigned int cpu)
{
	struct spumone_cpu *s = per_cpu(launch_cpus, cpu);
	struct complaint c = {};
	int ret = 0;

	if (s)
		ret = hotplug_again(s);
	else if (protect_on())
		ret = launch_add(cpu, 0, &c);
	if (ret)
		pr_err("CPU %u came, but the layer could not be put under it: error %d\n", cpu,
		       ret);
	visits_again();
	return protect_on() ? ret : 0;
}

/* A CPU goes. */
static int hotplug_offline(unsigned int cpu)
{
	struct spumone_cpu *s = per_cpu(launch_cpus, cpu);

	if (turns_any(cpu)) {
		pr_notice("CPU %u stays: a real-time partition shares it\n", cpu);
		return -EBUSY;
	}
	if (visits_any(cpu)) {
		pr_notice("CPU %u stays: one of the host's CPUs is not on its own core, and this has to do with it\n",
			  cpu);
		return -EBUSY;
	}
	visits_home();
	if (s)
		launch_leave_here(s);
	return 0;
}

/* Before a CPU comes, and after it has gone. */
static int hotplug_coming(unsigned int cpu)
{
	visits_home();
	return 0;
}

static int hotplug_gone(unsigned int cpu)
{
	visits_again();
	return 0;
}

/**
 * hotplug_init() - hear of CPUs that come and go
 *
 * Context: may sleep; before the layer is under any CPU.
 * Return: 0 or an error; then none is heard of.
 */
int hotplug_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "shimos:visits", hotplug_coming,
					    hotplug_gone);

	if (ret < 0)
		return ret;
	hotplug_change_state = ret;
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "shimos:layer", hotplug_online,
					hotplug_offline);
	if (ret < 0)
		cpuhp_remove_state_nocalls(hotplug_change_state);
	hotplug_state = ret;
	return ret < 0 ? ret : 0;
}

/**
 * hotplug_exit() - hear of them no more
 *
 * Context: may sleep; the layer is under no CPU.
 */
void hotplug_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	cpuhp_remove_state_nocalls(hotplug_change_state);
}
