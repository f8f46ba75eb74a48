// SPDX-License-Identifier: GPL-2.0
/*
 * Real-time tasks of this kernel that go before RTOSes (SPUMONE 2011, section 4.3).
 *
 * For CPUs that have been told so, two tracepoints say to the layer which priority their most
 * urgent task has.  It reads that whenever it has the core; it is called only when an RTOS
 * waits that has become more urgent.
 *
 * The kernel holds a CPU's run queue locked in both tracepoints, so one at a time writes what
 * is said of that CPU.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/tracepoint.h>
#include <asm/tsc.h>
#include <shimos/tracepoints.h>

#include "spumone.h"

/* One that was woken runs by then, or has gone to another CPU. */
#define TASKS_WOKEN_US	1000

/* Not NULL: its tasks count.  Written under launch_mutex, read in tracepoints. */
static DEFINE_PER_CPU(struct layer_tasks *, tasks_cpus);

/* As RTOSes have them: 1 to 99, and 0 for who has none. */
static u64 tasks_priority(const struct task_struct *task)
{
	if (task->prio >= MAX_RT_PRIO)
		return 0;
	return min(MAX_RT_PRIO - 1 - task->prio, MAX_RT_PRIO - 1);
}

static void tasks_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	struct layer_tasks *t = this_cpu_read(tasks_cpus);
	u64 priority, waits;

	if (!t)
		return;
	priority = tasks_priority(next);
	WRITE_ONCE(t->woken, 0);
	WRITE_ONCE(t->runs, priority);
	WRITE_ONCE(t->switched, 1);
	/* the layer runs on this CPU only: it sees that at its next exit, or has set waits by now */
	barrier();
	waits = READ_ONCE(t->waits);
	if (waits && min(priority, READ_ONCE(t->limit)) <= waits)
		spumone_arch_call(LAYER_CALL_TIMER, 0);
}

/* Where it was put, which may be another CPU. */
static void tasks_wakeup(void *data, struct task_struct *task)
{
	struct layer_tasks *t = READ_ONCE(per_cpu(tasks_cpus, task_cpu(task)));
	u64 priority;

	if (!t)
		return;
	priority = tasks_priority(task);
	if (priority <= max(READ_ONCE(t->runs), READ_ONCE(t->woken)))
		return;
	WRITE_ONCE(t->woken_until, rdtsc() + (u64)tsc_khz * TASKS_WOKEN_US / USEC_PER_MSEC);
	/* pairs with the layer, which reads them in the other order: x86 keeps the order of both */
	smp_wmb();
	WRITE_ONCE(t->woken, priority);
}

/* Heard while some CPU's tasks count; launch_mutex. */
static struct shimos_tracepoint tasks_events[] = {
	{ "sched_switch", tasks_switch },
	{ "sched_wakeup", tasks_wakeup },
};

static void tasks_listen_no_more(void)
{
	shimos_tracepoints_leave(tasks_events, ARRAY_SIZE(tasks_events));
}

static int tasks_listen(struct complaint *c)
{
	const char *missing;
	int ret = shimos_tracepoints_hear(tasks_events, ARRAY_SIZE(tasks_events), &missing);

	if (!missing)
		return ret;
	return shimos_refuse(c, ret, "this kernel has no tracepoint %s, which says which task runs",
			     missing);
}

static bool tasks_any(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (per_cpu(tasks_cpus, cpu))
			return true;
	return false;
}

/**
 * tasks_forget() - this CPU goes after all RTOSes, as every CPU does at first
 * @cpu: any
 *
 * Context: may sleep; launch_mutex.
 */
void tasks_forget(unsigned int cpu)
{
	struct layer_tasks *t = per_cpu(tasks_cpus, cpu);

	if (!t)
		return;
	WRITE_ONCE(t->limit, 0);
	WRITE_ONCE(per_cpu(tasks_cpus, cpu), NULL);
	/* nobody writes there any more when this is over */
	if (tasks_any())
		tracepoint_synchronize_unregister();
	else
		tasks_listen_no_more();
}

/**
 * tasks_forget_all() - no CPU's tasks go before RTOSes
 *
 * Context: may sleep; launch_mutex.
 */
void tasks_forget_all(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		tasks_forget(cpu);
}

/**
 * tasks_count() - a CPU's tasks go before RTOSes with a lower priority
 * @cpu: whose tasks
 * @t: in the page that it shares with the layer, which is there until tasks_forget()
 * @limit: up to which priority
 * @c: why not
 *
 * Context: may sleep; launch_mutex.
 * Return: 0 or an error: it is as it was.
 */
int tasks_count(unsigned int cpu, struct layer_tasks *t, u32 limit, struct complaint *c)
{
	int ret = tasks_listen(c);

	if (ret)
		return ret;
	if (!per_cpu(tasks_cpus, cpu)) {
		WRITE_ONCE(t->runs, 0);
		WRITE_ONCE(t->woken, 0);
	}
	WRITE_ONCE(per_cpu(tasks_cpus, cpu), t);
	WRITE_ONCE(t->limit, limit);
	return 0;
}
