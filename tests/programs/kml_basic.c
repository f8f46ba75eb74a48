// SPDX-License-Identifier: GPL-2.0
/* Says in which mode it runs, and does what any program does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kml_cpl.h"

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000;
	char text[16] = "";
	int ends[2], status;
	pid_t child;
	char *pages;

	printf("cpl %d\n", cpl());
	fflush(stdout);
	for (long i = 0; i < calls; i++)
		if (syscall(SYS_getpid) != getpid())
			return fail("getpid");
	printf("calls %ld cpl %d\n", calls, cpl());
	fflush(stdout);

	/* memory that faults in, and is shared until written after fork */
	pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return fail("mmap");
	memset(pages, 1, 1 << 20);
	if (pipe(ends))
		return fail("pipe");
	child = fork();
	if (child < 0)
		return fail("fork");
	if (!child) {
		memset(pages, 2, 1 << 20);
		snprintf(text, sizeof(text), "%d", cpl());
		_exit(write(ends[1], text, sizeof(text)) == sizeof(text) ? pages[4096] : 99);
	}
	if (read(ends[0], text, sizeof(text)) != sizeof(text))
		return fail("read");
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 2)
		return fail("wait");
	if (pages[4096] != 1)
		return fail("copy on write");
	printf("child cpl %s\n", text);
	return 0;
}
