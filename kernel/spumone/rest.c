// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU of this kernel's that has fled from an RTOS shares a core with another one, of which the
 * scheduler knows nothing: both are slow, and whoever waits for one of them is.  It is there to
 * come out of what must not be preempted, a lock perhaps (SPUMONE 2011, section 4.2.2).  Then it
 * rests: a thread halts it until it is at home again, as Linux's idle injection does, and
 * the scheduler gives its tasks to other CPUs.
 *
 * The thread is of real-time priority, which the kernel limits to 95 % of a CPU, so what must
 * run there does.
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/timer.h>

#include "spumone.h"

/* How often it is looked, while the CPU has something to do. */
#define REST_LOOK	1	/* tick */

/* Of each CPU with a refuge.  Made and freed by launch_mutex's owner, see launch_cpus. */
struct rest {
	struct task_struct *thread;
	struct timer_list timer;
	const struct layer_shared *shared;
};

static struct rest rests[LAYER_HOSTS];

static bool rest_is_away(const struct rest *r)
{
	return READ_ONCE(r->shared->visits);
}

/* On its CPU.  A CPU that has nothing to do is not woken for this. */
static void rest_look(struct timer_list *timer)
{
	struct rest *r = container_of(timer, struct rest, timer);

	if (rest_is_away(r))
		wake_up_process(r->thread);
	mod_timer(timer, jiffies + REST_LOOK);
}

/* Each interrupt ends a halt, its own tick at the latest. */
static void rest_halt(const struct rest *r)
{
	while (rest_is_away(r) && !kthread_should_stop()) {
		local_irq_disable();
		if (need_resched())
			local_irq_enable();
		else
			spumone_arch_halt();
		cond_resched();
	}
}

static int rest_main(void *arg)
{
	struct rest *r = arg;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!rest_is_away(r))
			schedule();
		__set_current_state(TASK_RUNNING);
		rest_halt(r);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * rest_begin() - a CPU rests while it is away from now on
 * @cpu: below LAYER_HOSTS
 * @shared: its own, until rest_end()
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or -ENOMEM.
 */
int rest_begin(unsigned int cpu, const struct layer_shared *shared)
{
	struct rest *r = &rests[cpu];
	struct task_struct *thread = kthread_create_on_cpu(rest_main, r, cpu, "shm-rest/%u");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	sched_set_fifo_low(thread);
	r->thread = thread;
	r->shared = shared;
	wake_up_process(thread);
	timer_setup(&r->timer, rest_look, TIMER_DEFERRABLE | TIMER_PINNED);
	r->timer.expires = jiffies + REST_LOOK;
	add_timer_on(&r->timer, cpu);
	return 0;
}

/**
 * rest_end() - it does not any more
 * @cpu: below LAYER_HOSTS; rest_begin() may not have been called
 *
 * Context: may sleep; see launch_cpus.
 */
void rest_end(unsigned int cpu)
{
	struct rest *r = &rests[cpu];

	if (!r->thread)
		return;
	timer_delete_sync(&r->timer);
	kthread_stop(r->thread);
	r->thread = NULL;
}
