// SPDX-License-Identifier: GPL-2.0
/* What the kernel tells of programs: exec, fork, exit. */
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <shimos/tracepoints.h>
#include "kml.h"

static void kml_on_exec(void *data, struct task_struct *task, pid_t old, struct linux_binprm *bprm)
{
	if (!kml_gate_allows(bprm)) {
		kml_distrust_current();
		return;
	}
	if (kml_trust_current())
		pr_warn_ratelimited("no memory to trust %s, or about to unload\n", current->comm);
}

static void kml_on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	bool keeps;

	if (!kml_current_trusted() || (child->flags & PF_KTHREAD))
		return;
	rcu_read_lock();
	keeps = kml_gate_keeps(__task_cred(child));
	rcu_read_unlock();
	/* A user namespace of its own, which clone() may give it. */
	if (!keeps) {
		/* In an address space of its own it just runs in user mode. */
		if (child->mm == current->mm)
			send_sig(SIGKILL, child, 1);
		return;
	}
	/*
	 * It is a copy of what runs in kernel mode and may be about to make a direct
	 * call: it would be killed by that, or later, or not. It has not run yet.
	 */
	if (kml_trust_child(child)) {
		pr_warn_ratelimited("no memory to trust a child of %s[%d]: killed\n",
				    current->comm, task_pid_nr(current));
		send_sig(SIGKILL, child, 1);
	}
}

static void kml_on_exit(void *data, struct task_struct *task)
{
	kml_gate_forget();
	kml_distrust_current();
}

static struct shimos_tracepoint events[] = {
	/* in this order: who is trusted is always heard of when it ends */
	{ "sched_process_exit", kml_on_exit },
	{ "sched_process_fork", kml_on_fork },
	{ "sched_process_exec", kml_on_exec },
};

/**
 * kml_events_init() - hear of exec, fork and exit
 *
 * Says in the log which of them the kernel has not.
 *
 * Context: process; may sleep.
 * Return: 0 or an error; then none is heard of.
 */
int kml_events_init(void)
{
	const char *missing;
	int err = shimos_tracepoints_hear(events, ARRAY_SIZE(events), &missing);

	if (missing)
		pr_err("refused: the kernel has no tracepoint %s\n", missing);
	return err;
}

/**
 * kml_events_exit() - hear of them no more
 *
 * Context: process; may sleep.  None is being handled when it returns.
 */
void kml_events_exit(void)
{
	shimos_tracepoints_leave(events, ARRAY_SIZE(events));
}
