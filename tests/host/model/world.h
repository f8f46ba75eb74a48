/* SPDX-License-Identifier: GPL-2.0 */
/* The explorer's state: what a schedule has led to. */
#ifndef _WORLD_H
#define _WORLD_H

#include "explore.h"

#define MODEL_BUFFER	24	/* stores on their way, per thread */
#define MODEL_STACK	(16 << 10)

struct hash { __u64 a, b; };

struct store {
	volatile void *at;
	__u64 value;
	__u16 size;
	__u16 release;
	enum model_rmw op;	/* MODEL_STORE, or bits to change when it lands */
};

enum run { RUN_READY, RUN_WAIT, RUN_WAIT_VICTIM, RUN_DONE, RUN_DEAD };

struct thread {
	enum run run;
	__u32 stores;
	__u32 *bell;		/* RUN_WAIT: for this */
	void *sp;
	__u64 wish;		/* see model_wish() */
	__u32 blind;		/* MUTATE_NO_SECOND_LOOK: the next look sees nothing */
	__u32 late;		/* MUTATE_LATE_STORE: one is kept in late_store */
	struct store late_store;
	struct hash stack;	/* of the stack's contents */
	struct store store[MODEL_BUFFER];
};

/* Copied as a whole when the explorer goes back. */
struct world {
	struct thread thread[MODEL_THREADS];
	struct hash memory;	/* of what differs from the beginning */
};

extern struct world world;
extern struct thread *self;	/* NULL: alone, in setup() or finish() */
extern const struct mutation *mutation;
extern const char *failure;

/* What the last step was, for the counterexample. */
struct step {
	int thread;
	const char *what, *func;
	const volatile void *at;
	__u64 value;
};
extern struct step step;

/* memory.c */
struct hash hash_bytes(const void *from, size_t bytes);
void memory_reset(void);
__u64 memory_read(const volatile void *at, unsigned int size);
void memory_write(volatile void *at, unsigned int size, __u64 value);
bool memory_shared(const volatile void *at);
bool memory_unread(const volatile void *at);
size_t memory_mark(void);
void memory_undo(size_t mark);

/* access.c */
bool store_can_land(const struct thread *t, unsigned int i);
void store_land(struct thread *t, unsigned int i);

/* visited.c */
enum visit { VISIT_NEW, VISIT_SEEN, VISIT_CYCLE };
void visited_reset(void);
enum visit visited_enter(struct hash key);
void visited_leave(struct hash key);

/* stack.c */
extern char stacks[MODEL_THREADS][MODEL_STACK];
void stack_prepare(unsigned int thread, void (*entry)(void));
void stack_run(struct thread *t);	/* until its next step */
void stack_pause(void);			/* in a thread: let the explorer choose */
size_t stack_used(const struct thread *t);

#endif
