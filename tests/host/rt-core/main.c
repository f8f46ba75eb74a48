// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a real-time image in a process, with this one as its layer: no machine is needed to see
 * an RTOS switch tasks.  `make check-rt`.
 *
 *	core IMAGE stopped|failed [MILLISECONDS [echo|flood MESSAGES]]
 *
 * After that long, if it is not 0, it is asked to stop.  With MESSAGES a host talks to it, see
 * talk.c, and it is asked when that is over.  What it wrote on its console goes to the output.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core.h"

/* An image that does not end is a failure, too. */
#define TOO_LONG	120	/* seconds */

static struct core core;
static struct timespec begin;
static __u64 cycles_per_second;
static struct shimos_shared *const shared = (void *)CORE_SHARED;

__u64 core_now(void)
{
	return __builtin_ia32_rdtsc();
}

static void say_console(void)
{
	const struct shimos_console_out *out = (void *)(CORE_SHARED + SHIMOS_CONSOLE_OUT);
	__u64 i = out->head < SHIMOS_CONSOLE_OUT_LEN ? 0 : out->head - SHIMOS_CONSOLE_OUT_LEN;

	for (; i < out->head; i++)
		putchar(out->data[i % SHIMOS_CONSOLE_OUT_LEN]);
	fflush(stdout);
}

void core_broken(const char *format, ...)
{
	va_list args;

	if (core.process) {
		say_console();
		printf("at 0x%llx: ", core.regs.rip);
		kill(core.process, SIGKILL);
	}
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static double elapsed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9;
}

/* By the clock of this machine, for a tenth of a second. */
static void measure_clock(void)
{
	__u64 first;
	double last;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	first = core_now();
	usleep(100000);
	last = elapsed();
	cycles_per_second = (core_now() - first) / last;
}

static void on_alarm(int signal)
{
	kill(core.process, SIGUSR1);
}

/* The image's process stops when the timer has something for it. */
static void set_alarm(timer_t timer)
{
	struct itimerspec when = { .it_value.tv_nsec = 1 };
	__u64 now = core_now(), wait = 50000000;

	/* while they are off, looking again would only keep the image from going on */
	if (core.deadline && core.interrupts) {
		wait = core.deadline > now ? (core.deadline - now) * 1e9 / cycles_per_second + 1 : 1;
		if (wait > 50000000)
			wait = 50000000;
	}
	when.it_value.tv_nsec = wait;
	if (timer_settime(timer, 0, &when, NULL))
		core_broken("no timer");
}

static void take_interrupts(void)
{
	if (!core.interrupts || core.shadow)
		return;
	if (core.deadline && core_now() >= core.deadline) {
		core.deadline = 0;
		core_raise(&core, SHIMOS_RT_TIMER, NULL);
	} else if (core.bell) {
		core.bell = false;
		core_raise(&core, SHIMOS_RT_BELL, NULL);
	}
}

/* Until there is something; true if the instruction at RIP is one. */
static bool halted(timer_t timer)
{
	if (*(const unsigned char *)core.regs.rip != 0xf4)
		return false;
	if (!core.interrupts)
		core_broken("it halts with interrupts off");
	core.regs.rip++;
	core.shadow = false;
	while (!core.bell && !(core.deadline && core_now() >= core.deadline)) {
		if (core_talk_turn(&core)) {
			core.bell = true;
			break;
		}
		set_alarm(timer);
		usleep(100);
		if (elapsed() > TOO_LONG)
			core_broken("it waits for ever");
	}
	return true;
}

static void exception(unsigned int number)
{
	siginfo_t info;
	__u64 error = 0;

	ptrace(PTRACE_GETSIGINFO, core.process, 0, &info);
	if (number == SIGSEGV)
		core_raise(&core, info.si_code == SI_KERNEL ? 13 : 14, &error);
	else if (number == SIGILL)
		core_raise(&core, 6, NULL);
	else
		core_broken("the image's process got %s", strsignal(number));
}

static void image_process(const char *file)
{
	core_protect(file);
	/* a machine that forbids it shall not let us wait for ever */
	if (ptrace(PTRACE_TRACEME))
		_exit(1);
	raise(SIGSTOP);
}

/* Returns how it stopped. */
static int wait_process(void)
{
	int status;

	while (waitpid(core.process, &status, 0) < 0) {
		if (errno != EINTR)
			core_broken("the image's process is gone");
	}
	if (!WIFSTOPPED(status))
		core_broken("the image's process is over");
	return WSTOPSIG(status);
}

static void run(timer_t timer, double stop_after)
{
	int stopped;

	while (!core.ended) {
		take_interrupts();
		/* CS and SS stay the process's own, and so do its real flags */
		core.regs.orig_rax = -1;
		core.regs.eflags |= 0x202;
		ptrace(PTRACE_SETREGS, core.process, 0, &core.regs);
		if (!core.shadow)
			set_alarm(timer);
		ptrace(core.shadow ? PTRACE_SINGLESTEP : PTRACE_CONT, core.process, 0, 0);
		stopped = wait_process();
		ptrace(PTRACE_GETREGS, core.process, 0, &core.regs);
		if (stopped == SIGTRAP)
			core.shadow = false;
		else if (stopped != SIGUSR1 && !(stopped == SIGSEGV && halted(timer)) &&
			 !core_instruction(&core))
			exception(stopped);
		if (elapsed() > TOO_LONG)
			core_broken("it does not end");
		if (((stop_after && elapsed() > stop_after) || core_talk_over()) && !shared->request) {
			shared->request = SHIMOS_REQUEST_POWEROFF;
			core.bell = true;
		}
	}
}

int main(int argc, char **argv)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct shimos_rt_boot *boot = (void *)CORE_BOOT;
	timer_t timer;
	__u64 entry;
	int wanted;

	if (argc < 3)
		core_broken("usage: core IMAGE stopped|failed [MILLISECONDS [echo|flood MESSAGES]]");
	wanted = strcmp(argv[2], "failed") ? SHIMOS_RT_END_STOPPED : SHIMOS_RT_END_FAILED;
	measure_clock();
	entry = core_load(argv[1]);
	*boot = (struct shimos_rt_boot) {
		.magic = SHIMOS_RT_MAGIC,
		.version = SHIMOS_RT_VERSION,
		.size = sizeof(*boot),
		.memory = CORE_MEMORY,
		.shared = CORE_SHARED,
		.cycles_per_second = cycles_per_second,
		.ikc_chunks = 0,	/* there is no IKC, unless */
	};
	if (argc > 5)
		core_talk(boot, shared, argv[4], strtoull(argv[5], NULL, 0));
	core.process = fork();
	if (!core.process)
		image_process(argv[1]);
	wait_process();
	ptrace(PTRACE_SETOPTIONS, core.process, 0, PTRACE_O_EXITKILL);
	ptrace(PTRACE_GETREGS, core.process, 0, &core.regs);
	core.regs.rip = entry;
	core.regs.rdi = CORE_BOOT;
	core.regs.rsp = CORE_SHARED;
	signal(SIGALRM, on_alarm);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		core_broken("no timer");
	run(timer, argc > 3 ? atof(argv[3]) / 1000 : 0);
	timer_delete(timer);
	kill(core.process, SIGKILL);
	say_console();
	core_talk_say();
	if (core.ended != wanted || (wanted == SHIMOS_RT_END_STOPPED && !core.ready)) {
		printf("%s ended by %d%s\n", argv[1], core.ended, core.ready ? "" : ", not ready");
		return 1;
	}
	return 0;
}
