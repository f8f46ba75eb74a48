// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel is like below a program in kernel mode: /proc/kml_look.
 *
 *	cat			the flags with which it is read, and the latest of an IPI
 *	flags CPU		the flags with which an IPI comes in there
 *	probe SYMBOL		a kprobe, only to see whether it is let in
 *	watch ADDRESS		a breakpoint on all CPUs on access to these 8 bytes, whose
 *				handler takes a page fault
 */
#include <linux/hw_breakpoint.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <asm/special_insns.h>
#include "command.h"

/* an address of the kernel where nothing is */
#define HOLE	((void *)0xffffff0000000000UL)

static unsigned long ipi_flags;
static struct perf_event * __percpu *watch;
static atomic_t hits = ATOMIC_INIT(0);

static void look(void *unused)
{
	ipi_flags = native_save_fl();
}

static int probe(char *symbol)
{
	struct kprobe one = { .symbol_name = symbol };
	int err = register_kprobe(&one);

	if (!err)
		unregister_kprobe(&one);
	return err;
}

static void on_hit(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	/* this came between a page fault and who reads where it was; NMIs keep it themselves */
	unsigned long cr2 = native_read_cr2();
	u64 word;

	if (copy_from_kernel_nofault(&word, HOLE, sizeof(word)))
		atomic_inc(&hits);
	native_write_cr2(cr2);
}

static int start_watch(unsigned long address)
{
	struct perf_event_attr attr;
	int err;

	if (watch)
		return -EBUSY;
	hw_breakpoint_init(&attr);
	attr.bp_addr = address;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_RW;
	watch = register_wide_hw_breakpoint(&attr, on_hit, NULL);
	/* by way of a number, for newer kernels' compilers know an address space for each CPU */
	err = PTR_ERR_OR_ZERO((void *)(unsigned long __force)watch);
	if (err)
		watch = NULL;
	return err;
}

static int run(const char *line)
{
	unsigned long address;
	char symbol[64];
	int cpu;

	if (sscanf(line, "flags %d", &cpu) == 1)
		return smp_call_function_single(cpu, look, NULL, true);
	if (sscanf(line, "probe %63s", symbol) == 1)
		return probe(symbol);
	if (sscanf(line, "watch %lx", &address) == 1)
		return start_watch(address);
	return -EINVAL;
}

static int show(struct seq_file *file, void *unused)
{
	unsigned long flags = native_save_fl();

	seq_printf(file, "flags %#lx\nipi %#lx\nhits %d\n", flags, ipi_flags, atomic_read(&hits));
	return 0;
}

static int __init look_init(void)
{
	return proc_create("kml_look", 0600, NULL, &command_proc_ops) ? 0 : -ENOMEM;
}

static void __exit look_exit(void)
{
	remove_proc_entry("kml_look", NULL);
	if (watch)
		unregister_wide_hw_breakpoint(watch);
}

module_init(look_init);
module_exit(look_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("SHIMOS tests: the kernel below a program in kernel mode");
