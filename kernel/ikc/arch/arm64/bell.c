// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells on arm64: two of the GIC's software generated interrupts, which any CPU can
 * send to any other.  One is the control bell's, one that of all queue bells.  Each is
 * the same interrupt on all CPUs, so where a bell is, is for us to say: it has a home,
 * and is elsewhere while that CPU is offline.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <shimos/arm64_sgi.h>

#include "../../local.h"

enum arm64_bell_kind { ARM64_BELL_CONTROL, ARM64_BELL_QUEUE, ARM64_BELL_KINDS };

static const struct ikc_arch_bell_user *arm64_bell_user;
static unsigned int arm64_bell_count;
static unsigned int arm64_bell_home[1 + IKC_MAX_BELLS];	/* CPU, by number */
static unsigned int arm64_bell_irqs[ARM64_BELL_KINDS];
static int arm64_bell_hotplug;			/* the state whose callbacks are ours */

/* Changed by these callbacks only, of which one runs at a time. */
static struct cpumask arm64_bell_cpus;		/* that hear both */
static u64 arm64_bell_place[1 + IKC_MAX_BELLS];	/* by number; 0: nowhere */
static DEFINE_PER_CPU(u64, arm64_bell_cpu);	/* what others call this CPU */

static u32 arm64_bell_sgi(enum arm64_bell_kind kind)
{
	return SHIMOS_SGI_FIRST + kind;
}

/* ---- ringing ---- */

static irqreturn_t arm64_bell_rang_control(int irq, void *cpu)
{
	arm64_bell_user->rang(IKC_CONTROL_BELL);
	return IRQ_HANDLED;
}

/* Any that is here.  After one that has just left, those who moved it look. */
static irqreturn_t arm64_bell_rang_queue(int irq, void *cpu)
{
	unsigned int number;

	for (number = IKC_CONTROL_BELL + 1; number < arm64_bell_count; number++)
		if (SHIMOS_BELL_CPU(READ_ONCE(arm64_bell_place[number])) == *(u64 *)cpu)
			arm64_bell_user->rang(number);
	return IRQ_HANDLED;
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
	       sgi >= SHIMOS_SGI_FIRST && sgi <= SHIMOS_SGI_LAST &&
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
		sgi = arm64_bell_sgi(number == IKC_CONTROL_BELL ? ARM64_BELL_CONTROL :
								  ARM64_BELL_QUEUE);
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

	if (!shimos_sgi_reaches(self) ||
	    !shimos_sgi_enable(arm64_bell_irqs[ARM64_BELL_CONTROL]))
		return 0;
	per_cpu(arm64_bell_cpu, cpu) = self;
	if (!shimos_sgi_enable(arm64_bell_irqs[ARM64_BELL_QUEUE])) {
		disable_percpu_irq(arm64_bell_irqs[ARM64_BELL_CONTROL]);
		return 0;
	}
	cpumask_set_cpu(cpu, &arm64_bell_cpus);
	arm64_bells_settle();
	return 0;
}

static int arm64_bell_cpu_down(unsigned int cpu)
{
	unsigned int kind;

	if (!cpumask_test_cpu(cpu, &arm64_bell_cpus))
		return 0;
	cpumask_clear_cpu(cpu, &arm64_bell_cpus);
	arm64_bells_settle();
	for (kind = 0; kind < ARM64_BELL_KINDS; kind++)
		disable_percpu_irq(arm64_bell_irqs[kind]);
	return 0;
}

/* ---- set up ---- */

static int arm64_bell_request(enum arm64_bell_kind kind, const char *name,
			      irq_handler_t handler)
{
	int irq = shimos_sgi_map(arm64_bell_sgi(kind)), ret;

	if (irq < 0)
		return irq;
	ret = request_percpu_irq(irq, handler, name, &arm64_bell_cpu);
	if (ret) {
		irq_dispose_mapping(irq);
		return ret;
	}
	arm64_bell_irqs[kind] = irq;
	return 0;
}

static void arm64_bell_release(enum arm64_bell_kind kind)
{
	free_percpu_irq(arm64_bell_irqs[kind], &arm64_bell_cpu);
	irq_dispose_mapping(arm64_bell_irqs[kind]);
}

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
	pr_err("interrupts %u and %u between CPUs are this machine's firmware's: no kernel could ring another\n",
	       arm64_bell_sgi(ARM64_BELL_CONTROL), arm64_bell_sgi(ARM64_BELL_QUEUE));
	return -EOPNOTSUPP;
}

int ikc_arch_bells_init(unsigned int count, const struct ikc_arch_bell_user *user)
{
	unsigned int number;
	int ret;

	arm64_bell_user = user;
	arm64_bell_count = count;
	/* as on x86: bell n + 1 is CPU n's, and the first of these has the control bell */
	for (number = 0; number < count; number++)
		arm64_bell_home[number] = cpumask_local_spread(max(number, 1U) - 1,
							       NUMA_NO_NODE);
	ret = arm64_bell_request(ARM64_BELL_CONTROL, "shimos-control",
				 arm64_bell_rang_control);
	if (ret)
		goto fail;
	ret = arm64_bell_request(ARM64_BELL_QUEUE, "shimos-ikc", arm64_bell_rang_queue);
	if (ret)
		goto release_control;
	ret = arm64_bells_place();
	if (!ret)
		return 0;
	arm64_bell_release(ARM64_BELL_QUEUE);
release_control:
	arm64_bell_release(ARM64_BELL_CONTROL);
fail:
	if (ret == -ENODEV)
		pr_err("this machine has no GICv3, whose interrupts kernels ring each other by\n");
	return ret;
}

void ikc_arch_bells_exit(void)
{
	cpuhp_remove_state(arm64_bell_hotplug);
	arm64_bell_release(ARM64_BELL_QUEUE);
	arm64_bell_release(ARM64_BELL_CONTROL);
}
