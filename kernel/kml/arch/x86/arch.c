// SPDX-License-Identifier: GPL-2.0
/* What changes on a CPU while a trusted task is current: IDTR and MSR_LSTAR. */
#include <linux/kernel.h>
#include <linux/sched/task_stack.h>
#include <asm/desc.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include "kml.h"
#include "x86.h"

DEFINE_PER_CPU(unsigned long, kml_program_sp);
DEFINE_PER_CPU(struct pt_regs *, kml_regs);
/* where direct calls push one word, which makes it that */
DEFINE_PER_CPU(unsigned long, kml_call_sp);
DEFINE_PER_CPU(unsigned long, kml_syscalls);
DEFINE_PER_CPU(unsigned long, kml_calls);
DEFINE_PER_CPU(struct task_struct *, kml_current);
/* whether that one returns to CPL 0: our IDT and entry are in use */
DEFINE_PER_CPU(unsigned long, kml_cpl0);
static unsigned long stock_lstar;

int kml_arch_init(void)
{
	int err = kml_support_check();

	if (err)
		return err;
	err = kml_symbols_init();
	if (err)
		return err;
	err = kml_kvm_init();
	if (err)
		return err;
	rdmsrl(MSR_LSTAR, stock_lstar);
	kml_fast_init();
	err = kml_idt_init();
	if (err)
		kml_kvm_exit();
	return err;
}

void kml_arch_exit(void)
{
	kml_idt_exit();
	kml_kvm_exit();
}

/*
 * In any order and with interrupts on: this is the kernel, which both tables
 * and both entries serve alike.
 */
void kml_arch_enter(bool trusted)
{
	struct pt_regs *regs = task_pt_regs(current);

	this_cpu_write(kml_regs, regs);
	this_cpu_write(kml_call_sp, (unsigned long)regs + sizeof(unsigned long));
	this_cpu_write(kml_current, current);
	if (!trusted)
		return;
	this_cpu_write(kml_cpl0, 1);
	this_cpu_read(kml_gate_page)->stack_top = (unsigned long)(regs + 1);
	native_load_idt(&kml_idt_ours);
	wrmsrl(MSR_LSTAR, (unsigned long)kml_syscall);
}

void kml_arch_leave(void)
{
	this_cpu_write(kml_cpl0, 0);
	wrmsrl(MSR_LSTAR, stock_lstar);
	native_load_idt(&kml_idt_stock);
}

/*
 * A task that leaves by exec is in a system call that our entry made: what it
 * returns to becomes the stock way, so that nothing of ours is on its stack.
 */
void kml_arch_detach(void)
{
	unsigned long *back = (unsigned long *)task_pt_regs(current) - 1;

	if (*back == (unsigned long)kml_syscall_done)
		*back = kml_stock_return;
}

const char *kml_arch_objection(void)
{
	/* nobody has tried these at CPL 0 */
	if (task_pt_regs(current)->cs != __USER_CS || test_thread_flag(TIF_ADDR32))
		return "not a 64-bit program";
	return NULL;
}

unsigned long kml_arch_entry(void)
{
	return (unsigned long)kml_call;
}

unsigned long kml_arch_entry_3(void)
{
	return (unsigned long)kml_call_3;
}

void kml_arch_count(struct kml_counts *counts)
{
	unsigned int cpu;

	*counts = (struct kml_counts){};
	for_each_possible_cpu(cpu) {
		struct kml_gate_page *page = per_cpu(kml_gate_page, cpu);

		counts->syscalls += READ_ONCE(per_cpu(kml_syscalls, cpu));
		counts->calls += READ_ONCE(per_cpu(kml_calls, cpu));
		counts->promotions += READ_ONCE(page->promotions);
		counts->fixes += READ_ONCE(page->fixes);
		counts->retries += READ_ONCE(page->retries);
	}
}
