// SPDX-License-Identifier: GPL-2.0
/*
 * Handing CPUs to a partition and taking them back, by the firmware's PSCI.
 *
 * A CPU can only switch itself off.  So first it is asked: the agent answers an interrupt by
 * doing so.  A CPU that does not hear, because its kernel has no agent yet or has interrupts
 * off, finds its code changed into that call; and if even that does not help it is stuck.  One
 * counts as parked only when the firmware says that it is off: memory is never freed under
 * a CPU that may still write to it.
 */
#include <linux/iopoll.h>
#include <shimos/arm64_psci.h>
#include <shimos/arm64_sgi.h>
#include <uapi/shimos_arm64.h>

#include "arch.h"
#include "arm64.h"

/* Emulated CPUs may be starved. */
#define CPU_START_US	(6 * USEC_PER_SEC)
#define CPU_ASK_US	USEC_PER_SEC
#define CPU_FORCE_US	(3 * USEC_PER_SEC)

/* The first one; the others are started by its kernel. */
int kloader_arch_start(struct partition *p, struct complaint *c)
{
	u64 cpu = p->hardware_ids[0];
	bool off;
	long ret;

	arm64_gic_forget(p);
	ret = arm64_psci_cpu_on(cpu, partition_phys(p, ARM64_ENTRY),
				partition_phys(p, ARM64_DESCRIPTION));
	if (ret)
		return shimos_refuse(c, -EIO,
				     "the firmware does not start CPU %u (MPIDR %#llx): error %ld",
				     p->cpus[0], cpu, ret);
	if (read_poll_timeout(arm64_psci_is_off, off, !off, 20, CPU_START_US, false, cpu))
		return shimos_refuse(c, -EIO, "CPU %u (MPIDR %#llx) does not start", p->cpus[0],
				     cpu);
	return 0;
}

static bool arm64_cpu_all_off(struct partition *p)
{
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		if (!arm64_psci_is_off(p->hardware_ids[i]))
			return false;
	return true;
}

/*
 * Twice: one that was on while another was looked at may have started that.  None that is
 * off starts one.
 */
static bool arm64_cpu_all_stay_off(struct partition *p)
{
	return arm64_cpu_all_off(p) && arm64_cpu_all_off(p);
}

/* Without an agent's word, this is what tells that a kernel has ended.  Any context. */
enum shimos_cause kloader_arch_watch(struct partition *p)
{
	return arm64_cpu_all_stay_off(p) ? SHIMOS_CAUSE_RESET : SHIMOS_CAUSE_NONE;
}

/* Ask those that hear.  Any context. */
void kloader_arch_halt(struct partition *p)
{
	u32 i;

	WRITE_ONCE(p->shared->stop, 1);
	for (i = 0; i < p->cpu_count; i++)
		shimos_sgi_send(p->hardware_ids[i], SHIMOS_ARM64_STOP_SGI);
}

static bool arm64_cpu_wait_off(struct partition *p, u64 timeout_us)
{
	bool off;

	return !read_poll_timeout(arm64_cpu_all_stay_off, off, off, 100, timeout_us, false, p);
}

/* It has been given code that stops it: let those that sleep run it. */
static bool arm64_cpu_force(struct partition *p)
{
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		if (!arm64_psci_is_off(p->hardware_ids[i]))
			arm64_gic_press(p, i);
	return arm64_cpu_wait_off(p, CPU_FORCE_US);
}

static bool arm64_cpu_stop(struct partition *p)
{
	if (arm64_cpu_all_stay_off(p))
		return true;
	kloader_arch_halt(p);
	if (READ_ONCE(p->shared->ready) && arm64_cpu_wait_off(p, CPU_ASK_US))
		return true;
	pr_notice("%s: its kernel does not hear: its code is overwritten to stop it\n", p->name);
	if (arm64_poison_mapped(p) && arm64_cpu_force(p))
		return true;
	return arm64_poison_image(p) && arm64_cpu_force(p);
}

/* Linux does not change what a CPU may have of caches and memory bandwidth (MPAM). */
void kloader_arch_taking_cpu(unsigned int cpu)
{
}

int kloader_arch_took_cpu(unsigned int cpu, struct complaint *c)
{
	return 0;
}

int kloader_arch_check_resize(struct partition *p, struct complaint *c)
{
	return shimos_refuse(c, -EOPNOTSUPP,
			     "on arm64 a partition's CPUs cannot change while it runs yet: stop it and start it with others");
}

/* Nobody gets here: see kloader_arch_check_resize(). */
int kloader_arch_park_cpu(struct partition *p, u32 i)
{
	return -EIO;
}

int kloader_arch_park(struct partition *p)
{
	u32 i;

	if (arm64_cpu_stop(p)) {
		arm64_gic_forget(p);
		return 0;
	}
	for (i = 0; i < p->cpu_count; i++)
		if (!arm64_psci_is_off(p->hardware_ids[i]))
			pr_err("%s: CPU %u (MPIDR %#llx) is not off\n", p->name, p->cpus[i],
			       p->hardware_ids[i]);
	return -EIO;
}
