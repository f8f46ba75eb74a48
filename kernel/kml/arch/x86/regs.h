/* SPDX-License-Identifier: GPL-2.0 */
/* struct pt_regs for assembly: offsets, which idt.c checks. */
#ifndef _KML_REGS_H
#define _KML_REGS_H

/* struct thread_info, at the start of struct task_struct */
#define TI_FLAGS	0
#define TI_SYSCALL_WORK	8
/* the upper half of flags, which has none, and above it the lower of syscall_work */
#define TI_WORK_UPPER	4

#define R_15		0
#define R_14		8
#define R_13		16
#define R_12		24
#define R_BP		32
#define R_BX		40
#define R_11		48
#define R_10		56
#define R_9		64
#define R_8		72
#define R_CX		88
#define R_AX		80
#define R_DX		96
#define R_SI		104
#define R_DI		112
#define R_ORIG_AX	120
#define R_IP		128
#define R_CS		136
#define R_FLAGS		144
#define R_SP		152
#define R_SS		160

#endif
