// SPDX-License-Identifier: GPL-2.0
/*
 * A program that gives up its rights, in which mode it was and is, and that it still
 * works.
 *
 *	kml_rights keep		changes its rights, but not the one that counts
 *	kml_rights setuid|capset|namespace|filtered
 *	kml_rights threads	the C library's setuid(), for all threads
 *	kml_rights one-thread	the others do not give up anything, but share its memory
 *	kml_rights direct	by a direct call; asks again where to jump to
 *	kml_rights stale	by a direct call; does not ask again
 *	kml_rights child	of which the child has fewer from the start
 *	kml_rights sharing	such a child in the same memory
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kml.h"
#include "kml_cpl.h"
#include "must.h"

#define USER	1000
#define THREADS	4
#define SIZE	(4UL << 20)

static char *memory;
static int ends[2];
static atomic_int ready, changed, modes[4];
/* of the last thing that each thread did */
static atomic_long done[THREADS];

static void set_caps(unsigned int cap, bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	MUST(!syscall(SYS_capget, &header, data));
	if (on)
		data[CAP_TO_INDEX(cap)].effective |= CAP_TO_MASK(cap);
	else
		data[CAP_TO_INDEX(cap)].effective &= ~CAP_TO_MASK(cap);
	MUST(!syscall(SYS_capset, &header, data));
}

/* A filter that lets all pass: system calls take the kernel's own way. */
static void filter(void)
{
	struct sock_filter pass[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = pass };

	MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Old memory, new memory at a far address, a copy after fork, calls. */
static void work(void)
{
	char *far = mmap((void *)(0x100000000000UL + (random() & 0xff) * 0x8000000000UL), SIZE,
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child;

	MUST(far != MAP_FAILED);
	for (size_t i = 0; i < SIZE; i += 4096) {
		MUST(memory[i] == 1);
		far[i] = 2;
	}
	child = fork();
	MUST(child >= 0);
	if (!child) {
		memory[0] = 3;
		_exit(cpl());
	}
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
	MUST(WEXITSTATUS(status) == cpl() && memory[0] == 1 && far[0] == 2);
	MUST(!munmap(far, SIZE));
}

static void *busy(void *arg)
{
	long number = (long)arg;
	volatile char *page = memory + number * 4096;
	char byte;

	ready++;
	while (!changed) {
		if (number == 1)		/* calls */
			syscall(SYS_getppid);
		else if (number == 2)		/* sleeps */
			MUST(read(ends[0], &byte, 1) == 1);
		else if (number == 3)		/* faults */
			madvise((void *)page, 4096, MADV_COLD);
		MUST(*page == 1);
		done[number]++;
	}
	modes[cpl()]++;
	return NULL;
}

static void threads(bool all)
{
	pthread_t thread[THREADS];

	MUST(!pipe(ends));
	for (long i = 0; i < THREADS; i++)
		MUST(!pthread_create(&thread[i], NULL, busy, (void *)i));
	while (ready < THREADS || !done[0] || !done[1] || !done[3])
		sched_yield();
	if (all)
		MUST(!setuid(USER));
	else
		MUST(!syscall(SYS_setuid, USER));
	changed = 1;
	MUST(write(ends[1], "x", 1) == 1);
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_join(thread[i], NULL));
	printf("threads at 0: %d at 3: %d\n", modes[0], modes[3]);
}

static void direct(bool again)
{
	int err = kml_init();

	printf("direct %s\n", err ? strerror(-err) : "yes");
	MUST(!kml_syscall1(SYS_setuid, USER));
	printf("cpl %d\n", cpl());
	fflush(stdout);
	if (again)
		MUST(kml_init() == -EACCES);
	MUST(kml_syscall0(SYS_getpid) == getpid());
}

static int say_mode(void *arg)
{
	_exit(10 + cpl());
}

static void child(int flags)
{
	pid_t pid = clone(say_mode, memory + SIZE, flags | CLONE_NEWUSER | SIGCHLD, NULL);
	int status;

	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("child killed by %d\n", WTERMSIG(status));
	else
		printf("child cpl %d\n", WEXITSTATUS(status) - 10);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	memset(memory, 1, SIZE);
	printf("cpl %d\n", cpl());
	fflush(stdout);
	work();
	if (!strcmp(what, "keep")) {
		set_caps(CAP_NET_ADMIN, false);
		MUST(!setgid(USER));
	} else if (!strcmp(what, "setuid")) {
		MUST(!setuid(USER));
	} else if (!strcmp(what, "capset")) {
		set_caps(CAP_SYS_RAWIO, false);
		MUST(cpl() == 3);
		set_caps(CAP_SYS_RAWIO, true);
	} else if (!strcmp(what, "namespace")) {
		MUST(!unshare(CLONE_NEWUSER));
	} else if (!strcmp(what, "filtered")) {
		filter();
		MUST(!setuid(USER));
	} else if (!strcmp(what, "threads") || !strcmp(what, "one-thread")) {
		threads(what[0] == 't');
	} else if (!strcmp(what, "direct") || !strcmp(what, "stale")) {
		direct(what[0] == 'd');
	} else if (!strcmp(what, "child") || !strcmp(what, "sharing")) {
		child(what[0] == 's' ? CLONE_VM : 0);
	} else {
		return 2;
	}
	printf("cpl %d\n", cpl());
	fflush(stdout);
	work();
	return 0;
}
