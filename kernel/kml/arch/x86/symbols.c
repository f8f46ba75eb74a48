// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel does not export, looked up once and verified: a name that is
 * missing or that is not what we know refuses the module.
 */
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/static_call.h>
#include <asm/msr.h>
#include "kml.h"
#include "x86.h"

/* enough for the stock entry with all its mitigations */
#define ENTRY_BYTES	512

unsigned long kml_stock_return;

DEFINE_STATIC_CALL_NULL(kml_do_syscall_64, kml_do_syscall_64_type);

static unsigned long (*kml_kallsyms_lookup_name)(const char *name);

static int kml_symbols_find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("the kernel's symbols cannot be looked up: no kprobes (%d)\n", err);
		return err;
	}
	kml_kallsyms_lookup_name = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

/**
 * kml_symbol() - where something of the kernel is that it does not export
 * @name: as in /proc/kallsyms
 *
 * Context: process; after kml_symbols_init() has found the look-up.
 * Return: its address, 0 if there is none.
 */
unsigned long kml_symbol(const char *name)
{
	return kml_kallsyms_lookup_name(name);
}

/**
 * kml_branch_target() - where a call or a jump goes to
 * @code: KML_BRANCH_SIZE bytes of it, the last four of which are the distance
 *
 * Context: any.
 * Return: the address.
 */
unsigned long kml_branch_target(const u8 *code)
{
	s32 distance;

	memcpy(&distance, code + 1, sizeof(distance));
	return (unsigned long)code + KML_BRANCH_SIZE + distance;
}

/* Whether the stock entry calls it: then its arguments are what we know. */
static bool kml_symbols_entry_calls(unsigned long function)
{
	unsigned long entry;
	const u8 *code;
	int i;

	rdmsrl(MSR_LSTAR, entry);
	code = (const u8 *)entry;
	for (i = 0; i < ENTRY_BYTES; i++)
		if (code[i] == KML_CALL && kml_branch_target(code + i) == function)
			return true;
	return false;
}

/* Whether it soon restores the program's GS, the last thing before iret. */
static bool kml_symbols_swaps_gs(unsigned long function)
{
	static const u8 swapgs[] = { 0x0f, 0x01, 0xf8 };
	const u8 *code = (const u8 *)function;
	int i;

	for (i = 0; i < ENTRY_BYTES; i++)
		if (!memcmp(code + i, swapgs, sizeof(swapgs)))
			return true;
	return false;
}

/**
 * kml_symbols_init() - find what the kernel does not export, and check that its entry is known
 *
 * Says in the log what is not.
 *
 * Context: process; may sleep.
 * Return: 0; -EOPNOTSUPP: refused; or another error.
 */
int kml_symbols_init(void)
{
	unsigned long syscall;
	int err = kml_symbols_find_lookup();

	if (err)
		return err;
	syscall = kml_symbol("do_syscall_64");
	if (!syscall || !kml_symbols_entry_calls(syscall)) {
		pr_err("refused: the kernel's system call entry is not one that is known (do_syscall_64)\n");
		return -EOPNOTSUPP;
	}
	kml_stock_return = kml_symbol("swapgs_restore_regs_and_return_to_usermode");
	if (!kml_stock_return || !kml_symbols_swaps_gs(kml_stock_return)) {
		pr_err("refused: the kernel's way back to programs is not one that is known\n");
		return -EOPNOTSUPP;
	}
	static_call_update(kml_do_syscall_64, (void *)syscall);
	return 0;
}
