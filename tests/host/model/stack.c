// SPDX-License-Identifier: GPL-2.0
/*
 * Threads: coroutines whose stacks the explorer copies to go back.  Everything
 * private to a thread is on its stack (the saved registers too), so the stack's
 * bytes decide what the thread will do: they are its part of the state's hash.
 * Leftovers in dead stack slots can only make equal states look different.
 */
#include <string.h>
#include "world.h"

char stacks[MODEL_THREADS][MODEL_STACK] __attribute__((aligned(64)));
static void *explorer_sp;

void stack_switch(void **save, void *to);

/* What the switch leaves on a stack: so many words, and where it returns to. */
#if defined(__x86_64__)
#define FRAME		8	/* the last one aligns the entry as a call would */
#define FRAME_RETURN	6
__asm__(".text\n"
	".type stack_switch, @function\n"
	"stack_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n");
#elif defined(__aarch64__)
#define FRAME		20
#define FRAME_RETURN	11
__asm__(".text\n"
	".type stack_switch, %function\n"
	"stack_switch:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp]\n"
	"	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n"
	"	str x9, [x0]\n"
	"	mov sp, x1\n"
	"	ldp x19, x20, [sp]\n"
	"	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n"
	"	ret\n");
#else
#error "write stack_switch() for this architecture"
#endif

static char *top(const struct thread *t)
{
	return stacks[t - world.thread] + MODEL_STACK;
}

size_t stack_used(const struct thread *t)
{
	return top(t) - (char *)t->sp;
}

void stack_prepare(unsigned int thread, void (*entry)(void))
{
	struct thread *t = &world.thread[thread];
	void **frame = (void **)top(t) - FRAME;

	memset(stacks[thread], 0, MODEL_STACK);
	frame[FRAME_RETURN] = (void *)entry;
	t->sp = frame;
	stack_changed(t);
}

void stack_run(struct thread *t)
{
	self = t;
	stack_switch(&explorer_sp, t->sp);
	self = NULL;
	stack_changed(t);
}

void stack_changed(struct thread *t)
{
	t->stack = hash_bytes(t->sp, stack_used(t));
}

void stack_pause(void)
{
	stack_switch(&self->sp, explorer_sp);
}
