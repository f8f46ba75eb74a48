// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: the partition's side of SHIMOS.  It finds the area shared with
 * KLoader, sees to it that no end of this kernel touches the host, and carries
 * the console.  It is loaded before the first user program and stays.
 */
#include <linux/init.h>
#include <linux/kernel_stat.h>
#include <linux/module.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>

#include "agent.h"

static void agent_heartbeat(struct timer_list *timer);
static DEFINE_TIMER(agent_heartbeat_timer, agent_heartbeat);

/* What a user of this kernel would find in /proc/stat; there, it counts ticks. */
static u64 agent_busy_ns(void)
{
	static const enum cpu_usage_stat kinds[] = {
		CPUTIME_USER, CPUTIME_NICE, CPUTIME_SYSTEM, CPUTIME_IRQ, CPUTIME_SOFTIRQ,
	};
	unsigned int cpu, i;
	u64 sum = 0;

	for_each_possible_cpu(cpu)
		for (i = 0; i < ARRAY_SIZE(kinds); i++)
			sum += kcpustat_cpu(cpu).cpustat[kinds[i]];
	return sum;
}

static void agent_heartbeat(struct timer_list *timer)
{
	WRITE_ONCE(agent_shared->busy_ns, agent_busy_ns());
	WRITE_ONCE(agent_shared->heartbeat, agent_shared->heartbeat + 1);
	mod_timer(&agent_heartbeat_timer, jiffies + HZ);
}

static void agent_do_request(struct work_struct *work)
{
	switch (xchg(&agent_shared->request, SHIMOS_REQUEST_NONE)) {
	case SHIMOS_REQUEST_POWEROFF:
		agent_power_off();
		break;
	case SHIMOS_REQUEST_RESIZE:
		agent_resize();
	}
}
static DECLARE_WORK(agent_request_work, agent_do_request);

static void agent_rang(void)
{
	if (READ_ONCE(agent_shared->request))
		schedule_work(&agent_request_work);
	agent_console_rang();
}

static void agent_publish_bell(u64 place)
{
	WRITE_ONCE(agent_shared->bell, place);
}

static const struct ikc_bell_user agent_bell = {
	.rang	= agent_rang,
	.moved	= agent_publish_bell,
};

static int __init agent_init(void)
{
	int ret;

	ret = agent_shared_map();
	if (ret)
		return ret;
	/* the console first: what fails after it can be read there */
	ret = agent_console_init();
	if (ret)
		goto unmap;
	ret = agent_end_init();
	if (ret)
		goto exit_console;
	ret = agent_sleep_init();
	if (ret)
		goto exit_end;
	ret = agent_cpus_init();
	if (ret)
		goto exit_sleep;
	ret = ikc_bell_open(&agent_bell);
	if (ret)
		goto exit_cpus;
	WRITE_ONCE(agent_shared->memory_step, agent_memory_step());
	agent_publish_bell(ikc_bell_get());
	agent_heartbeat(&agent_heartbeat_timer);
	/* without them given devices do not work, but the kernel is contained */
	ret = agent_arch_take_interrupts();
	if (ret)
		pr_err("given devices cannot interrupt this kernel: error %d\n", ret);
	/* without it there are no shared devices, but the kernel is contained */
	ret = ikc_attach(agent_shared->ikc_area, agent_shared->ikc_kernel,
			 agent_shared->ikc_life, THIS_MODULE);
	if (ret)
		pr_err("this kernel takes no part in inter-kernel communication: error %d\n",
		       ret);
	WRITE_ONCE(agent_shared->agent_version, SHIMOS_SHARED_VERSION);
	smp_wmb();	/* ready says that all of the above holds */
	WRITE_ONCE(agent_shared->ready, 1);
	agent_ring_host();
	return 0;

exit_cpus:
	agent_cpus_exit();
exit_sleep:
	agent_sleep_exit();
exit_end:
	agent_end_exit();
exit_console:
	pr_crit("the agent cannot contain this kernel (error %d)\n", ret);
	agent_console_exit();
unmap:
	agent_shared_unmap();
	return ret;
}

/* There is no exit: without the agent nothing would contain this kernel. */
module_init(agent_init);
MODULE_DESCRIPTION("SHIMOS agent: a partition's side of KLoader");
MODULE_LICENSE("GPL");
