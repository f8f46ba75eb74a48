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
/* Makes current trusted. Atomic. */
int kml_trust_current(void);
/* Makes a new child, which has not run, trusted as current is. Atomic. */
int kml_trust_child(struct task_struct *child);
/* current is no more trusted, or was not at all. Atomic. */
void kml_distrust_current(void);
/*
 * If current, in a system call, is trusted: when the call returns it is not, nor is
 * anything else that has its memory, and all goes on in user mode. Atomic.
 */
void kml_demote_current(void);
/* Whether current is. Preemption off. */
bool kml_current_trusted(void);
/* Whether that is how we hear of a task becoming current. */
bool kml_is_our_notifier(const struct preempt_notifier *notifier);
unsigned long kml_trusted_tasks(void);
/* Thread ids, as current sees them; returns how many there are. */
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
/* Whether what current just exec'ed may run in kernel mode. Atomic. */
bool kml_gate_allows(const struct linux_binprm *bprm);
/* Whether who has these rights may stay in kernel mode. Atomic. */
bool kml_gate_keeps(const struct cred *cred);
/* The next exec of current need not be of a file below the directory; or says why it is refused. */
int kml_gate_trust_next(struct complaint *c);
/* There will be none. Atomic. */
void kml_gate_forget(void);
void kml_gate_status(struct shimos_kml_status *status);

/* device.c */
int kml_device_init(void);
void kml_device_exit(void);

/* arch: the CPU */
struct kml_counts {
	u64 syscalls;
	u64 calls;
	u64 promotions;
	u64 fixes;
	u64 retries;
};

int kml_arch_init(void);
void kml_arch_exit(void);
/*
 * A task begins or ends to be current on this CPU, which is trusted or was until it
 * was demoted: that may still have to leave our code. Preemption off.
 */
void kml_arch_enter(bool trusted);
void kml_arch_leave(void);
/* Makes an address space that only kernel mode can access. Atomic. */
void kml_arch_own_mm(struct mm_struct *mm);
/* Makes it a usual one again. No CPU is in user space. */
void kml_arch_disown_mm(struct mm_struct *mm);
/* Lets current, in a system call, return the stock way. */
void kml_arch_detach(void);
/* Why the program that current just exec'ed cannot run in kernel mode, or NULL. */
const char *kml_arch_objection(void);
/* Where direct calls go to, and those with three arguments at most. */
unsigned long kml_arch_entry(void);
unsigned long kml_arch_entry_3(void);
void kml_arch_count(struct kml_counts *counts);
/* An address of the kernel that it does not export, or 0 */
unsigned long kml_symbol(const char *name);

#endif
