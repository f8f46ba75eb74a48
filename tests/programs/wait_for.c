// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for one thing, and lets the CPU sleep meanwhile.
 *
 *	wait_for file PATH		until there is such a file
 *	wait_for no-file PATH		until there is none
 *	wait_for text TEXT PATH		until the file has the text in it
 *	wait_for value A|B PATH		until a sysfs attribute says one of these
 *	wait_for exit PID...		until these processes are gone
 *
 * With -t SECONDS before all that it fails after so long, and says what it saw last.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

/* Where no event comes: procfs has none, sysfs only for some attributes. */
#define INTERVAL_MS 50

static double deadline;
static char last[1 << 20];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void check_time(const char *what)
{
	if (!deadline || now() < deadline)
		return;
	printf("wait_for: still not: %s\nlast seen: %s\n", what, last);
	exit(1);
}

/* Read a file, or of a large one its end; false if there is none. */
static bool see(int fd)
{
	ssize_t got, length = 0;
	off_t size = lseek(fd, 0, SEEK_END), room = sizeof(last) - 1;

	last[0] = 0;
	if (fd < 0)
		return false;
	MUST(lseek(fd, size > room ? size - room : 0, SEEK_SET) >= 0);
	while ((got = read(fd, last + length, room - length)) > 0)
		length += got;
	last[length] = 0;
	return true;
}

static bool has_text(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY);
	bool found = see(fd) && strstr(last, text);

	if (fd >= 0)
		close(fd);
	return found;
}

static bool holds(const char *what, const char *text, const char *path)
{
	if (!strcmp(what, "text"))
		return has_text(path, text);
	return !access(path, F_OK) == !strcmp(what, "file");
}

/* The folder tells of what happens to its files, but for the kernel's own file systems. */
static void wait_file(const char *what, const char *text, const char *path)
{
	struct pollfd events = { .fd = inotify_init1(IN_NONBLOCK), .events = POLLIN };
	char *folder = dirname(strdup(path));
	char ignored[4096];

	inotify_add_watch(events.fd, folder, IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY);
	while (!holds(what, text, path)) {
		check_time(path);
		/* not once for each event of somebody who writes all the time */
		if (poll(&events, 1, INTERVAL_MS) > 0)
			usleep(5000);
		while (read(events.fd, ignored, sizeof(ignored)) > 0)
			;
	}
}

static bool one_of(const char *value, const char *choice)
{
	size_t length = strcspn(value, "\n");

	for (const char *c = choice; c; c = strchr(c, '|')) {
		c += *c == '|';
		if (strcspn(c, "|") == length && !strncmp(c, value, length))
			return true;
	}
	return false;
}

/* sysfs_notify() wakes a poll for priority data, once the attribute was read. */
static void wait_value(const char *choice, const char *path)
{
	struct pollfd attribute = { .fd = open(path, O_RDONLY), .events = POLLPRI };

	if (attribute.fd < 0) {
		perror(path);
		exit(1);
	}
	while (see(attribute.fd) && !one_of(last, choice)) {
		check_time(choice);
		poll(&attribute, 1, INTERVAL_MS);
	}
}

static void wait_exit(pid_t pid)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	while (end.fd >= 0 && poll(&end, 1, INTERVAL_MS) <= 0)
		check_time("its end");
	/* its parent has still to be told */
	while (!kill(pid, 0) || errno != ESRCH) {
		check_time("its end");
		usleep(5000);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "-t")) {
		deadline = now() + atof(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc == 3 && (!strcmp(argv[1], "file") || !strcmp(argv[1], "no-file"))) {
		wait_file(argv[1], NULL, argv[2]);
	} else if (argc == 4 && !strcmp(argv[1], "text")) {
		wait_file(argv[1], argv[2], argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "value")) {
		wait_value(argv[2], argv[3]);
	} else if (argc > 2 && !strcmp(argv[1], "exit")) {
		for (int i = 2; i < argc; i++)
			wait_exit(atoi(argv[i]));
	} else {
		fprintf(stderr, "usage: wait_for [-t SECONDS] file|no-file|text|value|exit ...\n");
		return 2;
	}
	return 0;
}
