/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KLOADER_X86_CMDLINE_H
#define _KLOADER_X86_CMDLINE_H

#include "kloader.h"

int x86_read_host_cmdline(void);
bool x86_host_ipi_broadcast_off(void);
bool x86_host_tsc_reliable(void);

#endif
