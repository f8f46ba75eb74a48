/* SPDX-License-Identifier: GPL-2.0 */
/* The explorer's state: what a schedule has led to. */
#ifndef _WORLD_H
#define _WORLD_H

#include "explore.h"

#define MODEL_BUFFER	24	/* stores on their way, per thread */
#define MODEL_COPIES	6	/* words that are copied out late, per thread */
#define MODEL_OLD	32	/* values that were overwritten and may still be read */
#define MODEL_PLACES	512	/* words of shared memory, in all scenarios together */
#define MODEL_STACK	(16 << 10)

struct hash { __u64 a, b; };

struct store {
	volatile void *at;
	__u64 value;
	__u8 size;
	__u8 op;		/* MODEL_STORE, or what to do when it lands */
	__u8 release;
	__u8 copies;		/* a release: so many of the thread's late copies come first */
	__u8 group;		/* counts the write barriers before it */
	__u8 held;		/* of an exchange: nobody else's store comes before it */
	__u8 unused[2];
};

struct copy {
	__u64 *to;		/* on the thread's stack */
	const __u64 *from;
};

enum run { RUN_READY, RUN_WAIT, RUN_WAIT_VICTIM, RUN_DONE, RUN_DEAD };

struct thread {
	enum run run;
	__u32 *bell;		/* RUN_WAIT: for this */
	void *sp;
	__u64 wish;		/* see model_wish() */
	struct store late_store;
	struct hash stack;	/* of the stack's contents */

	/* The step that it is about to do; known from its stack as well. */
	__u16 site, place;	/* place: it reads there */
	bool exchanges;		/* but for this value, which must be the newest: */
	__u64 expects;

	__u8 blind;		/* MUTATE_NO_SECOND_LOOK: the next look sees nothing */
	__u8 late;		/* MUTATE_LATE_STORE: one is kept in late_store */
	__u8 stores, copies, group;
	__u8 open;		/* it has read since its last barrier */
	__u16 last;		/* site, since its last barrier */
	struct store store[MODEL_BUFFER];
	struct copy copy[MODEL_COPIES];
};

/* Sorted by when they were overwritten. */
struct old {
	__u64 value;
	__u16 place;
	__u16 readers;		/* bitmap of threads */
	__u32 from;		/* it was written after so many of the list were overwritten */
};

struct recent {
	__u16 place;
	__u16 from;		/* the same for what is there now; not in the list: 0 */
};

/* Copied as a whole when the explorer goes back. */
struct world {
	struct thread thread[MODEL_THREADS];
	struct hash memory;	/* of what differs from the beginning */
	__u32 olds, recents;
	struct old old[MODEL_OLD];
	struct recent recent[MODEL_OLD];
};

extern struct world world;
extern struct thread *self;	/* NULL: alone, in setup() or finish() */
extern int picked;		/* in world.old: what is read; -1: the newest */
extern const struct scenario *scenario;
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

/* explore.c */
bool thread_ended(const struct thread *t);

/* memory.c */
struct hash hash_bytes(const void *from, size_t bytes);
void memory_reset(void);
__u64 memory_read(const volatile void *at, unsigned int size);
void memory_write(volatile void *at, unsigned int size, __u64 value);
/* The number of a shared word, from 1; 0: it is not shared. */
unsigned int memory_place(const volatile void *at);
bool memory_unread(const volatile void *at);
size_t memory_mark(void);
void memory_undo(size_t mark);

/* history.c */
bool history_readable(const struct thread *t, unsigned int place, const struct old *old);
__u64 history_read_old(struct thread *t, unsigned int i, bool acquire);
void history_read_new(struct thread *t, unsigned int place);
void history_barrier(struct thread *t);
void history_write(struct thread *t, const volatile void *at, __u64 was);
void history_step(struct thread *t, unsigned int site, unsigned int place, bool reads);
void history_paused(struct thread *t);
void history_forget(struct thread *t);
bool history_learned(void);
unsigned int history_site(struct model_site *site);
void history_acquires(unsigned int place);

/* buffer.c */
__u64 store_apply(enum model_op op, __u64 was, __u64 a, __u64 b);
void store_push(volatile void *at, unsigned int size, enum model_op op, __u64 value,
		bool release);
const struct store *store_find(const struct thread *t, const volatile void *at);
bool store_can_land(const struct thread *t, unsigned int i);
void store_land(struct thread *t, unsigned int i);
void store_write(struct thread *t, volatile void *at, unsigned int size, __u64 value);
void store_all_land(struct thread *t);
void copy_push(struct thread *t, __u64 *to, const __u64 *from);
__u64 copy_land(struct thread *t, unsigned int i);
void copy_all_land(struct thread *t);

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
void stack_changed(struct thread *t);
size_t stack_used(const struct thread *t);

#endif
