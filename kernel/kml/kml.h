/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel Mode Linux: trusted programs of the administrator run in kernel mode.
 *
 * events.c hears of exec, fork and exit, rights.c of rights that are given up;
 * gate.c decides on exec; task.c knows which tasks are trusted; arch/x86 makes the
 * CPU run them at CPL 0.
 */
#ifndef _KML_H
#define _KML_H

#include <linux/binfmts.h>
#include <linux/preempt.h>
#include <linux/sched.h>

struct complaint;
struct cred;
struct shimos_kml_status;

/* task.c */
int kml_tasks_init(void);
void kml_tasks_exit(void);
int kml_trust_current(void);
int kml_trust_child(struct task_struct *child);
void kml_distrust_current(void);
void kml_demote_current(void);
bool kml_current_trusted(void);
bool kml_is_our_notifier(const struct preempt_notifier *notifier);
unsigned long kml_trusted_tasks(void);
u32 kml_list_tasks(u32 *tids, u32 room);

/* events.c */
int kml_events_init(void);
void kml_events_exit(void);

/* rights.c */
int kml_rights_init(void);
void kml_rights_exit(void);

/* gate.c */
int kml_gate_init(void);
void kml_gate_exit(void);
bool kml_gate_allows(const struct linux_binprm *bprm);
bool kml_gate_keeps(const struct cred *cred);
int kml_gate_trust_next(struct complaint *c);
void kml_gate_forget(void);
void kml_gate_status(struct shimos_kml_status *status);

/* device.c */
int kml_device_init(void);
void kml_device_exit(void);

/* ---- arch: the CPU ---- */

/**
 * struct kml_counts - what kernel mode did, since the module is there
 * @syscalls: by the SYSCALL instruction, of trusted tasks
 * @calls: direct calls
 * @promotions: faults by which a trusted program came back from CPL 3 to CPL 0
 * @fixes: user bits that were taken from entries of top-level page tables
 * @retries: faults because of a stale TLB
 */
struct kml_counts {
	u64 syscalls;
	u64 calls;
	u64 promotions;
	u64 fixes;
	u64 retries;
};

/**
 * kml_arch_init() - prepare the CPUs, or refuse this kernel
 *
 * Says in the log why it is refused.
 *
 * Context: process; may sleep.
 * Return: 0; -EOPNOTSUPP: refused; or another error.
 */
int kml_arch_init(void);

/**
 * kml_arch_exit() - undo kml_arch_init()
 *
 * Context: process; may sleep.  No task is trusted.
 */
void kml_arch_exit(void);

/**
 * kml_arch_enter() - a task becomes current on this CPU
 * @trusted: it is; else it was until it was demoted, and may still have to leave our code
 *
 * Context: preemption off; interrupts may be on.
 */
void kml_arch_enter(bool trusted);

/**
 * kml_arch_leave() - the task of kml_arch_enter() is current no more, or trusted no more
 *
 * Context: preemption off.
 */
void kml_arch_leave(void);

/**
 * kml_arch_own_mm() - let only kernel mode access an address space
 * @mm: current's, or a new child's
 *
 * Context: atomic.
 */
void kml_arch_own_mm(struct mm_struct *mm);

/**
 * kml_arch_disown_mm() - make an address space a usual one again
 * @mm: whose it was
 *
 * Context: atomic; no CPU is in user space.
 */
void kml_arch_disown_mm(struct mm_struct *mm);

/**
 * kml_arch_detach() - let current, in a system call, return the stock way
 *
 * Context: any of current's.
 */
void kml_arch_detach(void);

/**
 * kml_arch_objection() - why the program that current just exec'ed cannot run in kernel mode
 *
 * Context: atomic.
 * Return: a text, or NULL: it can.
 */
const char *kml_arch_objection(void);

/**
 * kml_arch_entry() - where direct calls go to
 *
 * Context: any.
 * Return: an address that the program may call.
 */
unsigned long kml_arch_entry(void);

/**
 * kml_arch_entry_3() - where direct calls with three arguments at most go to
 *
 * Context: any.
 * Return: an address that the program may call.
 */
unsigned long kml_arch_entry_3(void);

/**
 * kml_arch_count() - add up what all CPUs did
 * @counts: gets the sums; the CPUs go on meanwhile
 *
 * Context: any.
 */
void kml_arch_count(struct kml_counts *counts);

/* An address of the kernel that it does not export, or 0 */
unsigned long kml_symbol(const char *name);

#endif
