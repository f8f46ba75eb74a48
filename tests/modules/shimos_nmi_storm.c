// SPDX-License-Identifier: GPL-2.0
/*
 * While it is loaded, NMIs to all CPUs at random moments, and each takes a page
 * fault: what an exception inside of an NMI does to what the NMI interrupted.
 * The parameter nmis says how many there were.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/uaccess.h>
#include <asm/apic.h>
#include <asm/nmi.h>

/* an address of the kernel where nothing is */
#define HOLE	((void *)0xffffff0000000000UL)

static atomic_t pending = ATOMIC_INIT(0);
static unsigned long nmis;
module_param(nmis, ulong, 0444);
static struct task_struct *thread;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	u64 word;

	if (atomic_dec_if_positive(&pending) < 0)
		return NMI_DONE;
	if (copy_from_kernel_nofault(&word, HOLE, sizeof(word)))
		nmis++;
	return NMI_HANDLED;
}

static int storm(void *unused)
{
	unsigned int cpu = 0;

	while (!kthread_should_stop()) {
		cpus_read_lock();
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		/* none is lost: a CPU remembers one that comes during another */
		if (atomic_read(&pending) < 2) {
			atomic_inc(&pending);
			apic->send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
		}
		cpus_read_unlock();
		udelay(get_random_u8() / 2);
		cond_resched();
	}
	return 0;
}

static int __init storm_init(void)
{
	int err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "shimos_nmi_storm");

	if (err)
		return err;
	thread = kthread_run(storm, NULL, "shimos_nmi_storm");
	if (IS_ERR(thread)) {
		unregister_nmi_handler(NMI_LOCAL, "shimos_nmi_storm");
		return PTR_ERR(thread);
	}
	return 0;
}

static void __exit storm_exit(void)
{
	kthread_stop(thread);
	/* those on their way would be taken for faults of the hardware */
	msleep(100);
	unregister_nmi_handler(NMI_LOCAL, "shimos_nmi_storm");
}

module_init(storm_init);
module_exit(storm_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("NMIs at random moments");
