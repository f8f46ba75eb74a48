// SPDX-License-Identifier: GPL-2.0
/*
 * All schedules, depth first.  A state is the shared memory, what may still be read
 * of what it held, the stores on their way and the threads' stacks; one that was seen
 * before is not gone through again.  To go back the explorer copies back what a step
 * has changed: the world, the stack of the thread that ran, the log of memory.
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
	copy_all_land(self);
	self->run = RUN_DONE;
	for (;;)
		stack_pause();
}

bool thread_ended(const struct thread *t)
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
		return thread_ended(victim) && !victim->stores;
	default:
		return false;
	}
}

static void kill_victim(struct thread *t)
{
	unsigned int i;

	t->run = RUN_DEAD;
	t->bell = NULL;
	t->wish = t->blind = t->late = t->last = t->open = t->site = 0;
	for (; t->copies; t->copies--)
		memset(&t->copy[t->copies - 1], 0, sizeof(t->copy[0]));
	for (i = 0; i < t->stores; i++)
		t->store[i].copies = 0;
	history_forget(t);
	step = (struct step){ t - world.thread, "stops for ever", "", NULL, 0 };
}

static void save_stack(struct frame *f, const struct thread *t)
{
	f->ran = t - world.thread;
	f->used = stack_used(t);
	if (f->saved + f->used > ARENA)
		abort();
	memcpy(arena + f->saved, t->sp, f->used);
}

static void run(struct frame *f, struct thread *t)
{
	save_stack(f, t);
	step = (struct step){ f->ran, "starts", "", NULL, 0 };
	stack_run(t);
	history_paused(t);
}

/* Which value does it read?  Sets @picked if it is the @choice'th that it may. */
static bool pick(const struct thread *t, unsigned int place, unsigned int *choice)
{
	int i;

	picked = -1;
	if (!(*choice)--)
		return true;
	for (i = 0; place && i < (int)world.olds; i++) {
		const struct old *old = &world.old[i];

		if (!history_readable(t, place, old) ||
		    (place == t->place && t->exchanges && old->value == t->expects))
			continue;
		picked = i;
		if (!(*choice)--)
			return true;
	}
	return false;
}

static bool land_copy(struct frame *f, struct thread *t, unsigned int *choice)
{
	unsigned int i;

	for (i = 0; i < t->copies; i++) {
		const __u64 *from = t->copy[i].from;

		if (!pick(t, memory_place(from), choice))
			continue;
		save_stack(f, t);
		step = (struct step){ t - world.thread, "copies", "", from, 0 };
		step.value = copy_land(t, i);
		stack_changed(t);
		return true;
	}
	return false;
}

static bool land_store(struct thread *t, unsigned int *choice)
{
	unsigned int i;

	for (i = 0; i < t->stores; i++) {
		if (!store_can_land(t, i) || (*choice)--)
			continue;
		step = (struct step){ t - world.thread, "store lands", "", t->store[i].at,
				      t->store[i].value };
		store_land(t, i);
		return true;
	}
	return false;
}

/* Take the @choice'th of the steps that are possible now; false: there is none. */
static bool take_step(struct frame *f, unsigned int choice)
{
	unsigned int i;

	f->ran = -1;
	for (i = 0; i < scenario->threads; i++) {
		struct thread *t = &world.thread[i];

		if (can_run(t) && pick(t, t->place, &choice)) {
			run(f, t);
			return true;
		}
		if (land_copy(f, t, &choice) || land_store(t, &choice))
			return true;
		if ((int)i == scenario->victim && !thread_ended(t) && !choice--) {
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

static __u64 *add_words(__u64 *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes / sizeof(*to);
}

static struct hash state_key(void)
{
	__u64 words[MODEL_THREADS * sizeof(struct thread) / 8 + 4 * MODEL_OLD], *w = words;
	unsigned int i;

	for (i = 0; i < scenario->threads; i++) {
		const struct thread *t = &world.thread[i];

		*w++ = t->run | t->stores << 8 | t->copies << 16 | (__u64)t->late << 24 |
		       (__u64)t->last << 32 | (__u64)t->open << 48 |
		       (__u64)t->blind << 56;
		*w++ = t->wish | (__u64)t->group << 56;
		*w++ = (__u64)t->late_store.at ^ t->late_store.value << 17;
		*w++ = thread_ended(t) ? 0 : t->stack.a;
		*w++ = thread_ended(t) ? 0 : t->stack.b;
		*w++ = thread_ended(t) ? 0 : (__u64)t->sp;
		w = add_words(w, t->store, t->stores * sizeof(t->store[0]));
		w = add_words(w, t->copy, t->copies * sizeof(t->copy[0]));
	}
	w = add_words(w, world.old, world.olds * sizeof(world.old[0]));
	for (i = 0; i < world.recents; i++)
		*w++ = world.recent[i].place | world.recent[i].from << 16;
	*w++ = world.olds | (__u64)world.recents << 32;
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
		if (!thread_ended(&world.thread[i]))
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

static void explore(const struct mutation *m)
{
	unsigned int i;

	memset(&world, 0, sizeof(world));
	memset(&result, 0, sizeof(result));
	failure = NULL;
	mutation = NULL;
	memory_reset();
	visited_reset();
	scenario->setup(scenario);
	world.memory = (struct hash){ 0, 0 };
	for (i = 0; i < scenario->threads; i++)
		stack_prepare(i, entry);
	mutation = m;
	search();
}

struct result model_explore(const struct scenario *s, const struct mutation *m)
{
	struct timespec from, to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (!arena)
		arena = malloc(ARENA);
	scenario = s;
	do {
		explore(m);
	} while (history_learned() && !failure);
	if (failure && (!m || getenv("MODEL_VERBOSE")))
		print_schedule();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	result.failure = failure;
	result.seconds = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	return result;
}
