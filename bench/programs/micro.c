// SPDX-License-Identifier: GPL-2.0
/*
 * What the papers time with a loop: micro WORK COUNT
 *
 * Prints nanoseconds per turn of the loop, after a warm-up of a quarter of the
 * turns.  With an emulator's clock that counts instructions, these are counted.
 * One thread unless the work is about two; "other" means the kernel's second CPU.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096
#define PAGES	16384UL	/* 64 MiB: far more than any TLB reaches */
#define NEW_PAGES 64UL	/* no more than a CPU's own list of free pages has */

/* The two ends of a conversation; for a pipe each direction has its own. */
struct link {
	int in, out;
};

static struct link ours, theirs;
static volatile char *memory;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

static void one(void (*turn)(void), uint64_t count)
{
	while (count--)
		turn();
}

static void getpid_turn(void)
{
	syscall(SYS_getpid);
}

/* The papers' forkwait. */
static void fork_turn(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		err(1, "fork");
}

static void exec_turn(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/proc/self/exe", "micro", "nothing", "0", NULL);
		_exit(1);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		err(1, "vfork");
}

/* Of architectures that have such an instruction: one that every hypervisor must take over. */
void cpuid_turn(void) __attribute__((weak));

/* The next page of a cycle through all of them, in no order. */
static void walk_turn(void)
{
	static uint64_t page;

	page = (page * 5 + 12345) % PAGES;	/* full period: a - 1 is a multiple of 4 */
	memory[page * PAGE]++;
}

/* A page that is not there yet; when all are, they go. */
static void fault_turn(void)
{
	static uint64_t page;

	memory[page * PAGE] = 1;
	page = (page + 1) % NEW_PAGES;
	if (!page && madvise((void *)memory, NEW_PAGES * PAGE, MADV_DONTNEED))
		err(1, "memory");
}

/* Small pages: what is measured is finding them. */
static void take_memory(void)
{
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise((void *)memory, PAGES * PAGE, MADV_NOHUGEPAGE))
		err(1, "memory");
}

static void round_trip(void)
{
	char byte = 0;

	if (write(ours.out, &byte, 1) != 1 || read(ours.in, &byte, 1) != 1)
		err(1, "the other end");
}

static void echo(int cpu)
{
	char byte;

	if (fork())
		return;
	close(ours.in);
	close(ours.out);
	pin(cpu);
	while (read(theirs.in, &byte, 1) == 1)
		if (write(theirs.out, &byte, 1) != 1)
			break;
	_exit(0);
}

static void pipes(void)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	ours = (struct link){ back[0], there[1] };
	theirs = (struct link){ there[0], back[1] };
}

static void sockets(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(1, "socketpair");
	ours = (struct link){ pair[0], pair[0] };
	theirs = (struct link){ pair[1], pair[1] };
}

/* A pipe to oneself: what a context switch by pipe costs besides the switch. */
static void loop(void)
{
	int pair[2];

	if (pipe(pair))
		err(1, "pipe");
	ours = (struct link){ pair[0], pair[1] };
}

static double timed(void (*turn)(void), uint64_t count)
{
	uint64_t begin;

	one(turn, count / 4 + 1);
	begin = now();
	one(turn, count);
	return (double)(now() - begin) / count;
}

/* As lmbench's lat_ctx: half a round trip of two processes without the pipes' own cost. */
static double context_switch(uint64_t count)
{
	double alone;

	loop();
	alone = timed(round_trip, count);
	pipes();
	echo(0);
	return timed(round_trip, count) / 2 - alone;
}

int main(int argc, char **argv)
{
	const char *work = argc == 3 ? argv[1] : "";
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;
	double ns;

	if (!strcmp(work, "nothing"))
		return 0;
	if (!count)
		errx(1, "usage: micro getpid|fork|exec|switch|pipe|pipe-other|unix|unix-other|cpuid|walk|fault COUNT");
	if (!strcmp(work, "getpid")) {
		ns = timed(getpid_turn, count);
	} else if (!strcmp(work, "fork")) {
		ns = timed(fork_turn, count);
	} else if (!strcmp(work, "exec")) {
		ns = timed(exec_turn, count);
	} else if (cpuid_turn && !strcmp(work, "cpuid")) {
		ns = timed(cpuid_turn, count);
	} else if (!strcmp(work, "walk")) {
		take_memory();
		memset((void *)memory, 1, PAGES * PAGE);
		ns = timed(walk_turn, count);
	} else if (!strcmp(work, "fault")) {
		take_memory();
		ns = timed(fault_turn, count);
	} else if (!strcmp(work, "switch")) {
		pin(0);
		ns = context_switch(count);
	} else {
		if (!strncmp(work, "pipe", 4))
			pipes();
		else if (!strncmp(work, "unix", 4))
			sockets();
		else
			errx(1, "unknown work: %s", work);
		echo(strstr(work, "-other") ? 1 : 0);
		pin(0);
		ns = timed(round_trip, count);
	}
	printf("%.2f\n", ns);
	return 0;
}
