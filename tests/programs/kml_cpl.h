/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TESTS_KML_CPL_H
#define _TESTS_KML_CPL_H

/* In which mode the program runs: 0 is kernel mode, 3 user mode. */
static inline int cpl(void)
{
	unsigned short cs;

	asm volatile("mov %%cs, %0" : "=r"(cs));
	return cs & 3;
}

#endif
