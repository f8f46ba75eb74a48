/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the agent share.  Calls go down: main.c; end.c, resize.c, sleep.c, console.c; cpus.c, memory.c; shared.c. */
#ifndef _AGENT_H
#define _AGENT_H

#include <linux/types.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>

/* shared.c: the area shared with KLoader; mapped as long as the agent is there */
extern struct shimos_shared *agent_shared;
int agent_shared_map(void);
void agent_shared_unmap(void);
void agent_ring_host(void);

/* end.c: how the partition ends, whatever the way */
int agent_end_init(void);
void agent_end_exit(void);
void agent_power_off(void);

/* resize.c: what the host gives, and wants back */
void agent_resize(void);

/* cpus.c: CPUs that come and go */
int agent_cpus_init(void);
void agent_cpus_exit(void);
int agent_cpus_find(u64 hardware_id);
int agent_cpus_resize(u64 hardware_id, bool add);

/* memory.c: memory that comes and goes */
u64 agent_memory_step(void);
int agent_memory_resize(u64 start, u64 size, bool add);

/* sleep.c: it does not */
int agent_sleep_init(void);
void agent_sleep_exit(void);

/* console.c */
int agent_console_init(void);
void agent_console_exit(void);
void agent_console_rang(void);

/* ---- what an architecture provides; see arch/.../arch.c ---- */

/**
 * agent_arch_find_shared() - where KLoader says the shared area is
 * @addr: gets its physical address
 * @size: gets its bytes, as they were described; nothing has checked them
 *
 * Context: process; once, at module load.
 * Return: 0; -ENODEV: KLoader did not start this kernel; -EPROTO or another error: its
 * description is not one that is known.
 */
int agent_arch_find_shared(u64 *addr, u64 *size);

/**
 * agent_arch_catch_restart() - catch restarts that pass all notifiers by, as sysrq-b does
 * @end: called with SHIMOS_CAUSE_REBOOT instead; any context, does not return
 *
 * Context: process; may sleep.
 * Return: 0 or why it cannot be; then agent_arch_release() need not, but may be called.
 */
int agent_arch_catch_restart(void (*end)(enum shimos_cause cause));

/**
 * agent_arch_catch_stop() - catch KLoader's call to stand still
 * @stop: called on each CPU that may have been asked, in any context, also an NMI's; returns if
 *	nobody asked
 *
 * Context: process; may sleep.
 * Return: 0 or why it cannot be.
 */
int agent_arch_catch_stop(void (*stop)(void));

/* The hardware id of no CPU. */
#define AGENT_NO_HARDWARE_ID	(~0ULL)

/**
 * agent_arch_hardware_id() - the id that the hardware knows a CPU by
 * @cpu: Linux's number of a possible one
 *
 * Context: any.
 * Return: it, or AGENT_NO_HARDWARE_ID where KLoader does not ask for CPUs yet.
 */
u64 agent_arch_hardware_id(unsigned int cpu);

/**
 * agent_arch_take_interrupts() - have given devices ask for the interrupts that the host has made
 *
 * Context: process; once, before there are drivers for the devices.
 * Return: 0 or an error; then there is nothing to undo.
 */
int agent_arch_take_interrupts(void);

/**
 * agent_arch_release() - catch neither restarts nor calls any more
 *
 * Also for what has not been caught.
 *
 * Context: process; may sleep.
 */
void agent_arch_release(void);

/**
 * agent_arch_let_go() - let KLoader stop this CPU from outside
 *
 * It stands still from now on.
 *
 * Context: any, interrupts off; may not return.
 */
void agent_arch_let_go(void);

#endif
