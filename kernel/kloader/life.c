// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a partition: starting, stopping, and noticing that it ended.
 *
 * A running partition tells of its end by doorbell, and a timer looks, too: a
 * doorbell may be lost while it moves, and a kernel that has no agent yet can tell
 * by nothing but its platform's reset register.
 */
#include <linux/cpu.h>
#include <linux/ktime.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <shimos/compat.h>
#include <shimos/ikc_host.h>

#include "kloader.h"
#include "passthrough.h"

/* Shorter than what Linux waits between its ways to reset a machine: 15 ms. */
#define LIFE_WATCH_BOOT_NS	(2 * NSEC_PER_MSEC)
#define LIFE_WATCH_RUN_NS	(100 * NSEC_PER_MSEC)
/* How long to wait for I/O that goes on in the memory of a partition that ended. */
#define LIFE_UNHELD_MS		20000

/*
 * Read-held to start a partition, write-held to forbid it; guards both flags.  Taken
 * before any partition's mutex.
 */
static DECLARE_RWSEM(life_gate);
static bool life_shutting;	/* the host goes down, for good */
static bool life_sleeping;	/* the host is about to sleep, or does */

/* ---- starting ---- */

/**
 * life_wait_unheld() - give I/O that was under way when it ended some time
 * @p: nothing is done while it is up
 *
 * Not under p->mutex: others want to ask about it, or to end the one it waits for.
 *
 * Context: may sleep.
 */
void life_wait_unheld(struct partition *p)
{
	if (!state_is_up(p))
		ikc_host_wait_unheld(p->ikc_kernel, LIFE_UNHELD_MS);
}

/**
 * life_check_unheld() - does no device of any kernel read or write its memory any more?
 * @p: does not run
 * @c: whose does
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or -EBUSY.
 */
int life_check_unheld(struct partition *p, struct complaint *c)
{
	char name[IKC_NAME_LEN];
	int holder = ikc_host_wait_unheld(p->ikc_kernel, 0);

	if (holder < 0)
		return 0;
	ikc_kernel_name(holder, name);
	return shimos_refuse(c, -EBUSY,
			     "devices of '%s' still use the memory of '%s': I/O that was under way when it ended has not come back; try again when it has",
			     name, p->name);
}

/* Its CPUs and devices shall stand still.  Returns whether they do; p->mutex. */
static bool life_halt(struct partition *p)
{
	bool parked = !p->kind->park(p);
	/* nobody drives them any more, and nobody uses its memory yet */
	bool quiet = passthrough_quiesce(p);

	ikc_host_down(p->ikc_kernel, !parked || !quiet);
	return parked && quiet;
}

static int life_enter(struct partition *p, struct complaint *c)
{
	int ret;

	p->ikc_life = ikc_host_up(p->ikc_kernel);
	mutex_lock(&p->input_mutex);
	shared_reset(p);
	mutex_unlock(&p->input_mutex);
	ret = p->kind->stage(p, c);
	if (ret) {
		ikc_host_down(p->ikc_kernel, false);
		return ret;
	}
	p->message[0] = '\0';
	p->agent = 0;
	p->reset = SHIMOS_CAUSE_NONE;
	p->heartbeat = 0;
	p->ready_ns = 0;
	p->started_ns = p->heartbeat_ns = ktime_get_ns();
	ret = p->kind->start(p, c);
	if (ret && !life_halt(p))
		state_set(p, SHIMOS_STUCK);
	return ret;
}

static int life_check_gate(struct complaint *c)
{
	lockdep_assert_held(&life_gate);
	if (life_shutting)
		return shimos_refuse(c, -ESHUTDOWN, "the host is going down");
	if (life_sleeping)
		return shimos_refuse(c, -EBUSY, "the host is about to sleep");
	return 0;
}

static void life_watch_here(void *partition)
{
	struct partition *p = partition;

	hrtimer_start(&p->watch, LIFE_WATCH_BOOT_NS, HRTIMER_MODE_REL_PINNED);
}

/* Not from a CPU that it shares: the host's part of that may stand still.  May sleep; p->mutex. */
static void life_watch_from_elsewhere(struct partition *p)
{
	unsigned int cpu;

	cpus_read_lock();
	cpu = cpumask_any_but(cpu_online_mask, p->cpus[0]);
	/* there may be only one */
	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	smp_call_function_single(cpu, life_watch_here, p, 1);
	cpus_read_unlock();
}

/**
 * life_moved() - a partition shares another CPU than before
 * @p: a real-time one
 *
 * Context: may sleep.
 */
void life_moved(struct partition *p)
{
	mutex_lock(&p->mutex);
	if (state_is_up(p)) {
		hrtimer_cancel(&p->watch);
		life_watch_from_elsewhere(p);
	}
	mutex_unlock(&p->mutex);
}

static int life_start_locked(struct partition *p, u32 flags, struct complaint *c)
{
	int ret;

	lockdep_assert_held(&p->mutex);
	ret = life_check_gate(c) ?: life_check_unheld(p, c) ?:
	      passthrough_prepare(p, c) ?: life_enter(p, c);
	if (ret)
		return ret;
	p->cause = SHIMOS_CAUSE_NONE;
	p->starts++;
	p->lasting_ranges = p->range_count;
	state_set(p, SHIMOS_STARTING);
	/* it may have moved before life_bell_moved() could see that p is up */
	shared_publish_bell(p);
	if (flags & SHIMOS_START_NO_AGENT)
		state_set(p, SHIMOS_RUNNING);
	life_watch_from_elsewhere(p);
	return 0;
}

/**
 * life_start() - let a partition that has a kernel run
 * @p: the partition
 * @flags: SHIMOS_START_*
 * @c: why not
 *
 * Context: may sleep for as long as I/O in its memory takes to come back.
 * Return: 0 or an error; then it is as before, or stuck.
 */
int life_start(struct partition *p, u32 flags, struct complaint *c)
{
	int ret;

	life_wait_unheld(p);
	down_read(&life_gate);
	mutex_lock(&p->mutex);
	if (p->state == SHIMOS_STUCK)
		ret = state_refuse_stuck(p, c);
	else
		ret = state_check_step(p, SHIMOS_STARTING, c) ?:
		      life_start_locked(p, flags, c);
	mutex_unlock(&p->mutex);
	up_read(&life_gate);
	if (ret)
		return ret;
	mutex_lock(&kloader_mutex);
	p->session = NULL;	/* from now on it lives by itself */
	mutex_unlock(&kloader_mutex);
	return 0;
}

/* ---- ending ---- */

/* The partition is over, or shall be: take its CPUs away and say why. */
static void life_end(struct partition *p, enum shimos_cause cause)
{
	bool crashed = cause == SHIMOS_CAUSE_PANIC || cause == SHIMOS_CAUSE_RESET ||
		       cause == SHIMOS_CAUSE_FAULT || cause == SHIMOS_CAUSE_FAILED ||
		       cause == SHIMOS_CAUSE_CHANGED;
	bool halted;

	lockdep_assert_held(&p->mutex);
	halted = life_halt(p);
	hrtimer_cancel(&p->watch);
	p->kind->settle(p);
	shared_copy_text(p->message, p->kind->words(p), sizeof(p->message));
	p->cause = cause;
	if (halted)
		state_set(p, crashed ? SHIMOS_CRASHED : SHIMOS_STOPPED);
	else if (p->state != SHIMOS_STUCK)
		state_set(p, SHIMOS_STUCK);
	pr_info("%s: %s (%s)%s%s\n", p->name, state_name(p->state),
		state_cause_name(cause), p->message[0] ? ": " : "", p->message);
}

/**
 * life_kill() - stop a partition whatever it does, or try again to stop a stuck one
 * @p: which
 * @c: why not
 *
 * Context: may sleep for seconds.
 * Return: 0; -EBUSY: it does not run; -EIO: it is stuck.
 */
int life_kill(struct partition *p, struct complaint *c)
{
	int ret = 0;

	mutex_lock(&p->mutex);
	if (!state_is_up(p) && p->state != SHIMOS_STUCK)
		ret = shimos_refuse(c, -EBUSY, "'%s' does not run: it is %s", p->name,
				    state_name(p->state));
	else
		life_end(p, SHIMOS_CAUSE_KILLED);
	if (!ret && p->state == SHIMOS_STUCK)
		ret = state_refuse_stuck(p, c);
	mutex_unlock(&p->mutex);
	return ret;
}

/**
 * life_lost() - a device of it was unplugged
 * @p: whose
 *
 * Context: may sleep.
 */
void life_lost(struct partition *p)
{
	struct complaint c;

	life_kill(p, &c);	/* refused if it does not run: fine */
}

/**
 * life_shut() - the host goes down: no CPU may run on under it, nor start again
 *
 * Context: may sleep.
 */
void life_shut(void)
{
	struct complaint c;
	struct partition *p;
	u32 id = 0;

	down_write(&life_gate);
	life_shutting = true;
	up_write(&life_gate);
	while ((p = table_get(id, true))) {
		id = p->id;
		life_kill(p, &c);	/* refused if it does not run: fine */
		table_put(p);
	}
}

/**
 * life_sleep() - the host wants to sleep
 *
 * Context: may sleep.
 * Return: 0: nothing starts until life_wake(); -EBUSY: a partition runs.
 */
int life_sleep(void)
{
	struct partition *p;
	bool up = false;

	down_write(&life_gate);
	rcu_read_lock();
	list_for_each_entry_rcu(p, &table_partitions, link)
		up |= state_is_up(p) || READ_ONCE(p->state) == SHIMOS_STUCK;
	rcu_read_unlock();
	life_sleeping = !up;
	up_write(&life_gate);
	return up ? -EBUSY : 0;
}

/**
 * life_wake() - the host has slept, or does not sleep after all
 *
 * Context: may sleep.
 */
void life_wake(void)
{
	down_write(&life_gate);
	life_sleeping = false;
	up_write(&life_gate);
}

/**
 * life_stop() - ask a partition to power off
 * @p: which
 * @c: why not
 *
 * Context: may sleep; does not wait for the end.
 * Return: 0; -EBUSY, -ENOENT: not from its state; -ENOTCONN: nobody to be asked.
 */
int life_stop(struct partition *p, struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	ret = state_check_step(p, SHIMOS_STOPPING, c);
	if (ret)
		goto unlock;
	if (!p->agent) {
		ret = shimos_refuse(c, -ENOTCONN,
				    "'%s' has no agent that could be asked: kill it",
				    p->name);
		goto unlock;
	}
	WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_POWEROFF);
	smp_wmb();	/* the agent reads the request after the ring */
	if (!p->kind->ring(p)) {
		WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_NONE);
		ret = shimos_refuse(c, -ENOTCONN,
				    "the agent of '%s' has no doorbell on a CPU of its own: kill it",
				    p->name);
		goto unlock;
	}
	state_set(p, SHIMOS_STOPPING);
unlock:
	mutex_unlock(&p->mutex);
	return ret;
}

/* ---- noticing ---- */

static void life_became_ready(struct partition *p, u32 agent)
{
	p->agent = agent;
	p->ready_ns = p->heartbeat_ns = ktime_get_ns();
	p->kind->settle(p);
	state_set(p, SHIMOS_RUNNING);
	if (p->starts > 1)
		pr_info("%s: running again, ready after %llu us\n", p->name,
			(p->ready_ns - p->started_ns) / NSEC_PER_USEC);
}

/* It has ended: shall it be started again by itself? */
static bool life_again(const struct partition *p)
{
	if (p->cause == SHIMOS_CAUSE_REBOOT)
		return p->state == SHIMOS_STOPPED && p->flags & SHIMOS_CREATE_RESTART;
	return p->cause == SHIMOS_CAUSE_CHANGED && p->state == SHIMOS_CRASHED &&
	       p->flags & SHIMOS_CREATE_RENEW;
}

static void life_restart(struct partition *p)
{
	struct complaint c = {};
	int ret = 0;

	life_wait_unheld(p);
	down_read(&life_gate);
	mutex_lock(&p->mutex);
	/* unless somebody was quicker */
	if (!p->gone && life_again(p))
		ret = life_start_locked(p, 0, &c);
	mutex_unlock(&p->mutex);
	up_read(&life_gate);
	if (ret)
		pr_err("%s: not started again: %s\n", p->name, c.text);
}

static void life_work(struct work_struct *work)
{
	struct partition *p = container_of(work, struct partition, work);
	enum shimos_cause cause;
	bool again = false;
	u32 agent;

	mutex_lock(&p->mutex);
	if (p->gone || !state_is_up(p))
		goto unlock;
	agent = p->state == SHIMOS_STARTING ? p->kind->ready(p) : 0;
	if (agent)
		life_became_ready(p, agent);
	cause = p->kind->ended(p) ?: p->reset;
	if (cause) {
		life_end(p, cause);
		again = life_again(p);
	}
unlock:
	mutex_unlock(&p->mutex);
	if (again)
		life_restart(p);
}

/* Has it told anything that is the work's to handle?  Any context. */
static bool life_has_news(struct partition *p)
{
	return p->kind->ended(p) ||
	       (READ_ONCE(p->state) == SHIMOS_STARTING && p->kind->ready(p));
}

static enum hrtimer_restart life_watch(struct hrtimer *timer)
{
	struct partition *p = container_of(timer, struct partition, watch);
	u32 heartbeat = READ_ONCE(p->shared->heartbeat);

	if (!state_is_up(p))
		return HRTIMER_NORESTART;
	p->reset = p->kind->watch(p);
	if (p->reset) {
		p->kind->halt(p);		/* the work may come too late */
		queue_work(system_highpri_wq, &p->work);
		return HRTIMER_NORESTART;
	}
	if (life_has_news(p))
		queue_work(system_highpri_wq, &p->work);
	if (heartbeat != p->heartbeat) {
		p->heartbeat = heartbeat;
		WRITE_ONCE(p->heartbeat_ns, ktime_get_ns());
	}
	hrtimer_forward_now(timer, READ_ONCE(p->agent) ? LIFE_WATCH_RUN_NS :
							 LIFE_WATCH_BOOT_NS);
	return HRTIMER_RESTART;
}

void life_rang(void)
{
	struct partition *p;

	list_for_each_entry_rcu(p, &table_partitions, link) {
		if (!state_is_up(p))
			continue;
		if (life_has_news(p))
			queue_work(system_highpri_wq, &p->work);
		/* there may be output, or room for input */
		wake_up_all(&p->console_wait);
	}
}

void life_bell_moved(u64 place)
{
	struct partition *p;

	list_for_each_entry_rcu(p, &table_partitions, link) {
		if (state_is_up(p))
			p->kind->hear(p, place);
	}
}

/**
 * life_init() - a new partition does not run yet
 * @p: nobody else knows it
 *
 * Context: any.
 */
void life_init(struct partition *p)
{
	INIT_WORK(&p->work, life_work);
	compat_hrtimer_setup(&p->watch, life_watch, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/**
 * life_quiesce() - wait for what was still under way
 * @p: off the list, and does not run
 *
 * Context: may sleep.
 */
void life_quiesce(struct partition *p)
{
	hrtimer_cancel(&p->watch);
	cancel_work_sync(&p->work);
}
