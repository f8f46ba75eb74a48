/* SPDX-License-Identifier: GPL-2.0 */
/* What C and assembly must agree about. */
#ifndef _RT_LAYOUT_H
#define _RT_LAYOUT_H

#define BOARD_CODE	0x08	/* selectors */
#define BOARD_DATA	0x10
#define BOARD_TSS	0x18

#define BOARD_TSS_SIZE	104
#define BOARD_TSS_IST1	36	/* offset */

#define BOARD_STACK	16384
#define BOARD_STUB	16	/* bytes of a vector's entry */
#define BOARD_EXCEPTIONS	32
#define BOARD_VECTORS	256

#endif
