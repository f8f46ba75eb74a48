/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * System calls by a jump instead of SYSCALL, for programs in kernel mode; x86-64,
 * GNU C. Needs only this header and shimos_kml.h beside it.
 *
 *	kml_init();			 (once, before threads; may fail, see below)
 *	pid = kml_syscall0(SYS_getpid);
 *	n = kml_syscall3(SYS_read, fd, (long)buffer, sizeof(buffer));
 *
 * The same binary runs untrusted: kml_init() then returns a negative errno and
 * everything goes by SYSCALL. Results are the kernel's: a negative errno if it
 * failed, errno itself is not touched. All system calls work; only flags other
 * than the program's usual ones are not kept.
 *
 * Who gives up CAP_SYS_RAWIO, as by setuid(), is in user mode after that and calls
 * kml_init() again, before anything else: a jump to where it led before is its end.
 */
#ifndef _SHIMOS_KML_LIB_H
#define _SHIMOS_KML_LIB_H

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shimos_kml.h"

/* SYSCALL for who jumps here; it changes rcx, which says where to return to. */
static void __attribute__((naked, unused)) _kml_by_syscall(void)
{
	asm("movq	%rcx, %r9\n"
	    "syscall\n"
	    "jmpq	*%r9");
}

/*
 * Where to jump to; 0: SYSCALL. With three arguments at most there is always a jump,
 * so that these do not ask. One for each file that includes this.
 */
static unsigned long kml_entry;
static void (*kml_entry_3)(void) = _kml_by_syscall;

/* From now on all goes by SYSCALL, until kml_init(). */
static inline void kml_use_syscall(void)
{
	kml_entry = 0;
	kml_entry_3 = _kml_by_syscall;
}

/* Whether this program is trusted: 0, or a negative errno; -EPERM: it is not. */
static inline int kml_init(void)
{
	struct shimos_kml_entry entry = { .hdr = { sizeof(entry), SHIMOS_KML_VERSION } };
	int fd = open(SHIMOS_KML_DEVICE, O_RDONLY | O_CLOEXEC), err = 0;

	kml_use_syscall();
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SHIMOS_KML_ENTRY, &entry)) {
		err = -errno;
	} else {
		kml_entry = entry.entry;
		kml_entry_3 = (void (*)(void))entry.entry_3;
	}
	close(fd);
	return err;
}

/*
 * The kernel restarts an interrupted call two bytes before where it would return
 * to: there is a short jump, back to the start.
 */
#define _KML_JUMP			\
	"1:	leaq	2f(%%rip), %%rcx\n"	\
	"	jmpq	*%[to]\n"		\
	"	.byte	0xeb, 1b - 2f\n"	\
	"2:"

/* Arguments are outputs, too: like a C function a direct call does not preserve them. */
static inline long kml_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;

	if (kml_entry)
		asm volatile(_KML_JUMP
			     : "+a"(nr), "+D"(a), "+S"(b), "+d"(c), "+r"(r10), "+r"(r8), "+r"(r9)
			     : [to] "m"(kml_entry)
			     : "rcx", "r11", "cc", "memory");
	else
		asm volatile("syscall"
			     : "+a"(nr)
			     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			     : "rcx", "r11", "cc", "memory");
	return nr;
}

/* At most three arguments, which are in rdi, rsi and rdx. */
#define _KML_CALL_3(nr, ...)							\
	asm volatile(_KML_JUMP							\
		     : "+a"(nr), __VA_ARGS__					\
		     : [to] "m"(kml_entry_3)					\
		     : "rcx", "r8", "r9", "r10", "r11", "cc", "memory")

static inline long kml_syscall3(long nr, long a, long b, long c)
{
	_KML_CALL_3(nr, "+D"(a), "+S"(b), "+d"(c));
	return nr;
}

static inline long kml_syscall2(long nr, long a, long b)
{
	long c;

	_KML_CALL_3(nr, "+D"(a), "+S"(b), "=d"(c));
	return nr;
}

static inline long kml_syscall1(long nr, long a)
{
	long b, c;

	_KML_CALL_3(nr, "+D"(a), "=S"(b), "=d"(c));
	return nr;
}

static inline long kml_syscall0(long nr)
{
	long a, b, c;

	_KML_CALL_3(nr, "=D"(a), "=S"(b), "=d"(c));
	return nr;
}

#endif
