/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KLOADER_X86_CMDLINE_H
#define _KLOADER_X86_CMDLINE_H

#include "kloader.h"

/* Read the host's own command line once; it does not change. */
int x86_read_host_cmdline(void);
bool x86_host_ipi_broadcast_off(void);

int x86_check_cmdline(const char *cmdline, struct complaint *c);
int x86_append_cmdline(struct partition *p, char *buf, size_t len);

#endif
