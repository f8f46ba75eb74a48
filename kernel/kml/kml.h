/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel Mode Linux: trusted programs of the administrator run in kernel mode.
 *
 * events.c hears of exec, fork and exit; gate.c decides on exec; task.c knows
 * which tasks are trusted; arch/x86 makes the CPU run them at CPL 0.
 */
#ifndef _KML_H
#define _KML_H

#include <linux/binfmts.h>
#include <linux/sched.h>

/* task.c */
int kml_tasks_init(void);
void kml_tasks_exit(void);
/* Makes current trusted. Atomic. */
int kml_trust_current(void);
/* Makes a new child, which has not run, trusted as current is. Atomic. */
int kml_trust_child(struct task_struct *child);
/* current is no more trusted, or was not at all. Atomic. */
void kml_distrust_current(void);
/* Whether current is. Preemption off. */
bool kml_current_trusted(void);
unsigned long kml_trusted_tasks(void);

/* events.c */
int kml_events_init(void);
void kml_events_exit(void);

/* gate.c */
int kml_gate_init(void);
void kml_gate_exit(void);
/* Whether what current just exec'ed may run in kernel mode. Atomic. */
bool kml_gate_allows(const struct linux_binprm *bprm);

/* arch: the CPU */
struct kml_counts {
	u64 syscalls;
	u64 promotions;
	u64 fixes;
	u64 retries;
};

int kml_arch_init(void);
void kml_arch_exit(void);
/* A trusted task begins or ends to be current on this CPU. Preemption off. */
void kml_arch_enter(void);
void kml_arch_leave(void);
/* Makes an address space that only kernel mode can access. Atomic. */
void kml_arch_own_mm(struct mm_struct *mm);
/* Lets current, in a system call, return the stock way. */
void kml_arch_detach(void);
/* Whether current's program is one that can run in kernel mode. */
bool kml_arch_suits(void);
void kml_arch_count(struct kml_counts *counts);

#endif
