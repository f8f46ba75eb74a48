// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: the partition's side of SHIMOS.  It finds the area shared with
 * KLoader, sees to it that no end of this kernel touches the host, and carries
 * the console.  It is loaded before the first user program and stays.
 */
#include <linux/init.h>
#include <linux/io.h>
#include <linux/kernel_stat.h>
#include <linux/module.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>

#include "agent.h"

struct shimos_shared *agent_shared;

static void heartbeat(struct timer_list *timer);
static DEFINE_TIMER(heartbeat_timer, heartbeat);

/* What a user of this kernel would find in /proc/stat; there, it counts ticks. */
static u64 busy_ns(void)
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

static void heartbeat(struct timer_list *timer)
{
	WRITE_ONCE(agent_shared->busy_ns, busy_ns());
	WRITE_ONCE(agent_shared->heartbeat, agent_shared->heartbeat + 1);
	mod_timer(&heartbeat_timer, jiffies + HZ);
}

void agent_ring_host(void)
{
	ikc_bell_ring(&agent_shared->host_bell);
}

static void do_request(struct work_struct *work)
{
	if (xchg(&agent_shared->request, SHIMOS_REQUEST_NONE) ==
	    SHIMOS_REQUEST_POWEROFF)
		agent_power_off();
}
static DECLARE_WORK(request_work, do_request);

static void rang(void)
{
	if (READ_ONCE(agent_shared->request))
		schedule_work(&request_work);
	agent_console_rang();
}

static void publish_bell(const struct shimos_bell *bell)
{
	ikc_bell_publish(&agent_shared->bell, bell);
}

static const struct ikc_bell_user agent_bell = {
	.rang	= rang,
	.moved	= publish_bell,
};

static int map_shared(void)
{
	u64 addr, size;
	int ret;

	ret = agent_arch_find_shared(&addr, &size);
	if (ret) {
		pr_err("this kernel was not started by KLoader\n");
		return ret;
	}
	agent_shared = memremap(addr, size, MEMREMAP_WB);
	if (!agent_shared)
		return -ENOMEM;
	if (agent_shared->magic != SHIMOS_SHARED_MAGIC ||
	    agent_shared->version != SHIMOS_SHARED_VERSION ||
	    agent_shared->size != SHIMOS_SHARED_SIZE || size < SHIMOS_SHARED_SIZE) {
		pr_err("KLoader's shared area has version %u and %u bytes, the agent knows version %u with %u: install the same release on both sides\n",
		       agent_shared->version, agent_shared->size,
		       SHIMOS_SHARED_VERSION, SHIMOS_SHARED_SIZE);
		memunmap(agent_shared);
		return -EPROTO;
	}
	return 0;
}

static int __init agent_init(void)
{
	struct shimos_bell bell;
	int ret;

	ret = map_shared();
	if (ret)
		return ret;
	/* the console first: what fails after it can be read there */
	ret = agent_console_init();
	if (ret)
		goto unmap;
	ret = agent_end_init();
	if (ret)
		goto unmap;
	ret = ikc_bell_open(&agent_bell);
	if (ret)
		goto unmap;
	ikc_bell_get(&bell);
	publish_bell(&bell);
	heartbeat(&heartbeat_timer);
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

unmap:
	/* Whatever was registered stays: there is no way on without it. */
	pr_crit("the agent cannot contain this kernel (error %d)\n", ret);
	return ret;
}

/* There is no exit: without the agent nothing would contain this kernel. */
module_init(agent_init);
MODULE_DESCRIPTION("SHIMOS agent: a partition's side of KLoader");
MODULE_LICENSE("GPL");
