// SPDX-License-Identifier: GPL-2.0
/*
 * Changes a bit of what KLoader knows of a program that is watched, as a stray write would: when
 * the next one begins to watch it, and only then.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <uapi/shimos_rt.h>

static bool forged;

/* spumone_rt_watch(number, memory, pages, count) */
static int forge(struct kprobe *p, struct pt_regs *regs)
{
	struct shimos_rt_page *pages = (void *)regs_get_kernel_argument(regs, 2);

	if (!forged)
		pages->digest[0] ^= 1;
	forged = true;
	return 0;
}

static struct kprobe probe = { .symbol_name = "spumone_rt_watch", .pre_handler = forge };

static int __init forge_init(void)
{
	return register_kprobe(&probe);
}

static void __exit forge_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(forge_init);
module_exit(forge_exit);
MODULE_DESCRIPTION("SHIMOS tests: a stray write to what a watched program is compared with");
MODULE_LICENSE("GPL");
