// SPDX-License-Identifier: GPL-2.0
/* SPUMONE's Linux side as a module: what comes up with it, and what it hears of the host. */
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/suspend.h>

#include "spumone.h"

/* The next kernel, or the firmware, finds the CPUs as they always were. */
static int spumone_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	struct complaint c = {};

	/* one that is lost cannot leave; the machine's reset takes it along */
	if (!launch_check_lost(&c))
		launch_leave_all();
	return NOTIFY_DONE;
}

/* After KLoader's, which ends the partitions. */
static struct notifier_block spumone_reboot_notifier = {
	.notifier_call	= spumone_reboot,
	.priority	= -1,
};

static int spumone_suspend(struct notifier_block *nb, unsigned long action, void *data)
{
	if ((action != PM_SUSPEND_PREPARE && action != PM_HIBERNATION_PREPARE) || !launch_any())
		return NOTIFY_DONE;
	pr_warn("the host cannot sleep while it shares a CPU: remove the partition first\n");
	return NOTIFY_BAD;
}

static struct notifier_block spumone_suspend_notifier = {
	.notifier_call = spumone_suspend,
};

static int __init spumone_init(void)
{
	int ret;

	clock_init();
	visits_init();
	ret = image_init();
	if (ret)
		return ret;
	ret = hotplug_init();
	if (ret) {
		image_exit();
		return ret;
	}
	register_reboot_notifier(&spumone_reboot_notifier);
	register_pm_notifier(&spumone_suspend_notifier);
	return 0;
}

static void __exit spumone_exit(void)
{
	unregister_pm_notifier(&spumone_suspend_notifier);
	unregister_reboot_notifier(&spumone_reboot_notifier);
	launch_leave_all();
	hotplug_exit();
	image_exit();
}

module_init(spumone_init);
module_exit(spumone_exit);
MODULE_DESCRIPTION("SHIMOS: an RTOS and Linux on the same core (SPUMONE)");
MODULE_LICENSE("GPL");
