/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a partition's first CPU runs first, copied into its memory.  The firmware hands on one
 * argument, the device tree in x0; Linux wants the next three zero
 * (Documentation/arch/arm64/booting.rst).  The MMU is off, so that all memory is device
 * memory, where a word must be aligned.
 */
#include <linux/linkage.h>

	.section .rodata, "a"
	.balign	8
SYM_DATA_START(kloader_entry)
	mov	x1, xzr
	mov	x2, xzr
	mov	x3, xzr
	ldr	x4, kloader_entry_kernel
	br	x4
	.balign	8
SYM_INNER_LABEL(kloader_entry_kernel, SYM_L_GLOBAL)
	.quad	0
SYM_DATA_END_LABEL(kloader_entry, SYM_L_GLOBAL, kloader_entry_end)
