// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that come and go while this kernel runs.
 *
 * Its tables list CPUs that it may get later, and its users could bring one of these
 * online while it is still another kernel's: that is refused here.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>

#include "agent.h"

static struct cpumask agent_cpus;	/* this kernel's; changed by the work that does requests */
static int agent_cpus_state;

static int agent_cpus_prepare(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &agent_cpus))
		return 0;
	pr_notice("CPU %u is not this partition's: the host gives it one by `shimos resize`\n", cpu);
	return -EPERM;
}

/**
 * agent_cpus_init() - let no CPU come online that is not this partition's
 *
 * Context: process; may sleep.
 * Return: 0 or an error.
 */
int agent_cpus_init(void)
{
	int ret;

	cpumask_copy(&agent_cpus, cpu_online_mask);
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "shimos:own", agent_cpus_prepare,
					NULL);
	if (ret < 0)
		return ret;
	agent_cpus_state = ret;
	return 0;
}

/**
 * agent_cpus_exit() - the agent goes again: nothing of it may stay behind
 *
 * Context: process; may sleep.
 */
void agent_cpus_exit(void)
{
	cpuhp_remove_state_nocalls(agent_cpus_state);
}

/**
 * agent_cpus_find() - find a CPU that this kernel has or can get
 * @hardware_id: its
 *
 * Context: any.
 * Return: Linux's number of it or -ENODEV.
 */
int agent_cpus_find(u64 hardware_id)
{
	unsigned int cpu;

	for_each_present_cpu(cpu)
		if (agent_arch_hardware_id(cpu) == hardware_id)
			return cpu;
	return -ENODEV;
}

static int agent_cpus_add(unsigned int cpu)
{
	int ret;

	cpumask_set_cpu(cpu, &agent_cpus);
	ret = add_cpu(cpu);
	if (ret < 0)
		cpumask_clear_cpu(cpu, &agent_cpus);
	return ret;
}

static int agent_cpus_remove(unsigned int cpu)
{
	int ret;

	/* nobody brings it back between its going and the host's taking it */
	cpumask_clear_cpu(cpu, &agent_cpus);
	ret = remove_cpu(cpu);
	if (ret < 0)
		cpumask_set_cpu(cpu, &agent_cpus);
	return ret;
}

/**
 * agent_cpus_resize() - take a CPU, or leave it
 * @hardware_id: which
 * @add: take it
 *
 * Context: process; may sleep for seconds.
 * Return: 0, also if it was so already, or an error.
 */
int agent_cpus_resize(u64 hardware_id, bool add)
{
	int cpu = agent_cpus_find(hardware_id), ret;

	if (cpu < 0)
		return cpu;
	ret = add ? agent_cpus_add(cpu) : agent_cpus_remove(cpu);
	return min(ret, 0);
}
