/* SPDX-License-Identifier: GPL-2.0 */
/* What call.S has; the first two are in one page. */
#ifndef _SPUMONE_CALL_H
#define _SPUMONE_CALL_H

#include <linux/types.h>

void spumone_arch_switch_in(u64 root, u64 enter);
void spumone_arch_switch_out(void);
void spumone_arch_call_leave(void);

#endif
