/* SPDX-License-Identifier: GPL-2.0 */
/* What gates.S and guards.S include. */
#include <asm/segment.h>

/*
 * From the code segment that a program was interrupted in, at CPL 0, to the one that
 * is the same at CPL 3. 32-bit code has no way back to CPL 0; see .Lother_code
 * in gates.S.
 */
.macro user_cs frame_cs:req
	cmpq	$__KERNEL_CS, \frame_cs
	movq	$__USER_CS, \frame_cs
	je	.Luser_cs_\@
	movq	$__USER32_CS, \frame_cs
.Luser_cs_\@:
.endm
