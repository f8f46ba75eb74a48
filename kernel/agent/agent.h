/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the agent share.  Calls go down: main.c; end.c, console.c; shared.c. */
#ifndef _AGENT_H
#define _AGENT_H

#include <linux/types.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>

/* shared.c: the area shared with KLoader; mapped as long as the agent is there */
extern struct shimos_shared *agent_shared;
int agent_shared_map(void);
void agent_shared_unmap(void);
/* Ring KLoader.  Any context. */
void agent_ring_host(void);

/* end.c: how the partition ends, whatever the way */
int agent_end_init(void);
void agent_end_exit(void);
/* KLoader asks for an orderly power-off; process context. */
void agent_power_off(void);

/* console.c */
int agent_console_init(void);
void agent_console_exit(void);
void agent_console_rang(void);		/* hard interrupt: there may be input */

/* What an architecture provides; see arch/.../arch.c. */
int agent_arch_find_shared(u64 *addr, u64 *size);
/*
 * Catch restarts that pass all notifiers by, as sysrq-b does, and call @end with
 * SHIMOS_CAUSE_REBOOT instead.
 */
int agent_arch_catch_restart(void (*end)(enum shimos_cause cause));
/* Catch KLoader's call to stand still, and call @stop; any context, no return. */
int agent_arch_catch_stop(void (*stop)(void));
void agent_arch_release(void);
/* This CPU stands still from now on: let KLoader stop it from outside. */
void agent_arch_let_go(void);

#endif
