// SPDX-License-Identifier: GPL-2.0
/*
 * A 64-bit program that goes on in 32-bit code, which exits by 33; were it taken for
 * 64-bit code, by 32.
 *
 *	kml_code32 user		by user mode's segment
 *	kml_code32 kernel	by kernel mode's, if it is in kernel mode
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kml_cpl.h"
#include "must.h"

#define USER32_CS	0x23
#define KERNEL32_CS	0x08

static const unsigned char code[] = {
	0xb8, 0x14, 0, 0, 0,		/* mov $20, %eax: getpid */
	0xcd, 0x80,			/* int $0x80 */
	0xbb, 0x20, 0, 0, 0,		/* mov $32, %ebx */
	0x43,				/* inc %ebx; a prefix in 64-bit code */
	0x90,				/* nop */
	0xb8, 0x01, 0, 0, 0,		/* mov $1, %eax: exit */
	0xcd, 0x80,			/* int $0x80 */
};

int main(int argc, char **argv)
{
	unsigned long cs = USER32_CS, ss;
	unsigned char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	MUST(low != MAP_FAILED);
	memcpy(low, code, sizeof(code));
	if (argc > 1 && !strcmp(argv[1], "kernel") && !cpl())
		cs = KERNEL32_CS;
	asm volatile("movq %%ss, %0" : "=r"(ss));
	if (cs == USER32_CS)
		ss = 0x2b;
	asm volatile("pushq	%0\n"
		     "pushq	%1\n"
		     "pushq	$0x202\n"
		     "pushq	%2\n"
		     "pushq	%3\n"
		     "iretq"
		     :: "r"(ss), "r"(low + 8192), "r"(cs), "r"(low) : "memory");
	return 2;
}
