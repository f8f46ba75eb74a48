// SPDX-License-Identifier: GPL-2.0
/*
 * One spinlock that all CPUs want.  /proc/spinlock takes
 *
 *	turns N		so many turns are left, for all who take them together
 *	take HELD FREE	take turns until none is left: hold the lock for HELD rounds of a loop that
 *			does nothing, and be without it for FREE
 *
 * and shows how many are left.  The work is counted in rounds and not in time, so who waits does
 * not get it done.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "command.h"

static DEFINE_SPINLOCK(wanted);		/* guards nothing but the turns */
static long turns;

static void rounds(unsigned int count)
{
	while (count--)
		barrier();
}

static int take(unsigned int held, unsigned int free)
{
	bool more = true;

	while (more) {
		spin_lock(&wanted);
		more = turns > 0;
		turns -= more;
		rounds(held);
		spin_unlock(&wanted);
		rounds(free);
		cond_resched();
	}
	return 0;
}

static int run(const char *line)
{
	unsigned int held, free;
	long left;

	if (sscanf(line, "take %u %u", &held, &free) == 2)
		return take(held, free);
	if (sscanf(line, "turns %ld", &left) != 1)
		return -EINVAL;
	spin_lock(&wanted);
	turns = left;
	spin_unlock(&wanted);
	return 0;
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%ld\n", READ_ONCE(turns));
	return 0;
}

static int __init spinlock_init(void)
{
	return proc_create("spinlock", 0600, NULL, &command_proc_ops) ? 0 : -ENOMEM;
}

static void __exit spinlock_exit(void)
{
	remove_proc_entry("spinlock", NULL);
}

module_init(spinlock_init);
module_exit(spinlock_exit);
MODULE_DESCRIPTION("SHIMOS tests: a lock that all CPUs want");
MODULE_LICENSE("GPL");
