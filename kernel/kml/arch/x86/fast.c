// SPDX-License-Identifier: GPL-2.0
/*
 * What the short way of system calls needs: their functions. Without them all go
 * through the kernel's own dispatch.
 */
#include <linux/entry-common.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/tick.h>
#include <asm/unistd.h>
#include "kml.h"
#include "regs.h"
#include "work.h"
#include "x86.h"

static_assert(!(EXIT_TO_USER_MODE_WORK & ~KML_EXIT_WORK));
static_assert(offsetof(struct task_struct, thread_info) == 0);
static_assert(offsetof(struct thread_info, flags) == TI_FLAGS);
static_assert(offsetof(struct thread_info, syscall_work) == TI_SYSCALL_WORK);
static_assert(TI_WORK_UPPER + sizeof(u32) == TI_SYSCALL_WORK);
static_assert((SYSCALL_WORK_ENTER | SYSCALL_WORK_EXIT) <= U32_MAX);

static bool fast = true;
module_param(fast, bool, 0444);
MODULE_PARM_DESC(fast, "system calls take the short way (default on)");

unsigned long kml_fast[NR_syscalls];
unsigned long kml_fast_count;
unsigned long kml_exit_function;

/* These read or change registers that the short way does not save or restore. */
static const unsigned short whole_regs[] = {
	__NR_clone, __NR_fork, __NR_vfork, __NR_clone3, __NR_execve, __NR_execveat,
	__NR_rt_sigreturn,
#ifdef __NR_uretprobe
	__NR_uretprobe,
#endif
};

/**
 * kml_fast_init() - find the system calls that our entry may call without do_syscall_64()
 *
 * Without them all go by it.
 *
 * Context: process; after kml_symbols_init().
 */
void kml_fast_init(void)
{
	const unsigned long *table = (const unsigned long *)kml_symbol("sys_call_table");
	int i;

	kml_exit_function = kml_symbol("syscall_exit_to_user_mode");
	/* with full dynticks each entry and exit of the kernel is accounted */
	if (!fast || !table || !kml_exit_function || tick_nohz_full_enabled())
		return;
	if (table[__NR_read] != kml_symbol("__x64_sys_read") ||
	    table[__NR_getpid] != kml_symbol("__x64_sys_getpid"))
		return;
	memcpy(kml_fast, table, sizeof(kml_fast));
	for (i = 0; i < ARRAY_SIZE(whole_regs); i++)
		kml_fast[whole_regs[i]] = (unsigned long)kml_not_fast;
	kml_fast_count = NR_syscalls;
}
