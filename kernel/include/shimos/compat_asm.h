/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between the kernels we support, for assembly. */
#ifndef _SHIMOS_COMPAT_ASM_H
#define _SHIMOS_COMPAT_ASM_H

#include <linux/version.h>
#include <asm/unwind_hints.h>

/* code in which no stack trace can begin; named anew in 6.4 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define COMPAT_UNWIND_HINT_UNKNOWN	UNWIND_HINT_EMPTY
#else
#define COMPAT_UNWIND_HINT_UNKNOWN	UNWIND_HINT_UNDEFINED
#endif

#endif
