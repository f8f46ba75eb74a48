// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the host that nobody may touch: /proc/canary says where they are and
 * whether they are as they were.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "command.h"

#define ORDER	4

static u64 *words;

static u64 pattern(unsigned int i)
{
	return 0x5ca1ab1e00000000ULL + i;
}

static unsigned int count_wrong(void)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < (PAGE_SIZE << ORDER) / sizeof(*words); i++)
		wrong += READ_ONCE(words[i]) != pattern(i);
	return wrong;
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "address %llx\nwrong %u\n", (u64)virt_to_phys(words), count_wrong());
	return 0;
}

static int run(const char *line)
{
	return -EINVAL;
}

static int __init canary_init(void)
{
	unsigned int i;

	words = (void *)__get_free_pages(GFP_KERNEL, ORDER);
	if (!words)
		return -ENOMEM;
	for (i = 0; i < (PAGE_SIZE << ORDER) / sizeof(*words); i++)
		words[i] = pattern(i);
	proc_create("canary", 0600, NULL, &command_proc_ops);
	return 0;
}

static void __exit canary_exit(void)
{
	remove_proc_entry("canary", NULL);
	free_pages((unsigned long)words, ORDER);
}

module_init(canary_init);
module_exit(canary_exit);
MODULE_DESCRIPTION("SHIMOS tests: memory of the host that must stay as it is");
MODULE_LICENSE("GPL");
