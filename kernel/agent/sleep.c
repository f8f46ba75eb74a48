// SPDX-License-Identifier: GPL-2.0
/*
 * A partition does not sleep: nothing would wake it, for its tables have neither a
 * button nor a clock that does.
 */
#include <linux/suspend.h>

#include "agent.h"

static int agent_on_sleep(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action != PM_SUSPEND_PREPARE && action != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	pr_warn("a partition cannot sleep, for nothing would wake it: power it off\n");
	return NOTIFY_BAD;
}

static struct notifier_block agent_sleep_notifier = {
	.notifier_call = agent_on_sleep,
};

/**
 * agent_sleep_init() - refuse to sleep from now on
 *
 * Context: process; may sleep.
 * Return: 0 or an error.
 */
int agent_sleep_init(void)
{
	return register_pm_notifier(&agent_sleep_notifier);
}

/**
 * agent_sleep_exit() - the agent goes again: nothing of it may stay behind
 *
 * Context: process; may sleep.
 */
void agent_sleep_exit(void)
{
	unregister_pm_notifier(&agent_sleep_notifier);
}
