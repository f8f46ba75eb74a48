// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program while the host goes down or is about to sleep, after all who are
 * told of that have been: /proc/going takes the program's path.  The host does not
 * sleep then.
 */
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/suspend.h>

#include "command.h"

static char program[64];

static void run_program(void)
{
	char *argv[2] = { program };
	char *envp[2] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin" };

	if (*program)
		call_usermodehelper(program, argv, envp, UMH_WAIT_PROC);
}

static int reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	run_program();
	return NOTIFY_DONE;
}

static int sleep(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action != PM_SUSPEND_PREPARE)
		return NOTIFY_DONE;
	run_program();
	return NOTIFY_BAD;
}

static struct notifier_block at_reboot = {
	.notifier_call	= reboot,
	.priority	= INT_MIN,
};

static struct notifier_block at_sleep = {
	.notifier_call	= sleep,
	.priority	= INT_MIN,
};

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%s\n", program);
	return 0;
}

static int run(const char *line)
{
	strscpy(program, line, sizeof(program));
	strim(program);
	return 0;
}

static int __init going_init(void)
{
	if (!proc_create("going", 0600, NULL, &command_proc_ops))
		return -ENOMEM;
	register_reboot_notifier(&at_reboot);
	register_pm_notifier(&at_sleep);
	return 0;
}

static void __exit going_exit(void)
{
	unregister_pm_notifier(&at_sleep);
	unregister_reboot_notifier(&at_reboot);
	remove_proc_entry("going", NULL);
}

module_init(going_init);
module_exit(going_exit);
MODULE_DESCRIPTION("SHIMOS tests: what still runs while the host goes");
MODULE_LICENSE("GPL");
