// SPDX-License-Identifier: GPL-2.0
/*
 * Taking CPUs from the host and giving them back.
 *
 * A CPU that is lent out is offline for the host, and stays so: nobody can
 * online it while another kernel runs there.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>

#include "kloader.h"

static DEFINE_MUTEX(lend_mutex);	/* one lender at a time */
static struct cpumask lent;		/* changed under lend_mutex */
static int veto_state;

static int veto_online(unsigned int cpu)
{
	if (!cpumask_test_cpu(cpu, &lent))
		return 0;
	pr_notice("CPU %u belongs to a partition and cannot go online\n", cpu);
	return -EBUSY;
}

static int check_cpu(const u32 *cpus, u32 i, struct complaint *c)
{
	u32 cpu = cpus[i], j;

	if (cpu >= nr_cpu_ids || !cpu_present(cpu))
		return refuse(c, -ENODEV, "CPU %u does not exist; this machine has %*pbl",
			      cpu, cpumask_pr_args(cpu_present_mask));
	for (j = 0; j < i; j++)
		if (cpus[j] == cpu)
			return refuse(c, -EINVAL, "CPU %u is in the list twice", cpu);
	if (cpumask_test_cpu(cpu, &lent))
		return refuse(c, -EBUSY, "CPU %u belongs to another partition", cpu);
	if (!cpu_online(cpu))
		return refuse(c, -EBUSY,
			      "CPU %u is offline; try: echo 1 > /sys/devices/system/cpu/cpu%u/online",
			      cpu, cpu);
	return kloader_arch->check_cpu(cpu, c);
}

static int check_cpus(const u32 *cpus, u32 count, struct complaint *c)
{
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = check_cpu(cpus, i, c);
		if (ret)
			return ret;
	}
	if (count >= num_online_cpus())
		return refuse(c, -EBUSY, "that would take the host's last CPU: it has %u online",
			      num_online_cpus());
	return 0;
}

/**
 * cpus_take() - offline CPUs and reserve them; all or none
 *
 * The whole list is checked before the first one is touched.  May sleep.
 */
int cpus_take(const u32 *cpus, u32 count, struct complaint *c)
{
	u32 i;
	int ret;

	mutex_lock(&lend_mutex);
	ret = check_cpus(cpus, count, c);
	for (i = 0; !ret && i < count; i++) {
		ret = remove_cpu(cpus[i]);
		if (ret) {
			refuse(c, ret, "the host cannot take CPU %u offline (error %d): see dmesg",
			       cpus[i], ret);
			break;
		}
		cpumask_set_cpu(cpus[i], &lent);
	}
	mutex_unlock(&lend_mutex);
	if (ret && i)
		cpus_give_back(cpus, i);
	return ret;
}

void cpus_give_back(const u32 *cpus, u32 count)
{
	u32 i;
	int ret;

	mutex_lock(&lend_mutex);
	for (i = 0; i < count; i++) {
		cpumask_clear_cpu(cpus[i], &lent);
		ret = add_cpu(cpus[i]);
		if (ret)
			pr_err("CPU %u does not come back online: error %d\n",
			       cpus[i], ret);
	}
	mutex_unlock(&lend_mutex);
}

int cpus_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "shimos:lent",
					    veto_online, NULL);

	if (ret < 0)
		return ret;
	veto_state = ret;
	return 0;
}

void cpus_exit(void)
{
	cpuhp_remove_state_nocalls(veto_state);
}
