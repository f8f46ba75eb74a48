// SPDX-License-Identifier: GPL-2.0
/*
 * A lock that a CPU wants as soon as an interrupt wakes it, before it has ended that: as the
 * kernel's own clock does, now and then.  /proc/locked_entry takes
 *
 *	hold CPU WAITER MICROSECONDS TIMES	on the first CPU: take the lock with interrupts off,
 *						wake the other one, which waits, and keep it so long
 *
 * and shows how often the other one waited.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "command.h"

static DEFINE_RAW_SPINLOCK(wanted);	/* guards nothing: one has it, another one wants it */
static unsigned int waiter;
static unsigned long waited;		/* written by the waiter */

struct hold {
	unsigned int microseconds, times;
};

/* The waiter slept, and has an interrupt that it has not ended. */
static int entered(struct kprobe *probe, struct pt_regs *regs)
{
	if (smp_processor_id() != READ_ONCE(waiter))
		return 0;
	if (raw_spin_is_locked(&wanted))
		WRITE_ONCE(waited, waited + 1);
	raw_spin_lock(&wanted);
	raw_spin_unlock(&wanted);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "tick_irq_enter",
	.pre_handler = entered,
};

static void nothing(void *unused)
{
}

static call_single_data_t call = CSD_INIT(nothing, NULL);

static void spin(unsigned int microseconds)
{
	u64 end = rdtsc_ordered() + (u64)microseconds * tsc_khz / MSEC_PER_SEC;

	while ((s64)(rdtsc_ordered() - end) < 0)
		barrier();
}

static long hold(void *arg)
{
	const struct hold *h = arg;
	unsigned int i;

	for (i = 0; i < h->times; i++) {
		raw_spin_lock_irq(&wanted);
		/* one that is still on its way wakes it as well */
		smp_call_function_single_async(waiter, &call);
		spin(h->microseconds);
		raw_spin_unlock_irq(&wanted);
		usleep_range(300, 350);
	}
	return 0;
}

static int run(const char *line)
{
	unsigned int cpu, other;
	struct hold h;

	if (sscanf(line, "hold %u %u %u %u", &cpu, &other, &h.microseconds, &h.times) != 4 ||
	    cpu == other)
		return -EINVAL;
	WRITE_ONCE(waiter, other);
	return work_on_cpu(cpu, hold, &h);
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%lu\n", READ_ONCE(waited));
	return 0;
}

static int __init locked_entry_init(void)
{
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	if (proc_create("locked_entry", 0600, NULL, &command_proc_ops))
		return 0;
	unregister_kprobe(&probe);
	return -ENOMEM;
}

static void __exit locked_entry_exit(void)
{
	remove_proc_entry("locked_entry", NULL);
	unregister_kprobe(&probe);
}

module_init(locked_entry_init);
module_exit(locked_entry_exit);
MODULE_DESCRIPTION("SHIMOS tests: who is woken wants a lock first");
MODULE_LICENSE("GPL");
