// SPDX-License-Identifier: GPL-2.0
/*
 * Does one thing that no program should. In kernel mode, too, it shall kill the
 * program only, by the signal that it dies of in user mode where that is possible.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int again = 1;
static volatile unsigned long eight = 8;

static void recurse(void)
{
	char room[4096];

	memset(room, 1, sizeof(room));
	if (again)
		recurse();
	asm volatile("" :: "r"(room));
}

/* touches nothing mapped: in kernel mode, what is mapped is the kernel's */
#define HOLE	0xffffff0000000000ul

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	volatile char *page;

	/* what the signal is for the test to see; no core, no handler */
	if (!strcmp(what, "null"))
		*(volatile char *)eight = 1;
	else if (!strcmp(what, "read-kernel-hole"))
		(void)*(volatile char *)HOLE;
	else if (!strcmp(what, "non-canonical"))
		(void)*(volatile char *)0x8000000000000000ul;
	else if (!strcmp(what, "read-only"))
		*(volatile char *)main = 1;
	else if (!strcmp(what, "no-access")) {
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)*page;
	} else if (!strcmp(what, "no-exec")) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		page[0] = 0xc3;
		((void (*)(void))page)();
	} else if (!strcmp(what, "recursion"))
		recurse();
	else if (!strcmp(what, "jump-null"))
		((void (*)(void))0)();
	else if (!strcmp(what, "jump-kernel-hole"))
		((void (*)(void))HOLE)();
	else if (!strcmp(what, "jump-non-canonical"))
		((void (*)(void))0x8000000000000000ul)();
	else if (!strcmp(what, "stack-null"))
		asm volatile("movl $8, %esp; pushq %rax");
	else if (!strcmp(what, "stack-kernel-hole"))
		asm volatile("movq %0, %%rsp; pushq %%rax" :: "r"(HOLE));
	else if (!strcmp(what, "stack-non-canonical"))
		asm volatile("movq %0, %%rsp; pushq %%rax" :: "r"(0x8000000000000000ul));
	else if (!strcmp(what, "undefined"))
		asm volatile("ud2");
	else if (!strcmp(what, "breakpoint"))
		asm volatile("int3");
	else if (!strcmp(what, "divide"))
		asm volatile("divl %0" :: "r"(0), "a"(1), "d"(0));
	else if (!strcmp(what, "bad-segment"))
		asm volatile("movw %0, %%ds" :: "r"((short)0x7ff8));
	else if (!strcmp(what, "abort"))
		abort();
	printf("survived %s\n", what);
	return 0;
}
