// SPDX-License-Identifier: GPL-2.0
/*
 * A program in kernel mode with flags that the kernel must not have.
 *
 *	kml_flags call nt|ac|df	direct calls of all kinds, with the flag set
 *	kml_flags spin nt|ac|df	runs with it, without calls, until it is killed
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kml.h"
#include "must.h"

static const struct flag {
	const char *name;
	unsigned long bit;
} flags[] = {
	{ "nt", 1UL << 14 }, { "ac", 1UL << 18 }, { "df", 1UL << 10 },
};

/* A call with at most three arguments and this flag. */
static long call_with(unsigned long flag, long nr, long a, long b, long c)
{
	register void (*to)(void) asm("r10") = kml_entry_3;
	register unsigned long bit asm("r8") = flag;

	asm volatile("subq	$128, %%rsp\n"		/* what the compiler may use below */
		     "pushfq\n"
		     "orq	%[bit], (%%rsp)\n"
		     "popfq\n"
		     "leaq	1f(%%rip), %%rcx\n"
		     "jmpq	*%[to]\n"
		     "1:	pushq	$0x202\n"
		     "popfq\n"
		     "addq	$128, %%rsp"
		     : "+a"(nr), "+D"(a), "+S"(b), "+d"(c), [to] "+r"(to), [bit] "+r"(bit)
		     :: "rcx", "r9", "r11", "cc", "memory");
	return nr;
}

static void calls(unsigned long flag)
{
	static char text[128];
	char byte = 0;
	int ends[2], status, fd = open("/proc/kml_look", O_RDONLY);
	pid_t child;
	long pid;

	MUST(fd >= 0 && !kml_init());
	/* the short way, the kernel's own, one that wants all registers */
	MUST(call_with(flag, SYS_getpid, 0, 0, 0) == getpid());
	MUST(call_with(flag, 100000, 0, 0, 0) == -ENOSYS);
	pid = call_with(flag, SYS_fork, 0, 0, 0);
	MUST(pid >= 0);
	if (!pid)
		_exit(0);
	MUST(waitpid(pid, &status, 0) == pid && !status);
	/* another task runs meanwhile */
	MUST(!pipe(ends));
	child = fork();
	if (!child) {
		usleep(50000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	MUST(call_with(flag, SYS_read, ends[0], (long)&byte, 1) == 1 && byte == 'x');
	MUST(waitpid(child, &status, 0) == child && !status);
	MUST(call_with(flag, SYS_read, fd, (long)text, sizeof(text) - 1) > 0);
	printf("%s\n", strtoul(text + strlen("flags "), NULL, 0) & flag ? "set" : "not set");
}

static void spin(unsigned long flag)
{
	asm volatile("subq	$128, %%rsp\n"
		     "pushfq\n"
		     "orq	%0, (%%rsp)\n"
		     "popfq\n"
		     "1:	pause\n"
		     "jmp	1b"
		     :: "r"(flag) : "cc", "memory");
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	for (unsigned int i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(what, flags[i].name)) {
			if (!strcmp(argv[1], "spin"))
				spin(flags[i].bit);
			calls(flags[i].bit);
			return 0;
		}
	return 2;
}
