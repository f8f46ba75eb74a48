// SPDX-License-Identifier: GPL-2.0
/*
 * Puts SPUMONE's layer under CPUs, and counts on both sides.  /proc/layer takes
 *
 *	launch CPU | leave CPU
 *	mask CPU MICROSECONDS TIMES	keep interrupts off, again and again
 *
 * and shows a line for each CPU: what the layer counted, and for some vectors what it
 * gave to Linux and what Linux says it took, both since the machine's start.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include <asm/irq_vectors.h>
#include <shimos/complaint.h>
#include <shimos/spumone.h>
#include <shimos/layer_abi.h>

#include "command.h"

enum { LOC, RES, CAL, IWI, KINDS };

static const char * const kinds[KINDS] = { "LOC", "RES", "CAL", "IWI" };

struct sample {
	bool under;
	struct layer_shared shared;
	u32 given[KINDS], taken[KINDS];
};

static struct sample sample;	/* of the CPU that is shown; the file's lock guards it */

/* On the CPU, interrupts off. */
static void take_sample(void *unused)
{
	const irq_cpustat_t *stat = this_cpu_ptr(&irq_stat);
	const struct layer_shared *shared = spumone_look();

	sample.under = shared;
	if (!shared)
		return;
	sample.shared = *shared;
	sample.given[LOC] = shared->counts.given[LOCAL_TIMER_VECTOR];
	sample.given[RES] = shared->counts.given[RESCHEDULE_VECTOR];
	sample.given[CAL] = shared->counts.given[CALL_FUNCTION_VECTOR] +
			    shared->counts.given[CALL_FUNCTION_SINGLE_VECTOR];
	sample.given[IWI] = shared->counts.given[IRQ_WORK_VECTOR];
	sample.taken[LOC] = stat->apic_timer_irqs;
	sample.taken[RES] = stat->irq_resched_count;
	sample.taken[CAL] = stat->irq_call_count;
	sample.taken[IWI] = stat->apic_irq_work_irqs;
}

static int show(struct seq_file *file, void *unused)
{
	const struct layer_counts *c = &sample.shared.counts;
	unsigned int cpu, i;

	for_each_online_cpu(cpu) {
		smp_call_function_single(cpu, take_sample, NULL, 1);
		seq_printf(file, "cpu=%u under=%d", cpu, sample.under);
		if (sample.under) {
			seq_printf(file, " exits=%llu interrupts=%llu masked=%llu nmis=%llu calls=%llu given_back=%llu interrupted=%llu merged=%llu armed=%llu fired=%llu ticks=%llu late_max=%llu died=%llu",
				   c->exits, c->interrupts, c->masked, c->nmis, c->calls,
				   c->given_back, c->interrupted, c->merged, c->armed, c->fired,
				   c->ticks, c->late_max, sample.shared.died);
			for (i = 0; i < KINDS; i++)
				seq_printf(file, " %s_given=%u %s_taken=%u", kinds[i],
					   sample.given[i], kinds[i], sample.taken[i]);
		}
		seq_putc(file, '\n');
	}
	return 0;
}

struct mask {
	unsigned int microseconds, times;
};

static long mask(void *arg)
{
	const struct mask *m = arg;
	unsigned int i;

	for (i = 0; i < m->times; i++) {
		local_irq_disable();
		udelay(m->microseconds);
		local_irq_enable();
		usleep_range(300, 350);
	}
	return 0;
}

static int run(const char *line)
{
	struct complaint c = { 0 };
	unsigned int cpu;
	struct mask m;
	int ret = -EINVAL;

	if (sscanf(line, "launch %u", &cpu) == 1) {
		ret = spumone_launch(cpu, &c);
		if (ret)
			pr_notice("layer: %s\n", c.text);
	} else if (sscanf(line, "leave %u", &cpu) == 1) {
		ret = spumone_leave(cpu);
	} else if (sscanf(line, "mask %u %u %u", &cpu, &m.microseconds, &m.times) == 3) {
		ret = work_on_cpu(cpu, mask, &m);
	}
	return ret;
}

static int __init layer_test_init(void)
{
	return proc_create("layer", 0600, NULL, &command_proc_ops) ? 0 : -ENOMEM;
}

static void __exit layer_test_exit(void)
{
	remove_proc_entry("layer", NULL);
}

module_init(layer_test_init);
module_exit(layer_test_exit);
MODULE_DESCRIPTION("SHIMOS tests: SPUMONE's layer under CPUs of this kernel");
MODULE_LICENSE("GPL");
