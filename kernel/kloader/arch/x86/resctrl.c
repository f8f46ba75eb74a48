// SPDX-License-Identifier: GPL-2.0
/*
 * A partition's share of caches and memory bandwidth (Intel SDM 3B, "Resource Director
 * Technology"; AMD APM 2, "Platform Quality of Service Extension").
 *
 * Whoever makes the partition makes a group of resctrl for its CPUs while they are the host's.
 * IA32_PQR_ASSOC of each has the group's number then.  The host clears it when the CPU goes
 * offline, and the partition's kernel leaves it alone (rdt= on its command line), so it
 * is kept here and written again, by the trampoline.  INIT does not change it.
 */
#include <linux/percpu.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <shimos/compat_x86.h>

#include "arch.h"
#include "x86.h"

/* Of a CPU that has been taken, or is being; 0: it is in no group. */
static DEFINE_PER_CPU(u64, x86_resctrl_kept);

/**
 * x86_resctrl_register() - where a CPU has its group's number
 *
 * Context: any.
 * Return: the MSR; 0: this processor cannot share out anything.
 */
u32 x86_resctrl_register(void)
{
	return boot_cpu_has(X86_FEATURE_RDT_A) ? MSR_IA32_PQR_ASSOC : 0;
}

/* In a thread of its own: whatever else runs there may be in another group than its CPU. */
static int x86_resctrl_read(void *value)
{
	return compat_rdmsrq_safe(x86_resctrl_register(), (u64 *)value);
}

void kloader_arch_taking_cpu(unsigned int cpu)
{
	u64 value = 0;

	if (x86_resctrl_register() && smp_call_on_cpu(cpu, x86_resctrl_read, &value, false))
		value = 0;
	per_cpu(x86_resctrl_kept, cpu) = value;
}

/**
 * x86_resctrl_share() - what x86_resctrl_register() of a CPU is to have
 * @cpu: has been taken from the host
 *
 * Context: any.
 * Return: the register's value; 0: nobody wants anything of it.
 */
u64 x86_resctrl_share(unsigned int cpu)
{
	return per_cpu(x86_resctrl_kept, cpu);
}
