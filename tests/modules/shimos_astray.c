// SPDX-License-Identifier: GPL-2.0
/*
 * A partition's kernel that reaches for what is not its own, on purpose.  /proc/astray takes
 *
 *	read ADDRESS | write ADDRESS	eight bytes of physical memory
 *	in PORT | out PORT VALUE	a byte
 *	rdmsr NUMBER | msr NUMBER VALUE	fails if that is refused
 *	triple				an exception without handlers
 *	lost ADDRESS			page tables that are others'
 *	vmrun				a virtual machine
 *
 * and shows what was read last.  All on the CPU of whoever writes to it.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <asm/desc_defs.h>
#include <asm/msr.h>
#include <asm/special_insns.h>
#include <shimos/compat_x86.h>

#include "command.h"

#define MAGIC	0x59415254534121ULL

static u64 seen;

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%llx\n", seen);
	return 0;
}

static int touch(u64 address, bool write)
{
	u64 *place = memremap(address, sizeof(*place), MEMREMAP_WB);

	if (!place)
		return -ENOMEM;
	if (write)
		WRITE_ONCE(*place, MAGIC);
	else
		seen = READ_ONCE(*place);
	memunmap(place);
	return 0;
}

static int triple(void)
{
	struct desc_ptr none = {};

	local_irq_disable();
	asm volatile("lidt %0; int3" : : "m"(none));
	return 0;
}

/* No page of it is the partition's, so nothing can be looked up any more. */
static int lost(u64 address)
{
	local_irq_disable();
	native_write_cr3(address);
	return 0;
}

static int run(const char *line)
{
	u64 a = 0, b = 0;
	char what[16];
	int found = sscanf(line, "%15s %lli %lli", what, &a, &b);

	if (found < 1)
		return -EINVAL;
	if (!strcmp(what, "read") || !strcmp(what, "write"))
		return touch(a, *what == 'w');
	if (!strcmp(what, "in"))
		seen = inb(a);
	else if (!strcmp(what, "out"))
		outb(b, a);
	else if (!strcmp(what, "rdmsr"))
		return compat_rdmsrq_safe(a, &seen) ? -EIO : 0;
	else if (!strcmp(what, "msr"))
		return wrmsr_safe(a, b, b >> 32) ? -EIO : 0;
	else if (!strcmp(what, "triple"))
		return triple();
	else if (!strcmp(what, "lost"))
		return lost(a);
	else if (!strcmp(what, "vmrun"))
		asm volatile("vmrun" : : "a"(a) : "memory");
	else
		return -EINVAL;
	return 0;
}

static int __init astray_init(void)
{
	return proc_create("astray", 0600, NULL, &command_proc_ops) ? 0 : -ENOMEM;
}

static void __exit astray_exit(void)
{
	remove_proc_entry("astray", NULL);
}

module_init(astray_init);
module_exit(astray_exit);
MODULE_DESCRIPTION("SHIMOS tests: reaches for what is not its own");
MODULE_LICENSE("GPL");
