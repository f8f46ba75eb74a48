// SPDX-License-Identifier: GPL-2.0
/*
 * Holds the lock of this kernel's network configuration: /proc/rtnl_hold takes "1",
 * which returns when the lock is held, and "0".
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "command.h"

static struct task_struct *holder;
static DECLARE_COMPLETION(held);

static int hold(void *unused)
{
	rtnl_lock();
	complete(&held);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	rtnl_unlock();
	return 0;
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%d\n", !!holder);
	return 0;
}

static int run(const char *line)
{
	struct task_struct *thread;

	if (*line == '1' && !holder) {
		thread = kthread_run(hold, NULL, "rtnl-hold");
		if (IS_ERR(thread))
			return PTR_ERR(thread);
		wait_for_completion(&held);
		holder = thread;
		return 0;
	}
	if (*line != '0' || !holder)
		return -EINVAL;
	kthread_stop(holder);
	holder = NULL;
	return 0;
}

static int __init hold_init(void)
{
	return proc_create("rtnl_hold", 0600, NULL, &command_proc_ops) ? 0 : -ENOMEM;
}

static void __exit hold_exit(void)
{
	remove_proc_entry("rtnl_hold", NULL);
	if (holder)
		kthread_stop(holder);
}

module_init(hold_init);
module_exit(hold_exit);
MODULE_DESCRIPTION("SHIMOS tests: a kernel whose network configuration is locked");
MODULE_LICENSE("GPL");
