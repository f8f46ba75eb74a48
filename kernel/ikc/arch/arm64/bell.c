// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells on arm64: the GIC's software generated interrupts, which any CPU can send to
 * any other.  Each is the same interrupt on all CPUs, so where a bell is, is for us to say:
 * it has a home, and is elsewhere while that CPU is offline.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <shimos/arm64_sgi.h>

#include "../../local.h"
#include "sgi.h"

static bool own_sgis = true;
module_param(own_sgis, bool, 0444);
MODULE_PARM_DESC(own_sgis, "use SGIs that Linux does not, if the firmware lets us (arm64)");

static const struct arm64_bell_sgis *arm64_bell_sgis;
static const struct ikc_arch_bell_user *arm64_bell_user;
static unsigned int arm64_bell_count;
static unsigned int arm64_bell_home[1 + IKC_MAX_BELLS];	/* CPU, by number */
static int arm64_bell_hotplug;			/* the state whose callbacks are ours */

/* Changed by these callbacks only, of which one runs at a time. */
static struct cpumask arm64_bell_cpus;		/* that hear them */
static u64 arm64_bell_place[1 + IKC_MAX_BELLS];	/* by number; 0: nowhere */
static DEFINE_PER_CPU(u64, arm64_bell_cpu);	/* what others call this CPU */

static enum arm64_bell_kind arm64_bell_kind(unsigned int number)
{
	return number == IKC_CONTROL_BELL ? ARM64_BELL_CONTROL : ARM64_BELL_QUEUE;
}

/* ---- ringing ---- */

/* Any that is here.  After one that has just left, those who moved it look. */
void arm64_bell_rang(enum arm64_bell_kind kind)
{
	u64 self = this_cpu_read(arm64_bell_cpu);
	unsigned int number;

	for (number = 0; number < arm64_bell_count; number++)
		if (arm64_bell_kind(number) == kind &&
		    SHIMOS_BELL_CPU(READ_ONCE(arm64_bell_place[number])) == self)
			arm64_bell_user->rang(number);
}

u64 ikc_arch_bell_get(unsigned int number)
{
	return READ_ONCE(arm64_bell_place[number]);
}

/* On a CPU where nobody wants to hear it, it stays pending and harms nobody. */
bool ikc_arch_bell_valid(u64 bell)
{
	u32 sgi = SHIMOS_BELL_VECTOR(bell);

	return bell & SHIMOS_BELL_READY &&
	       sgi >= SHIMOS_SGI_SPARE && sgi <= SHIMOS_SGI_LAST &&
	       shimos_sgi_reaches(SHIMOS_BELL_CPU(bell));
}

/* There is no layer on arm64. */
bool ikc_arch_bell_is_layers(u64 bell)
{
	return false;
}

void ikc_arch_bell_ring(u64 bell)
{
	shimos_sgi_send(SHIMOS_BELL_CPU(bell), SHIMOS_BELL_VECTOR(bell));
}

/* ---- where bells are ---- */

/* At home, or spread over the CPUs that are there. */
static unsigned int arm64_bell_choose(unsigned int number)
{
	unsigned int cpu = arm64_bell_home[number], skip;

	if (cpumask_test_cpu(cpu, &arm64_bell_cpus) || cpumask_empty(&arm64_bell_cpus))
		return cpu;
	skip = number % cpumask_weight(&arm64_bell_cpus);
	for_each_cpu(cpu, &arm64_bell_cpus)
		if (!skip--)
			break;
	return cpu;
}

/* CPUs came or went: let each bell be where it should. */
static void arm64_bells_settle(void)
{
	unsigned int number, cpu;
	unsigned long flags;
	u32 sgi;
	u64 place;

	for (number = 0; number < arm64_bell_count; number++) {
		cpu = arm64_bell_choose(number);
		sgi = arm64_bell_sgis->sgi[arm64_bell_kind(number)];
		place = SHIMOS_BELL(per_cpu(arm64_bell_cpu, cpu), sgi);
		if (cpumask_empty(&arm64_bell_cpus))
			place = 0;
		if (place == arm64_bell_place[number])
			continue;
		local_irq_save(flags);
		WRITE_ONCE(arm64_bell_place[number], place);
		arm64_bell_user->moved(number);
		local_irq_restore(flags);
	}
}

/* On the CPU itself.  One that cannot hear the bells is as good for all else. */
static int arm64_bell_cpu_up(unsigned int cpu)
{
	u64 self = shimos_sgi_this_cpu();

	if (!shimos_sgi_reaches(self))
		return 0;
	per_cpu(arm64_bell_cpu, cpu) = self;
	if (!arm64_bell_sgis->enable())
		return 0;
	cpumask_set_cpu(cpu, &arm64_bell_cpus);
	arm64_bells_settle();
	return 0;
}

static int arm64_bell_cpu_down(unsigned int cpu)
{
	if (!cpumask_test_cpu(cpu, &arm64_bell_cpus))
		return 0;
	cpumask_clear_cpu(cpu, &arm64_bell_cpus);
	arm64_bells_settle();
	arm64_bell_sgis->disable();
	return 0;
}

/* ---- set up ---- */

/* Let the CPUs hear them, those that are there and those that come. */
static int arm64_bells_place(void)
{
	int state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "shimos/ikc:online",
				      arm64_bell_cpu_up, arm64_bell_cpu_down);

	if (state < 0)
		return state;
	arm64_bell_hotplug = state;
	if (ikc_arch_bell_get(IKC_CONTROL_BELL))
		return 0;
	cpuhp_remove_state(state);
	return -EOPNOTSUPP;
}

/* -EOPNOTSUPP: no CPU hears these. */
static int arm64_bells_by(const struct arm64_bell_sgis *sgis)
{
	int ret = sgis->request();

	if (ret)
		return ret;
	arm64_bell_sgis = sgis;
	ret = arm64_bells_place();
	if (ret)
		sgis->release();
	return ret;
}

int ikc_arch_bells_init(unsigned int count, const struct ikc_arch_bell_user *user)
{
	int ret = -EOPNOTSUPP;
	unsigned int number;

	arm64_bell_user = user;
	arm64_bell_count = count;
	/* as on x86: bell n + 1 is CPU n's, and the first of these has the control bell */
	for (number = 0; number < count; number++)
		arm64_bell_home[number] = cpumask_local_spread(max(number, 1U) - 1,
							       NUMA_NO_NODE);
	if (own_sgis)
		ret = arm64_bells_by(&arm64_own_sgis);
	if (ret == -EOPNOTSUPP)
		ret = arm64_bells_by(&arm64_spare_sgi);
	if (ret == -EOPNOTSUPP)
		pr_err("the interrupts between CPUs that are left are this machine's firmware's: no kernel could ring another\n");
	if (ret == -ENODEV)
		pr_err("this machine has no GICv3, whose interrupts kernels ring each other by\n");
	return ret;
}

void ikc_arch_bells_exit(void)
{
	cpuhp_remove_state(arm64_bell_hotplug);
	arm64_bell_sgis->release();
}
