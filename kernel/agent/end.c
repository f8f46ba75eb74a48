// SPDX-License-Identifier: GPL-2.0
/*
 * Containment: however this kernel ends, it tells KLoader and stands still,
 * before it touches hardware that belongs to the whole machine.
 *
 * Orderly ends (reboot, power-off, halt) come by the reboot notifier, which
 * learns the cause, and by the system core's shutdown, which is the last step
 * that all have in common.  A panic comes by the panic notifier and then, when
 * the log is complete, by the kmsg dumper.  What remains is a restart that
 * skips all of that (sysrq-b, panic=N), which the architecture catches.
 */
#include <linux/kmsg_dump.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/syscore_ops.h>
#include <linux/workqueue.h>
#include <shimos/compat.h>

#include "agent.h"

static enum shimos_cause agent_end_cause = SHIMOS_CAUSE_REBOOT;

/* This CPU does nothing any more, until KLoader stops it from outside. */
static void agent_stand_still(void)
{
	local_irq_disable();
	agent_arch_let_go();
	for (;;)
		cpu_relax();
}

/* Tell KLoader that it is over and stop this CPU.  Any context; no return. */
static void agent_end(enum shimos_cause cause)
{
	local_irq_disable();
	WRITE_ONCE(agent_shared->cause, cause);
	agent_ring_host();
	agent_stand_still();
}

/* KLoader could not stop this CPU, and asks it. */
static void agent_stop(void)
{
	if (READ_ONCE(agent_shared->stop))
		agent_stand_still();
}

static int agent_on_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case SYS_HALT:
		agent_end_cause = SHIMOS_CAUSE_HALT;
		break;
	case SYS_POWER_OFF:
		agent_end_cause = SHIMOS_CAUSE_POWEROFF;
		break;
	default:
		agent_end_cause = SHIMOS_CAUSE_REBOOT;
	}
	return NOTIFY_DONE;
}

static struct notifier_block agent_reboot_notifier = {
	.notifier_call = agent_on_reboot,
};

static void agent_on_shutdown(COMPAT_SYSCORE_ARGS)
{
	agent_end(agent_end_cause);
}

static struct syscore_ops agent_shutdown_ops = {
	.shutdown = agent_on_shutdown,
};

static int agent_on_panic(struct notifier_block *nb, unsigned long action, void *text)
{
	strscpy(agent_shared->message, text ?: "", sizeof(agent_shared->message));
	return NOTIFY_DONE;
}

static struct notifier_block agent_panic_notifier = {
	.notifier_call	= agent_on_panic,
	.priority	= INT_MAX,	/* before any that may not return */
};

static void agent_save_log(void)
{
	struct shimos_last_log *log = (void *)agent_shared + SHIMOS_LAST_LOG;
	struct kmsg_dump_iter iter;
	size_t len = 0;

	kmsg_dump_rewind(&iter);
	kmsg_dump_get_buffer(&iter, false, log->text, sizeof(log->text), &len);
	WRITE_ONCE(log->length, len);
}

static void agent_on_dump(COMPAT_KMSG_DUMP_ARGS)
{
	if (COMPAT_KMSG_DUMP_REASON != KMSG_DUMP_PANIC)
		return;
	agent_save_log();
	agent_end(SHIMOS_CAUSE_PANIC);
}

static struct kmsg_dumper agent_dumper = {
	.dump		= agent_on_dump,
	.max_reason	= KMSG_DUMP_PANIC,
};

static void agent_power_off_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(agent_power_off_work, agent_power_off_again);

/*
 * Runs the distribution's poweroff; without one the kernel's own.  An init that
 * has only just started may not listen yet, so ask until it does.
 */
static void agent_power_off_again(struct work_struct *work)
{
	if (system_state != SYSTEM_RUNNING)
		return;
	orderly_poweroff(true);
	schedule_delayed_work(&agent_power_off_work, 3 * HZ);
}

/**
 * agent_power_off() - do what KLoader asks for: an orderly power-off
 *
 * Context: any; the power-off itself is done in a work.
 */
void agent_power_off(void)
{
	pr_info("the host asks for a power-off\n");
	mod_delayed_work(compat_system_percpu_wq, &agent_power_off_work, 0);
}

/**
 * agent_end_init() - hear of each way in which this kernel can end
 *
 * Context: process; after agent_shared_map().
 * Return: 0 or why one cannot be caught; then none is.
 */
int agent_end_init(void)
{
	int ret;

	ret = register_reboot_notifier(&agent_reboot_notifier);
	if (ret)
		return ret;
	compat_register_syscore_ops(&agent_shutdown_ops);
	atomic_notifier_chain_register(&panic_notifier_list, &agent_panic_notifier);
	ret = kmsg_dump_register(&agent_dumper);
	if (ret)
		goto unregister;
	ret = agent_arch_catch_restart(agent_end);
	if (ret)
		goto unregister_dumper;
	ret = agent_arch_catch_stop(agent_stop);
	if (!ret)
		return 0;
	agent_arch_release();
unregister_dumper:
	kmsg_dump_unregister(&agent_dumper);
unregister:
	atomic_notifier_chain_unregister(&panic_notifier_list, &agent_panic_notifier);
	compat_unregister_syscore_ops(&agent_shutdown_ops);
	unregister_reboot_notifier(&agent_reboot_notifier);
	return ret;
}

/**
 * agent_end_exit() - hear of no end any more
 *
 * The agent goes again because it could not do all: nothing of it may stay behind.
 *
 * Context: process; may sleep.
 */
void agent_end_exit(void)
{
	agent_arch_release();
	kmsg_dump_unregister(&agent_dumper);
	atomic_notifier_chain_unregister(&panic_notifier_list, &agent_panic_notifier);
	compat_unregister_syscore_ops(&agent_shutdown_ops);
	unregister_reboot_notifier(&agent_reboot_notifier);
	cancel_delayed_work_sync(&agent_power_off_work);
}
