// SPDX-License-Identifier: GPL-2.0
/*
 * Debuggers and filters on a program in kernel mode.
 *
 *	kml_trace step		single steps through a child's system calls
 *	kml_trace watch		a hardware watchpoint
 *	kml_trace poke		reads and writes a child's memory and registers
 *	kml_trace seccomp	a filter that fails a call and kills for another
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "kml.h"
#include "must.h"

static volatile long variable = 1;

static void child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (int i = 0; i < 3; i++) {
		long pid = syscall(SYS_getpid);

		MUST(pid == kml_syscall0(SYS_getpid));
		variable++;
	}
	_exit(variable);
}

static pid_t stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		child();
	MUST(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	return pid;
}

static void step(void)
{
	pid_t pid = stopped_child();
	int status, steps = 0;

	for (;;) {
		MUST(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		MUST(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status))
			break;
		MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		steps++;
	}
	MUST(WEXITSTATUS(status) == 4);
	/* each loop alone has more, so no step ran on for long */
	printf("%s steps\n", steps > 60 ? "many" : "few");
}

static void watch(void)
{
	pid_t pid = stopped_child();
	unsigned long dr7 = 1 | 1 << 16 | 3 << 18;	/* writes of four bytes */
	int status, hits = 0;

	MUST(!ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), &variable));
	MUST(!ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), dr7));
	for (;;) {
		MUST(!ptrace(PTRACE_CONT, pid, NULL, NULL));
		MUST(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status))
			break;
		MUST(WSTOPSIG(status) == SIGTRAP);
		hits++;
	}
	printf("hits %d\n", hits);
}

static void poke(void)
{
	pid_t pid = stopped_child();
	struct user_regs_struct regs;
	int status;

	MUST(ptrace(PTRACE_PEEKDATA, pid, &variable, NULL) == 1);
	MUST(!ptrace(PTRACE_POKEDATA, pid, &variable, 38));
	MUST(!ptrace(PTRACE_GETREGS, pid, NULL, &regs));
	MUST((regs.cs & 3) == 3);
	MUST(!ptrace(PTRACE_SETREGS, pid, NULL, &regs));
	MUST(!ptrace(PTRACE_CONT, pid, NULL, NULL));
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	printf("variable %d\n", WEXITSTATUS(status));
}

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	MUST(syscall(SYS_getppid) == -1 && errno == 77);
	MUST(kml_syscall0(SYS_getppid) == -77);
	MUST(kml_syscall0(SYS_getpid) == getpid());
	for (int direct = 0; direct < 2; direct++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			if (direct)
				kml_syscall0(SYS_getuid);
			else
				syscall(SYS_getuid);
			_exit(0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
	printf("filtered\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kml_init();
	if (!strcmp(what, "step"))
		step();
	else if (!strcmp(what, "watch"))
		watch();
	else if (!strcmp(what, "poke"))
		poke();
	else if (!strcmp(what, "seccomp"))
		filter();
	return 0;
}
