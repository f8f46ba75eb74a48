/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the agent share. */
#ifndef _AGENT_H
#define _AGENT_H

#include <linux/types.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>

/* The area shared with KLoader; mapped once, never unmapped. */
extern struct shimos_shared *agent_shared;

/* Ring KLoader.  Any context. */
void agent_ring_host(void);

/* end.c: how the partition ends, whatever the way */
int agent_end_init(void);
/* Tell KLoader that it is over and stop this CPU.  Any context; no return. */
void agent_end(enum shimos_cause cause);
/* KLoader asks for an orderly power-off; process context. */
void agent_power_off(void);

/* console.c */
int agent_console_init(void);
void agent_console_rang(void);		/* hard interrupt: there may be input */

/* What an architecture provides; see arch/x86/arch.c. */
int agent_arch_find_shared(u64 *addr, u64 *size);
/* Catch restarts that pass all notifiers by, as sysrq-b does. */
int agent_arch_catch_restart(void);

#endif
