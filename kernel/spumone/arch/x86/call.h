/* SPDX-License-Identifier: GPL-2.0 */
/* What call.S has; the first two are in one page. */
#ifndef _SPUMONE_CALL_H
#define _SPUMONE_CALL_H

#include <linux/types.h>

/**
 * spumone_arch_switch_in() - enter the layer
 * @root: of its page tables, physical
 * @enter: its address in them
 *
 * Context: on the CPU, interrupts off.  Returns under the layer.
 */
void spumone_arch_switch_in(u64 root, u64 enter);

/**
 * spumone_arch_switch_out() - where the layer goes to be gone; Linux does not call it
 */
void spumone_arch_switch_out(void);

/**
 * spumone_arch_call_leave() - Linux's last call to the layer
 *
 * Context: on the CPU, under the layer, interrupts off.  Returns natively.
 */
void spumone_arch_call_leave(void);

#endif
