// SPDX-License-Identifier: GPL-2.0
/*
 * Taking CPUs from the host and giving them back.
 *
 * A CPU that is lent out is offline for the host, and stays so: nobody can
 * online it while another kernel runs there.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <shimos/compat.h>

#include "arch.h"

static DEFINE_MUTEX(cpus_mutex);	/* one lender at a time */
static struct cpumask cpus_lent;	/* changed under cpus_mutex */
static DEFINE_PER_CPU(unsigned int, cpus_shares);	/* how many share it; the same */
static int cpus_state;

static int cpus_veto_online(unsigned int cpu)
{
	if (!cpumask_test_cpu(cpu, &cpus_lent))
		return 0;
	pr_notice("CPU %u belongs to a partition and cannot go online\n", cpu);
	return -EBUSY;
}

/**
 * cpus_check_present() - is there such a CPU?
 * @cpu: any number
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -ENODEV.
 */
int cpus_check_present(u32 cpu, struct complaint *c)
{
	if (cpu < nr_cpu_ids && cpu_present(cpu))
		return 0;
	return shimos_refuse(c, -ENODEV, "CPU %u does not exist; this machine has %*pbl", cpu,
			     cpumask_pr_args(cpu_present_mask));
}

/* Is it there, on, and no partition's? */
static int cpus_check_free(u32 cpu, struct complaint *c)
{
	int ret = cpus_check_present(cpu, c);

	if (ret)
		return ret;
	if (cpumask_test_cpu(cpu, &cpus_lent))
		return shimos_refuse(c, -EBUSY, "CPU %u belongs to another partition", cpu);
	if (!cpu_online(cpu))
		return shimos_refuse(c, -EBUSY,
				     "CPU %u is offline; try: echo 1 > /sys/devices/system/cpu/cpu%u/online",
				     cpu, cpu);
	return 0;
}

static int cpus_check_not_shared(u32 cpu, struct complaint *c)
{
	if (per_cpu(cpus_shares, cpu))
		return shimos_refuse(c, -EBUSY,
				     "the host shares CPU %u with a real-time partition: 'shimos rt move' moves that to another one",
				     cpu);
	return 0;
}

static int cpus_check(const u32 *cpus, u32 i, struct complaint *c)
{
	u32 j;

	for (j = 0; j < i; j++)
		if (cpus[j] == cpus[i])
			return shimos_refuse(c, -EINVAL, "CPU %u is in the list twice", cpus[i]);
	return cpus_check_free(cpus[i], c) ?: cpus_check_not_shared(cpus[i], c) ?:
	       kloader_arch_check_cpu(cpus[i], c);
}

static int cpus_check_all(const u32 *cpus, u32 count, struct complaint *c)
{
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = cpus_check(cpus, i, c);
		if (ret)
			return ret;
	}
	if (count >= num_online_cpus())
		return shimos_refuse(c, -EBUSY, "that would take the host's last CPU: it has %u online",
				     num_online_cpus());
	return 0;
}

/*
 * A CPU that is off already may be pulled out of the machine: firmware that
 * asks for it gets it, with another kernel on it, unless its device says no.
 * Returns whether it is there.
 */
static bool cpus_keep_in(u32 cpu, bool keep)
{
	struct device *dev = get_cpu_device(cpu);

	if (!dev)
		return false;
	device_lock(dev);
	compat_keep_online(dev, keep);
	device_unlock(dev);
	return true;
}

static void cpus_give_back_one(u32 cpu)
{
	int ret;

	cpumask_clear_cpu(cpu, &cpus_lent);
	cpus_keep_in(cpu, false);
	ret = add_cpu(cpu);
	if (ret)
		pr_err("CPU %u does not come back online: error %d\n", cpu, ret);
}

static int cpus_take_one(u32 cpu, struct complaint *c)
{
	int ret;

	kloader_arch_taking_cpu(cpu);
	ret = remove_cpu(cpu);
	/* so says the driver core of one that Linux has marked, as on arm64 a Trusted OS's */
	if (ret == -EPERM)
		return shimos_refuse(c, ret,
				     "the host cannot do without CPU %u: its firmware or Linux does not let it go offline, so take another one",
				     cpu);
	if (ret)
		return shimos_refuse(c, ret, "the host cannot take CPU %u offline (error %d): see dmesg",
				     cpu, ret);
	cpumask_set_cpu(cpu, &cpus_lent);
	if (!cpus_keep_in(cpu, true)) {
		cpumask_clear_cpu(cpu, &cpus_lent);
		return shimos_refuse(c, -ENODEV, "CPU %u has just been pulled out of the machine",
				     cpu);
	}
	ret = kloader_arch_took_cpu(cpu, c);
	if (ret)
		cpus_give_back_one(cpu);
	return ret;
}

/**
 * cpus_take() - offline CPUs and reserve them; all or none
 * @cpus: Linux's numbers, as the user says them
 * @count: how many
 * @c: why not
 *
 * The whole list is checked before the first one is touched.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int cpus_take(const u32 *cpus, u32 count, struct complaint *c)
{
	u32 i;
	int ret;

	mutex_lock(&cpus_mutex);
	ret = cpus_check_all(cpus, count, c);
	for (i = 0; !ret && i < count; i++) {
		ret = cpus_take_one(cpus[i], c);
		if (ret)
			break;
	}
	mutex_unlock(&cpus_mutex);
	if (ret && i)
		cpus_give_back(cpus, i);
	return ret;
}

/**
 * cpus_share() - a real-time partition shares a CPU with the host
 * @cpu: any number
 * @c: why not
 *
 * Others may, too; nobody takes it meanwhile.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int cpus_share(u32 cpu, struct complaint *c)
{
	int ret;

	mutex_lock(&cpus_mutex);
	ret = cpus_check_free(cpu, c);
	if (!ret)
		per_cpu(cpus_shares, cpu)++;
	mutex_unlock(&cpus_mutex);
	return ret;
}

/**
 * cpus_unshare() - undo cpus_share()
 * @cpu: as there
 *
 * Context: may sleep.
 */
void cpus_unshare(u32 cpu)
{
	mutex_lock(&cpus_mutex);
	per_cpu(cpus_shares, cpu)--;
	mutex_unlock(&cpus_mutex);
}

/**
 * cpus_hardware_ids() - the ids that the hardware knows CPUs by
 * @cpus: Linux's numbers
 * @count: how many
 * @ids: gets them, in this order
 *
 * Context: any.
 */
void cpus_hardware_ids(const u32 *cpus, u32 count, u64 *ids)
{
	u32 i;

	for (i = 0; i < count; i++)
		ids[i] = kloader_arch_hardware_id(cpus[i]);
}

/**
 * cpus_give_back() - put CPUs online again
 * @cpus: of cpus_take(); they are parked
 * @count: how many
 *
 * One that does not come is the host's all the same, which the log says.
 *
 * Context: may sleep for seconds.
 */
void cpus_give_back(const u32 *cpus, u32 count)
{
	u32 i;

	mutex_lock(&cpus_mutex);
	for (i = 0; i < count; i++)
		cpus_give_back_one(cpus[i]);
	mutex_unlock(&cpus_mutex);
}

/**
 * cpus_init() - keep CPUs that are lent offline, whoever wants them
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int cpus_init(void)
{
	int ret;

	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "shimos:lent",
					cpus_veto_online, NULL);
	if (ret < 0)
		return ret;
	cpus_state = ret;
	return 0;
}

/**
 * cpus_exit() - undo cpus_init()
 *
 * Context: may sleep; none is lent.
 */
void cpus_exit(void)
{
	cpuhp_remove_state_nocalls(cpus_state);
}
