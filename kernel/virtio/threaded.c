// SPDX-License-Identifier: GPL-2.0
/*
 * Networks of a kernel with one CPU: a thread takes the packets when there are too many.
 *
 * Interrupts and softirqs go before programs.  Where packets come faster than the
 * only CPU can take them it does nothing else, and the program that they are for
 * hardly runs: receive livelock (Mogul and Ramakrishnan, 1997).  A thread shares the
 * CPU with that program.  It costs two context switches each time, so it is not there
 * before it is needed: when most of the CPU's time goes into softirqs.
 */
#include <linux/cpumask.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "transport.h"

/* While packets come; with a thread, it is looked whether it is still needed. */
#define THREADED_LOOK		(HZ / 10)
#define THREADED_LOOK_AGAIN	HZ

struct transport_net {
	struct list_head link;
	struct net_device *dev;
	bool threaded;			/* by us, not by who manages this kernel */
	u64 ran;			/* its threads, ns, at the last look */
};

static const struct device *transport_net_root;
static LIST_HEAD(transport_nets);	/* RTNL guards it, and what is in it */
static u64 transport_looked, transport_softirqs;	/* at the last look, ns; the work's */

/* ---- one network ---- */

/* Nanoseconds. */
static u64 transport_threads_ran(const struct transport_net *net)
{
	struct napi_struct *napi;
	u64 ran = 0;

	list_for_each_entry(napi, &net->dev->napi_list, dev_list)
		if (napi->thread)
			ran += READ_ONCE(napi->thread->se.sum_exec_runtime);
	return ran;
}

static void transport_set_threaded(struct transport_net *net, bool threaded)
{
	if (!!net->dev->threaded == threaded || dev_set_threaded(net->dev, threaded))
		return;
	net->threaded = threaded;
	net->ran = transport_threads_ran(net);
}

static void transport_look_at(struct transport_net *net, bool starved, u64 elapsed)
{
	u64 ran = transport_threads_ran(net);

	if (starved && !net->threaded)
		transport_set_threaded(net, true);
	else if (net->threaded && (ran - net->ran < elapsed / 4 || num_online_cpus() > 1))
		transport_set_threaded(net, false);
	else
		net->ran = ran;
}

/* ---- looking ---- */

static void transport_look(struct work_struct *work);
/* Idle, it does not wake the CPU. */
static DECLARE_DEFERRABLE_WORK(transport_look_work, transport_look);

static void transport_look_after(unsigned long jiffies)
{
	/* before the programs that hardly run */
	queue_delayed_work(system_highpri_wq, &transport_look_work, jiffies);
}

static void transport_look(struct work_struct *work)
{
	const u64 *stat = kcpustat_cpu(cpumask_first(cpu_online_mask)).cpustat;
	u64 softirqs = stat[CPUTIME_SOFTIRQ] + stat[CPUTIME_IRQ], now = ktime_get_ns();
	u64 elapsed = now - transport_looked;
	bool starved = num_online_cpus() == 1 &&
		       softirqs - transport_softirqs > elapsed / 2;
	struct transport_net *net;
	bool again = false;

	transport_looked = now;
	transport_softirqs = softirqs;
	rtnl_lock();
	list_for_each_entry(net, &transport_nets, link) {
		transport_look_at(net, starved, elapsed);
		again |= net->threaded;
	}
	rtnl_unlock();
	if (again)
		transport_look_after(THREADED_LOOK_AGAIN);
}

void transport_net_called(void)
{
	if (num_online_cpus() == 1 && !delayed_work_pending(&transport_look_work))
		transport_look_after(THREADED_LOOK);
}

/* ---- which networks there are ---- */

static void transport_add_net(struct net_device *dev)
{
	struct transport_net *net = kzalloc(sizeof(*net), GFP_KERNEL);

	if (!net)
		return;		/* then it stays as Linux has it */
	net->dev = dev;
	list_add(&net->link, &transport_nets);
}

static void transport_remove_net(struct net_device *dev)
{
	struct transport_net *net, *next;

	list_for_each_entry_safe(net, next, &transport_nets, link)
		if (net->dev == dev) {
			list_del(&net->link);
			kfree(net);
		}
}

static int transport_net_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct net_device *dev = netdev_notifier_info_to_dev(data);
	struct device *parent = dev->dev.parent;

	ASSERT_RTNL();
	if (event == NETDEV_REGISTER && parent && parent->parent == transport_net_root)
		transport_add_net(dev);
	if (event == NETDEV_UNREGISTER)
		transport_remove_net(dev);
	return NOTIFY_DONE;
}

static struct notifier_block transport_net_notifier = { .notifier_call = transport_net_event };

int transport_threaded_init(const struct device *root)
{
	transport_net_root = root;
	return register_netdevice_notifier(&transport_net_notifier);
}

void transport_threaded_exit(void)
{
	/* says of each network that it goes */
	unregister_netdevice_notifier(&transport_net_notifier);
	cancel_delayed_work_sync(&transport_look_work);
}
