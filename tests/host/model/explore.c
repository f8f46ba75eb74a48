// SPDX-License-Identifier: GPL-2.0
/*
 * All schedules, depth first.  A state is the shared memory, the stores on their
 * way and the threads' stacks; one that was seen before is not gone through
 * again.  To go back the explorer copies back what a step has changed: the
 * world, the stack of the thread that ran, the log of memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "world.h"

#define DEPTH_MAX	4000
#define ARENA		(64 << 20)

struct frame {
	struct world world;	/* before the step */
	struct step step;
	struct hash key;
	size_t mark;		/* of the memory's log */
	size_t saved, used;	/* in the arena: the stack that ran */
	int ran;		/* thread whose stack changed, or -1 */
	unsigned int choice;
};

struct world world;
struct thread *self;
struct step step;
const struct scenario *scenario;
const struct mutation *mutation;
const char *failure;

static struct frame frames[DEPTH_MAX];
static unsigned int depth;
static char *arena;
static struct result result;

/* Never returns if called by a thread. */
void model_fail(const char *kind)
{
	if (!failure)
		failure = kind;
	while (self)
		stack_pause();
}

static void entry(void)
{
	scenario->thread[self - world.thread](scenario);
	self->run = RUN_DONE;
	for (;;)
		stack_pause();
}

static bool ended(const struct thread *t)
{
	return t->run == RUN_DONE || t->run == RUN_DEAD;
}

static bool can_run(const struct thread *t)
{
	const struct thread *victim;

	switch (t->run) {
	case RUN_READY:
		return true;
	case RUN_WAIT:
		return *t->bell;
	case RUN_WAIT_VICTIM:
		victim = &world.thread[scenario->victim];
		return ended(victim) && !victim->stores;
	default:
		return false;
	}
}

static void kill_victim(struct thread *t)
{
	t->run = RUN_DEAD;
	t->bell = NULL;
	t->wish = t->blind = t->late = 0;
	step = (struct step){ t - world.thread, "stops for ever", "", NULL, 0 };
}

static void run(struct frame *f, struct thread *t)
{
	f->ran = t - world.thread;
	f->used = stack_used(t);
	if (f->saved + f->used > ARENA)
		abort();
	memcpy(arena + f->saved, t->sp, f->used);
	step = (struct step){ f->ran, "starts", "", NULL, 0 };
	stack_run(t);
}

/* Take the @choice'th of the steps that are possible now; false: there is none. */
static bool take_step(struct frame *f, unsigned int choice)
{
	unsigned int i, j;

	f->ran = -1;
	for (i = 0; i < scenario->threads; i++) {
		struct thread *t = &world.thread[i];

		if (can_run(t) && !choice--) {
			run(f, t);
			return true;
		}
		for (j = 0; j < t->stores; j++) {
			if (!store_can_land(t, j) || choice--)
				continue;
			step = (struct step){ i, "store lands", "", t->store[j].at,
					      t->store[j].value };
			store_land(t, j);
			return true;
		}
		if ((int)i == scenario->victim && !ended(t) && !choice--) {
			kill_victim(t);
			return true;
		}
	}
	return false;
}

static void go_back(const struct frame *f)
{
	world = f->world;
	memory_undo(f->mark);
	if (f->ran >= 0)
		memcpy(world.thread[f->ran].sp, arena + f->saved, f->used);
}

static struct hash state_key(void)
{
	__u64 words[MODEL_THREADS * (8 + 4 * MODEL_BUFFER) + 2], *w = words;
	unsigned int i;

	for (i = 0; i < scenario->threads; i++) {
		const struct thread *t = &world.thread[i];

		*w++ = t->run | (__u64)t->stores << 32;
		*w++ = t->wish;
		*w++ = t->blind | (__u64)t->late << 32;
		*w++ = (__u64)t->late_store.at ^ t->late_store.value << 17;
		*w++ = ended(t) ? 0 : t->stack.a;
		*w++ = ended(t) ? 0 : t->stack.b;
		*w++ = ended(t) ? 0 : (__u64)t->sp;
		memcpy(w, t->store, t->stores * sizeof(t->store[0]));
		w += t->stores * sizeof(t->store[0]) / sizeof(*w);
	}
	*w++ = world.memory.a;
	*w++ = world.memory.b;
	return hash_bytes(words, (w - words) * sizeof(*w));
}

/* No step is possible: did all end, and is what they left as it should be? */
static void finish(void)
{
	struct world before = world;
	struct step last = frames[depth].step;
	size_t mark = memory_mark();
	unsigned int i;

	result.runs++;
	for (i = 0; i < scenario->threads; i++)
		if (!ended(&world.thread[i]))
			model_fail("deadlock: all that are left sleep");
	if (!failure)
		scenario->finish(scenario);
	step = last;
	world = before;
	memory_undo(mark);
}

static void print_schedule(void)
{
	unsigned int i;

	frames[depth].step = step;
	for (i = 1; i <= depth; i++) {
		const struct step *s = &frames[i].step;

		printf("    %3u  thread %d %s", i, s->thread, s->what);
		if (s->at)
			printf(" %p: %#llx", s->at, s->value);
		printf(" %s\n", s->func);
	}
}

/* Enter the state that the last step has led to; false: go back. */
static bool enter(size_t saved)
{
	struct frame *f = &frames[depth];
	struct hash key = state_key();

	switch (visited_enter(key)) {
	case VISIT_SEEN:
		return false;
	case VISIT_CYCLE:
		failure = "endless loop";
		return false;
	case VISIT_NEW:
		break;
	}
	result.states++;
	f->world = world;
	f->step = step;
	f->key = key;
	f->mark = memory_mark();
	f->saved = saved;
	f->choice = 0;
	return true;
}

static void search(void)
{
	depth = 0;
	enter(0);
	for (;;) {
		struct frame *f = &frames[depth];

		if (!take_step(f, f->choice++)) {
			if (f->choice == 1)
				finish();
			if (failure || !depth)
				return;
			visited_leave(f->key);
			go_back(&frames[--depth]);
			continue;
		}
		result.transitions++;
		if (++depth == DEPTH_MAX)
			model_fail("too many steps");
		if (failure)
			return;
		if (enter(f->ran >= 0 ? f->saved + f->used : f->saved))
			continue;
		if (failure)
			return;
		go_back(&frames[--depth]);
	}
}

struct result model_explore(const struct scenario *s, const struct mutation *m)
{
	struct timespec from, to;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (!arena)
		arena = malloc(ARENA);
	memset(&world, 0, sizeof(world));
	memset(&result, 0, sizeof(result));
	failure = NULL;
	scenario = s;
	mutation = NULL;
	memory_reset();
	visited_reset();
	s->setup(s);
	world.memory = (struct hash){ 0, 0 };
	for (i = 0; i < s->threads; i++)
		stack_prepare(i, entry);
	mutation = m;
	search();
	if (failure && (!m || getenv("MODEL_VERBOSE")))
		print_schedule();
	clock_gettime(CLOCK_MONOTONIC, &to);
	result.failure = failure;
	result.seconds = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	return result;
}
