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

static enum shimos_cause end_cause = SHIMOS_CAUSE_REBOOT;

void agent_end(enum shimos_cause cause)
{
	local_irq_disable();
	WRITE_ONCE(agent_shared->cause, cause);
	agent_ring_host();
	while (READ_ONCE(agent_shared->cause))
		cpu_relax();	/* until KLoader sends INIT */
}

static int on_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case SYS_HALT:
		end_cause = SHIMOS_CAUSE_HALT;
		break;
	case SYS_POWER_OFF:
		end_cause = SHIMOS_CAUSE_POWEROFF;
		break;
	default:
		end_cause = SHIMOS_CAUSE_REBOOT;
	}
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = {
	.notifier_call = on_reboot,
};

static void on_shutdown(COMPAT_SYSCORE_ARGS)
{
	agent_end(end_cause);
}

static struct syscore_ops shutdown_ops = {
	.shutdown = on_shutdown,
};

static int on_panic(struct notifier_block *nb, unsigned long action, void *text)
{
	strscpy(agent_shared->message, text ?: "", sizeof(agent_shared->message));
	return NOTIFY_DONE;
}

static struct notifier_block panic_notifier = {
	.notifier_call	= on_panic,
	.priority	= INT_MAX,	/* before any that may not return */
};

static void save_log(void)
{
	struct shimos_last_log *log = (void *)agent_shared + SHIMOS_LAST_LOG;
	struct kmsg_dump_iter iter;
	size_t len = 0;

	kmsg_dump_rewind(&iter);
	kmsg_dump_get_buffer(&iter, false, log->text, sizeof(log->text), &len);
	WRITE_ONCE(log->length, len);
}

static void on_dump(COMPAT_KMSG_DUMP_ARGS)
{
	if (COMPAT_KMSG_DUMP_REASON != KMSG_DUMP_PANIC)
		return;
	save_log();
	agent_end(SHIMOS_CAUSE_PANIC);
}

static struct kmsg_dumper dumper = {
	.dump		= on_dump,
	.max_reason	= KMSG_DUMP_PANIC,
};

static void power_off(struct work_struct *work);
static DECLARE_DELAYED_WORK(power_off_work, power_off);

/*
 * Runs the distribution's poweroff; without one the kernel's own.  An init that
 * has only just started may not listen yet, so ask until it does.
 */
static void power_off(struct work_struct *work)
{
	if (system_state != SYSTEM_RUNNING)
		return;
	orderly_poweroff(true);
	schedule_delayed_work(&power_off_work, 3 * HZ);
}

void agent_power_off(void)
{
	pr_info("the host asks for a power-off\n");
	mod_delayed_work(system_wq, &power_off_work, 0);
}

int agent_end_init(void)
{
	int ret;

	ret = register_reboot_notifier(&reboot_notifier);
	if (ret)
		return ret;
	compat_register_syscore_ops(&shutdown_ops);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
	ret = kmsg_dump_register(&dumper);
	if (ret)
		return ret;
	return agent_arch_catch_restart();
}
