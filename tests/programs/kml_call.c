// SPDX-License-Identifier: GPL-2.0
/*
 * Direct calls.
 *
 *	kml_call loop N		N times getpid: SYSCALL, then kml.h; ns for each
 *	kml_call check		kml.h's calls do what SYSCALL does
 *	kml_call exec FILE ...	trust FILE for this exec (as `shimos trust run`)
 *	kml_call status		what the module counts
 *	kml_call tasks		trusted threads
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "kml.h"
#include "must.h"

#define ALARMS_UNTIL_ANSWER 6

static volatile sig_atomic_t alarms;
static volatile int answer_to = -1;	/* gets two bytes when there were enough; -1: nobody does */

static void on_alarm(int signal)
{
	if (++alarms == ALARMS_UNTIL_ANSWER && answer_to >= 0 && write(answer_to, "yz", 2) != 2)
		abort();
}

/* Whoever reads there is interrupted some times before there is something. */
static void answer(int fd)
{
	answer_to = fd;
	alarms = 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* by the same loop for both, so that only the entry differs */
static double loop(long n)
{
	double start = now();

	for (long i = 0; i < n; i++)
		kml_syscall0(SYS_getpid);
	return (now() - start) / n;
}

static void measure(long n)
{
	double direct, by_syscall;

	kml_use_syscall();
	loop(n / 10);
	by_syscall = loop(n);
	kml_init();
	loop(n / 10);
	direct = loop(n);
	printf("syscall %.1f direct %.1f\n", by_syscall, direct);
}

static void check(void)
{
	struct itimerval interval = { { 0, 2000 }, { 0, 2000 } }, never = { };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	char two[2];
	int ends[2], sockets[2], status;
	long child;

	MUST(kml_syscall0(SYS_getpid) == getpid());
	MUST(kml_syscall0(100000) == -ENOSYS);
	MUST(kml_syscall0(-1) == -ENOSYS);
	MUST(kml_syscall3(SYS_write, 1, 8, 8) == -EFAULT);
	MUST(kml_syscall6(SYS_mmap, 0, 4096, 3, 0x22, -1, 0) > 0);

	/* fork returns twice, from a call that saves all registers */
	child = kml_syscall0(SYS_fork);
	MUST(child >= 0);
	if (!child)
		kml_syscall1(SYS_exit_group, 7);
	MUST(kml_syscall6(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == child);
	MUST(WEXITSTATUS(status) == 7);

	/* signals at all places of a direct call */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
	while (alarms < 100)
		MUST(kml_syscall0(SYS_getppid) == getppid());

	/* a read that signals interrupt starts again, until there is something */
	MUST(!pipe(ends));
	answer(ends[1]);
	MUST(kml_syscall3(SYS_read, ends[0], (long)two, 2) == 2 && !memcmp(two, "yz", 2));
	MUST(alarms >= ALARMS_UNTIL_ANSWER);

	/* so does one with more than three arguments: MSG_WAITALL and nobody's address */
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	memset(two, 0, sizeof(two));
	answer(sockets[1]);
	MUST(kml_syscall6(SYS_recvfrom, sockets[0], (long)two, 2, MSG_WAITALL, 0, 0) == 2);
	MUST(!memcmp(two, "yz", 2) && alarms >= ALARMS_UNTIL_ANSWER);

	/* and without SA_RESTART it says so */
	action.sa_flags = 0;
	answer(-1);
	sigaction(SIGALRM, &action, NULL);
	MUST(kml_syscall3(SYS_read, ends[0], (long)two, 2) == -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("same\n");
}

static void show_status(int fd)
{
	struct shimos_kml_status s = { .hdr = { sizeof(s), SHIMOS_KML_VERSION } };

	MUST(!ioctl(fd, SHIMOS_KML_STATUS, &s));
	printf("tasks %llu\ntrusted %llu\nrefused %llu\nsyscalls %llu\ncalls %llu\n", s.tasks,
	       s.trusted, s.refused, s.syscalls, s.calls);
	printf("promotions %llu\nfixes %llu\nretries %llu\nreason %s\n", s.promotions, s.fixes,
	       s.retries, s.reason);
}

static void show_tasks(int fd)
{
	static __u32 tids[1024];
	struct shimos_kml_tasks t = {
		.hdr = { sizeof(t), SHIMOS_KML_VERSION }, .tids = (unsigned long)tids, .room = 1024,
	};

	MUST(!ioctl(fd, SHIMOS_KML_TASKS, &t));
	for (__u32 i = 0; i < t.count && i < t.room; i++)
		printf("%u\n", tids[i]);
}

int main(int argc, char **argv)
{
	struct shimos_kml_trust trust = { .hdr = { sizeof(trust), SHIMOS_KML_VERSION } };
	const char *what = argc > 1 ? argv[1] : "";
	int trusted = kml_init(), fd;

	if (!strcmp(what, "loop") || !strcmp(what, "check")) {
		printf("direct %s\n", trusted ? strerror(-trusted) : "yes");
		if (*what == 'l')
			measure(argc > 2 ? atol(argv[2]) : 100000);
		else
			check();
		return 0;
	}
	fd = open(SHIMOS_KML_DEVICE, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(SHIMOS_KML_DEVICE);
		return 1;
	}
	if (!strcmp(what, "status")) {
		show_status(fd);
	} else if (!strcmp(what, "tasks")) {
		show_tasks(fd);
	} else if (!strcmp(what, "exec") && argc > 2) {
		if (ioctl(fd, SHIMOS_KML_TRUST, &trust)) {
			perror("trust");
			return 1;
		}
		execv(argv[2], argv + 2);
		perror(argv[2]);
		return 1;
	}
	return 0;
}
