/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file in /proc that takes commands and shows results, for the tests' modules:
 * each has its own run() and show().
 */
#ifndef _TESTS_COMMAND_H
#define _TESTS_COMMAND_H

#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

static int run(const char *line);
static int show(struct seq_file *file, void *unused);

static int command_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static ssize_t command_write(struct file *file, const char __user *user, size_t size,
			     loff_t *pos)
{
	char line[96] = "";
	int ret;

	if (size >= sizeof(line) || copy_from_user(line, user, size))
		return -EINVAL;
	ret = run(line);
	return ret ?: size;
}

static const struct proc_ops command_proc_ops = {
	.proc_open	= command_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_write	= command_write,
	.proc_release	= single_release,
};

#endif
