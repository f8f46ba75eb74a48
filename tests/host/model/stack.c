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

#if !defined(__x86_64__)
#error "write stack_switch() for this architecture"
#endif
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
	void **sp;

	memset(stacks[thread], 0, MODEL_STACK);
	sp = (void **)top(t);
	*--sp = NULL;			/* aligns the entry as a call would */
	*--sp = (void *)entry;
	t->sp = sp - 6;			/* the registers that the switch pops */
	t->stack = hash_bytes(t->sp, stack_used(t));
}

void stack_run(struct thread *t)
{
	self = t;
	stack_switch(&explorer_sp, t->sp);
	self = NULL;
	t->stack = hash_bytes(t->sp, stack_used(t));
}

void stack_pause(void)
{
	stack_switch(&self->sp, explorer_sp);
}
