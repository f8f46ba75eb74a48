// SPDX-License-Identifier: GPL-2.0
/*
 * What system calls cost: kml_bench DIRECTORY [direct]
 * Prints `name nanoseconds` per call, or per round trip.  With the emulator counting
 * instructions as time, these are instructions.  The files are made in DIRECTORY.
 * Run below the trusted directory, all of it is in kernel mode; with `direct`, calls go
 * by kml.h's jump instead of SYSCALL.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "kml.h"

#define CALLS		1000	/* the emulator's count does not vary, but for its timer ticks */
#define TRIPS		300
#define BUFFER		8192	/* as in the paper */
#define LARGEST		(256 << 10)
#define TRIES		30	/* the paper's: the best of 30 counts */

static char buffer[BUFFER];
static const char *file;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void check(long ret, const char *what)
{
	if (ret < 0)
		errx(1, "%s: %s", what, strerror(-ret));
}

/* ---- single calls: the second round counts ---- */

#define MEASURE(name, call) do {						\
	double start = 0;							\
										\
	for (int round = 0; round < 2; round++) {				\
		start = now();							\
		for (int _call = 0; _call < CALLS; _call++)			\
			check(call, name);					\
	}									\
	printf("%s %.1f\n", name, (now() - start) / CALLS);			\
} while (0)

static void single_calls(void)
{
	static const int sizes[] = { 1, 64, 512, 1024, 4096, 8192 };
	struct timeval tv;
	char name[32];
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, buffer, BUFFER) != BUFFER)
		err(1, "%s", file);
	MEASURE("getpid", kml_syscall0(SYS_getpid));
	MEASURE("gettimeofday", kml_syscall2(SYS_gettimeofday, (long)&tv, 0));
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(name, sizeof(name), "read_%d", sizes[i]);
		MEASURE(name, kml_syscall6(SYS_pread64, fd, (long)buffer, sizes[i], 0, 0, 0));
		snprintf(name, sizeof(name), "write_%d", sizes[i]);
		MEASURE(name, kml_syscall6(SYS_pwrite64, fd, (long)buffer, sizes[i], 0, 0, 0));
	}
	close(fd);
}

/* ---- two processes ---- */

static void pass(int from, int to)
{
	char byte;

	check(kml_syscall3(SYS_read, from, (long)&byte, 1), "read");
	check(kml_syscall3(SYS_write, to, (long)&byte, 1), "write");
}

static void pipe_round_trip(void)
{
	int there[2], back[2];
	double start = 0;
	pid_t child;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		for (int i = 0; i < 2 * TRIPS; i++)
			pass(there[0], back[1]);
		_exit(0);
	}
	for (int round = 0; round < 2; round++) {
		start = now();
		for (int i = 0; i < TRIPS; i++) {
			check(kml_syscall3(SYS_write, there[1], (long)buffer, 1), "write");
			check(kml_syscall3(SYS_read, back[0], (long)buffer, 1), "read");
		}
	}
	printf("pipe %.1f\n", (now() - start) / TRIPS);
	waitpid(child, NULL, 0);
}

/* ---- Iozone's four: a new file, again, read, again ---- */

static double whole_file(long nr, int flags, int size)
{
	int fd = open(file, flags, 0600);
	double start = now();

	if (fd < 0)
		err(1, "%s", file);
	for (int at = 0; at < size; at += BUFFER)
		check(kml_syscall3(nr, fd, (long)buffer, BUFFER), "file");
	start = now() - start;
	close(fd);
	return start;
}

static void keep_best(double *best, double value)
{
	if (!*best || value < *best)
		*best = value;
}

static void files(int size)
{
	double best[4] = { 0 };

	for (int i = 0; i < TRIES; i++) {
		unlink(file);
		keep_best(&best[0], whole_file(SYS_write, O_WRONLY | O_CREAT, size));
		keep_best(&best[1], whole_file(SYS_write, O_WRONLY, size));
		keep_best(&best[2], whole_file(SYS_read, O_RDONLY, size));
		keep_best(&best[3], whole_file(SYS_read, O_RDONLY, size));
	}
	printf("file_write_%d %.1f\nfile_rewrite_%d %.1f\n", size >> 10, best[0], size >> 10, best[1]);
	printf("file_read_%d %.1f\nfile_reread_%d %.1f\n", size >> 10, best[2], size >> 10, best[3]);
}

int main(int argc, char **argv)
{
	static char path[4096];
	bool direct = argc > 2 && !strcmp(argv[2], "direct");
	int ret = kml_init();

	if (argc < 2)
		errx(1, "usage: kml_bench DIRECTORY [direct]");
	if (direct && ret)
		errx(1, "not trusted: %s", strerror(-ret));
	if (!direct)
		kml_use_syscall();
	snprintf(path, sizeof(path), "%s/kml_bench", argv[1]);
	file = path;
	memset(buffer, 'x', sizeof(buffer));
	single_calls();
	pipe_round_trip();
	for (int size = 16 << 10; size <= LARGEST; size *= 2)
		files(size);
	unlink(file);
	return 0;
}
