// SPDX-License-Identifier: GPL-2.0
/*
 * The memory model.  Each thread has a buffer of stores on their way.  A plain
 * store may land at any later time, stores to different places in any order; to
 * the same place in order.  A release lands after all that stand before it.  A
 * thread reads its own stores first.  A full barrier and a read-modify-write
 * make all land.  That is PSO, so it holds TSO (x86) and much of what weaker
 * machines do.  As the kernel has it, a compare-and-exchange that fails is just a
 * load.
 *
 * Not covered: loads that are done early or late.  Loads happen in program
 * order, as after an acquire.  So nothing is said about an acquire that should
 * be there and is not, nor about a release that is there for loads before it
 * (in ikc_publish(): the copying out; taken out it makes no difference here).
 * The pairs of relaxed loads that exist (hints, then tags, then the span's word,
 * in heap.c) have a read-modify-write between them, except in ikc_heap_scavenge(), whose
 * loads only choose what is then tried by compare-and-exchange.
 *
 * A store goes into the buffer without a choice of the explorer before it:
 * nobody else can see that.  Except for a thread that may stop for ever, where
 * it matters which stores it came to.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

extern const struct scenario *scenario;

static bool mutated(enum mutate kind, const char *func)
{
	return mutation && mutation->kind == kind && !strcmp(mutation->func, func);
}

bool model_misuse(const char *func)
{
	return mutated(MUTATE_USE, func);
}

void model_wish(__u64 word)
{
	if (self)
		self->wish = word;
}

/* Of a tag: see ikc_in_flight(). */
static bool in_flight(__u64 tag)
{
	return (tag & 0xf) == 0xa;
}

static void did(const char *what, const char *func, const volatile void *at, __u64 value)
{
	step.thread = self - world.thread;
	step.what = what;
	step.func = func;
	step.at = at;
	step.value = value;
}

static __u64 apply(enum model_rmw op, __u64 was, __u64 a, __u64 b)
{
	switch (op) {
	case MODEL_STORE:
		return a;
	case MODEL_CAS:
		return was == a ? b : was;
	case MODEL_OR:
		return was | a;
	case MODEL_ANDNOT:
		return was & ~a;
	}
	abort();
}

static bool overlap(const struct store *s, const volatile void *at, unsigned int size)
{
	return (const volatile char *)s->at < (const volatile char *)at + size &&
	       (const volatile char *)at < (const volatile char *)s->at + s->size;
}

bool store_can_land(const struct thread *t, unsigned int i)
{
	unsigned int j;

	if (t->store[i].release)
		return i == 0;
	for (j = 0; j < i; j++)
		if (overlap(&t->store[j], t->store[i].at, t->store[i].size))
			return false;
	return true;
}

void store_land(struct thread *t, unsigned int i)
{
	struct store s = t->store[i];

	memmove(&t->store[i], &t->store[i + 1], (--t->stores - i) * sizeof(s));
	memset(&t->store[t->stores], 0, sizeof(s));
	memory_write(s.at, s.size, apply(s.op, memory_read(s.at, s.size), s.value, 0));
}

static void all_land(void)
{
	while (self->stores)
		store_land(self, 0);
}

static void push(volatile void *at, unsigned int size, enum model_rmw op, __u64 value,
		 bool release)
{
	struct store *s = &self->store[self->stores];

	if (self->stores == MODEL_BUFFER) {
		all_land();	/* weakens the search; the scenarios stay below */
		model_fail("store buffer too small");
	}
	s->at = at;
	s->size = size;
	s->value = value;
	s->release = release;
	s->op = op;
	self->stores++;
}

/* What the running thread sees there. */
static __u64 look(const volatile void *at, unsigned int size)
{
	__u64 value = memory_read(at, size);
	unsigned int i;

	for (i = 0; i < self->stores; i++)
		if (self->store[i].at == at)
			value = apply(self->store[i].op, value, self->store[i].value, 0);
	return value;
}

__u64 model_load(const volatile void *at, unsigned int size, const char *func)
{
	__u64 value;

	if (!self || !memory_shared(at))
		return memory_read(at, size);
	stack_pause();
	value = look(at, size);
	did("reads", func, at, value);
	if (self->late) {
		self->late = 0;
		push(self->late_store.at, self->late_store.size, MODEL_STORE,
		     self->late_store.value, self->late_store.release);
		memset(&self->late_store, 0, sizeof(self->late_store));
	}
	if (mutated(MUTATE_LOAD_MORE, func))
		value++;
	if (mutated(MUTATE_NO_RECHECK, func) && size == 4)
		value = self->wish;
	if (self->blind && size == 8) {
		self->blind = 0;
		value = 0;
	}
	if (mutated(MUTATE_NOT_CHANGING, func) && (value & 0xf) == 2)
		value = 0;
	if (mutated(MUTATE_NO_FLIGHT, func) && in_flight(value))
		value = 1;
	return value;
}

void model_store(volatile void *at, unsigned int size, __u64 value,
		 enum model_order order, const char *func)
{
	bool release = order == MODEL_RELEASE;

	if (memory_unread(at))
		return;
	if (!self || !memory_shared(at)) {
		memory_write(at, size, value);
		return;
	}
	if (self - world.thread == scenario->victim) {
		stack_pause();
		did(release ? "releases" : "writes", func, at, value);
	}
	if (mutated(MUTATE_PLAIN, func))
		release = false;
	if (mutated(order == MODEL_RELEASE ? MUTATE_LATE_RELEASE : MUTATE_LATE_STORE, func)) {
		self->late = 1;
		self->late_store = (struct store){ at, value, size, release, MODEL_STORE };
		return;
	}
	push(at, size, MODEL_STORE, value, release);
}

__u64 model_rmw(volatile void *at, unsigned int size, enum model_rmw op, __u64 a,
		__u64 b, const char *func)
{
	__u64 was;

	if (size == 4) {
		a = (__u32)a;
		b = (__u32)b;
	}
	if (!self || !memory_shared(at)) {
		was = memory_read(at, size);
		memory_write(at, size, apply(op, was, a, b));
		return was;
	}
	stack_pause();
	was = look(at, size);
	if (op == MODEL_CAS && in_flight(a) && mutated(MUTATE_BLIND_ACCEPT, func))
		was = a;
	did(op == MODEL_CAS ? was == a ? "exchanges" : "fails to exchange" :
	    op == MODEL_OR ? "sets bits" : "clears bits", func, at, op == MODEL_CAS ? b : a);
	if (op == MODEL_CAS && was != a)
		return was;
	all_land();
	if (mutated(MUTATE_SKIP_RMW, func) ||
	    (mutated(MUTATE_KEEP, func) && op == MODEL_CAS && b == 1) ||
	    (mutated(MUTATE_UNTAGGED, func) && op == MODEL_CAS && in_flight(b)))
		return was;
	if (mutated(MUTATE_TORN_RMW, func) ||
	    (mutated(MUTATE_TORN_ACCEPT, func) && op == MODEL_CAS && in_flight(a))) {
		stack_pause();
		did("and only now writes", func, at, apply(op, was, a, b));
	}
	memory_write(at, size, apply(op, was, a, b));
	return was;
}

void model_bits(volatile __u32 *at, enum model_rmw op, __u32 bits, const char *func)
{
	if (self && mutated(MUTATE_NO_SECOND_LOOK, func) && op == MODEL_ANDNOT)
		self->blind = 1;
	if (self && memory_shared(at) && mutated(MUTATE_LATE_BITS, func))
		push(at, 4, op, bits, false);
	else
		model_rmw(at, 4, op, bits, 0, func);
}

void model_mb(const char *func)
{
	if (!self || mutated(MUTATE_NO_MB, func))
		return;
	stack_pause();
	all_land();
	did("full barrier", func, NULL, 0);
}

void model_copy_in(void *slot, const void *from, unsigned int len, const char *func)
{
	const __u64 *word = from;
	__u64 *to = slot;

	if (len % 8)
		abort();
	for (; len; len -= 8)
		model_store(to++, 8, *word++, MODEL_PLAIN, func);
}

void model_copy_out(void *to, const void *slot, unsigned int len, const char *func)
{
	const __u64 *from = slot;
	__u64 *word = to;

	if (len % 8)
		abort();
	for (; len; len -= 8)
		*word++ = model_load(from++, 8, func);
}

void model_wait(__u32 *bell)
{
	self->run = RUN_WAIT;
	self->bell = bell;
	stack_pause();
	self->run = RUN_READY;
	self->bell = NULL;
	memory_write(bell, 4, 0);
	did("is woken", __func__, bell, 0);
}

/* A plain store: whoever rings may not count on the bell to order anything. */
void model_ring(__u32 *bell)
{
	model_store(bell, 4, 1, MODEL_PLAIN, __func__);
}

void model_wait_for_victim(void)
{
	self->run = RUN_WAIT_VICTIM;
	stack_pause();
	self->run = RUN_READY;
	did("sees the victim's end", __func__, NULL, 0);
}
