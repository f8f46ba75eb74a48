/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What C and assembly agree on: the page of a CPU's gate stack.
 *
 * The gate stack is one page, so that the stubs find its data from %rsp alone:
 * nothing else says which CPU it is before GS is known. Its top is IST6.
 */
#ifndef _KML_LAYOUT_H
#define _KML_LAYOUT_H

/* index of IST6 in the TSS and the number a gate has for it */
#define KML_IST_INDEX		5
#define KML_IST			(KML_IST_INDEX + 1)

#define KML_PAGE_SIZE		4096

/* offsets in struct kml_gate_page */
#define KML_PAGE_SP0		0
#define KML_PAGE_DIRECT_MAP	8
#define KML_PAGE_CR3_MASK	16
#define KML_PAGE_PGD_SHIFT	24
#define KML_PAGE_PROMOTIONS	32
#define KML_PAGE_FIXES		40
#define KML_PAGE_RETRIES	48
#define KML_PAGE_LAST_CR2	56
#define KML_PAGE_LAST_IP	64
#define KML_PAGE_LAST_CR3	72
#define KML_PAGE_STACK_TOP	80

/*
 * What a stub has on the gate stack at most, and where an NMI, #DB or #MC that
 * hits a stub moves that to: each to a place of its own, as they may nest.
 */
#define KML_FRAME		128
#define KML_MOVE_DB		1024
#define KML_MOVE_NMI		2048
#define KML_MOVE_MC		3072

/* exceptions with an error code */
#define KML_ERROR_VECTORS	0x60227d00

/* a stub: endbr, push, push, jmp */
#define KML_STUB_SIZE		16

#endif
