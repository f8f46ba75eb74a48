// SPDX-License-Identifier: GPL-2.0
/*
 * Trusted programs that do what ends their trust: those that give up their rights
 * leave kernel mode, those that would run a virtual machine are killed.
 */
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include "kml.h"

/*
 * All that changes the rights of a task comes by here, and only the task itself
 * does it: setuid and its like, capset, a user namespace.
 */
static int kml_on_commit_creds(struct kprobe *probe, struct pt_regs *regs)
{
	const struct cred *new = (const struct cred *)regs_get_kernel_argument(regs, 0);

	/* after an exec the gate decides anew */
	if (!current->in_execve && !kml_gate_keeps(new))
		kml_demote_current();
	return 0;
}

/*
 * KVM comes by here before it looks at a virtual CPU. A guest must not be entered:
 * what leaves it on Intel CPUs loads the stock IDT, at CPL 0 the end of the machine.
 * KVM looks for signals once more, interrupts off, before it enters one.
 */
static int kml_on_preempt_notifier(struct kprobe *probe, struct pt_regs *regs)
{
	const void *notifier = (const void *)regs_get_kernel_argument(regs, 0);

	if (kml_current_trusted() && !kml_is_our_notifier(notifier)) {
		pr_warn("%s[%d] would run a virtual machine in kernel mode: killed\n",
			current->comm, task_pid_nr(current));
		send_sig(SIGKILL, current, 1);
	}
	return 0;
}

static struct kprobe creds_probe = {
	.symbol_name	= "commit_creds",
	.pre_handler	= kml_on_commit_creds,
};

static struct kprobe notifier_probe = {
	.symbol_name	= "preempt_notifier_register",
	.pre_handler	= kml_on_preempt_notifier,
};

static struct kprobe *probes[] = { &creds_probe, &notifier_probe };

/**
 * kml_rights_init() - hear of trusted programs that give up rights, or would run virtual machines
 *
 * Says in the log why it cannot be.
 *
 * Context: process; may sleep.
 * Return: 0 or an error.
 */
int kml_rights_init(void)
{
	int err = register_kprobes(probes, ARRAY_SIZE(probes));

	if (err)
		pr_err("refused: no kprobes on commit_creds and preempt_notifier_register (%d)\n",
		       err);
	return err;
}

/**
 * kml_rights_exit() - hear of them no more
 *
 * Context: process; may sleep.
 */
void kml_rights_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}
