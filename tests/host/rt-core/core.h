/* SPDX-License-Identifier: GPL-2.0 */
/* A core for a real-time image, made of a process: between main.c, load.c and cpu.c. */
#ifndef _TESTS_RT_CORE_H
#define _TESTS_RT_CORE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>
#include "shimos_rt.h"
#include "shimos_shared.h"

/* Linux lets nobody but root have the first 64 KiB, so the boot record lies above them. */
#define CORE_FIRST	0x10000UL
#define CORE_BOOT	0x10000UL
#define CORE_MEMORY	0x400000UL
#define CORE_SHARED	(CORE_MEMORY - SHIMOS_SHARED_SIZE)

/* Invalid in 64-bit mode: in place of what a process may do, but means something else in ring 0. */
#define CORE_PUSHF	0x0e
#define CORE_VMMCALL	0x06

struct core {
	pid_t process;
	struct user_regs_struct regs;
	bool interrupts;	/* RFLAGS.IF */
	bool shadow;		/* of STI: not before the next instruction */
	__u64 gdt, idt;		/* their addresses */
	__u64 tss;
	__u64 deadline;		/* of the timer; 0: none */
	bool bell;		/* rings */
	bool ready;		/* the image has said so */
	int ended;		/* enum shimos_rt_end */
};

__u64 core_now(void);
void __attribute__((noreturn)) core_broken(const char *format, ...);

/* load.c */
__u64 core_load(const char *file);
void core_protect(const char *file);
/* talk.c */
void core_talk(struct shimos_rt_boot *boot, struct shimos_shared *shared, const char *with,
	       __u64 messages);
void core_talk_rung(void);
bool core_talk_turn(const struct core *core);
bool core_talk_over(void);
void core_talk_say(void);
/* cpu.c */
void core_raise(struct core *core, unsigned int vector, const __u64 *error);
bool core_instruction(struct core *core);

#endif
