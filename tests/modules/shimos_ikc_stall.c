// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that is slow to notice what others do: while it is told that one of them
 * has ended, it stands still.  /proc/ikc_stall takes "1" (the next time) and "0" (go
 * on), and says "stalled" while it stands.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <shimos/ikc.h>

#include "command.h"

#define QUEUE	15	/* behind those of the devices: they have been told */

static bool armed, stalled;
static DECLARE_COMPLETION(released);

static void rang(void *context, unsigned int kernel)
{
}

static void peer(void *context, unsigned int kernel, bool up)
{
	if (up || !armed)
		return;
	armed = false;
	WRITE_ONCE(stalled, true);
	wait_for_completion(&released);
	WRITE_ONCE(stalled, false);
}

static const struct ikc_queue_ops ops = { .notify = rang, .peer = peer };

static int show(struct seq_file *file, void *unused)
{
	seq_puts(file, READ_ONCE(stalled) ? "stalled\n" : "running\n");
	return 0;
}

static int run(const char *line)
{
	armed = *line == '1';
	if (*line == '0' && READ_ONCE(stalled))
		complete(&released);
	return 0;
}

static int __init stall_init(void)
{
	int ret = ikc_queue_open(QUEUE, 0, &ops, NULL);

	if (!ret)
		proc_create("ikc_stall", 0600, NULL, &command_proc_ops);
	return ret;
}

static void __exit stall_exit(void)
{
	remove_proc_entry("ikc_stall", NULL);
	complete(&released);
	ikc_queue_close(QUEUE);
}

module_init(stall_init);
module_exit(stall_exit);
MODULE_DESCRIPTION("SHIMOS tests: a kernel that is slow to notice what others do");
MODULE_LICENSE("GPL");
