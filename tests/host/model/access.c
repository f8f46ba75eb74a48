// SPDX-License-Identifier: GPL-2.0
/*
 * The memory model: as much of Arm's (ARMv8, multi-copy atomic) as the code relies
 * on, and so more than x86 does.  There is one memory, and each value in it is there
 * for all from one moment on.  A processor does
 *
 * - stores late: each thread has a buffer of them.  They land in any order, but those
 *   to one place do not change theirs, and what stands before a write barrier or a
 *   release lands first.  A thread reads its own stores first.  (buffer.c)
 * - loads early: a load may give what its place held at any time since the thread's
 *   last barrier or acquire; never older than what the thread has read there, nor
 *   than its own store.  (history.c)
 * - loads late, behind later stores: only those of a copy, up to the next barrier,
 *   the landing of a release, or until the thread says that it looks at the copy.
 *   The value of every other load in the code decides by a branch what is stored
 *   after it, and Arm lets no store become visible before what it depends on; or, as
 *   of `event` and `room_event`, it decides only whether to ring.
 *
 * This is the operational reading of Pulte et al., "Promising-ARM/RISC-V" (PLDI
 * 2019), whose views are here "what may still be read", with buffers and late copies
 * in place of its promises; compare Kang et al. (POPL 2017).  litmus.c asserts what
 * the model lets happen and what not.
 *
 * Barriers are what the kernel's are: a release is not ordered with a later acquire,
 * an acquire may be weaker than Arm's (RCpc); a read-modify-write is a full barrier,
 * and a compare-and-exchange that fails is just a load.  An interrupt comes after all
 * that was visible when it was raised, but to raise it is a plain store: who rings
 * has to say what shall be seen.  An address that was read before is no order between
 * loads here, though it is on Arm: nothing relies on it.
 *
 * A store goes into the buffer without a choice of the explorer before it: nobody
 * else can see that.  Except for a thread that may stop for ever, where it matters
 * which stores it came to.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

int picked;
static bool quiet;

void model_quiet(bool on)
{
	quiet = on;
}

static bool mutated(enum mutate kind, const struct model_site *site)
{
	return mutation && mutation->kind == kind && !strcmp(mutation->func, site->func) &&
	       strstr(site->text, mutation->text);
}

/* It is there for its order, unless a mutation takes that from it. */
static bool ordered(struct model_site *site)
{
	history_site(site);
	site->ordered = true;
	return !mutated(MUTATE_RELAX, site);
}

bool model_misuse(const char *func)
{
	return mutation && mutation->kind == MUTATE_USE && !strcmp(mutation->func, func);
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

/* Let the explorer choose, before something at @site that reads @place (0: does not). */
static void pause_at(struct model_site *site, unsigned int place)
{
	self->site = history_site(site);
	self->place = place;
	stack_pause();
	self->site = self->place = 0;
}

/* What the running thread sees there if it reads the newest value. */
static __u64 newest(const volatile void *at, unsigned int size)
{
	__u64 value = memory_read(at, size);
	unsigned int i;

	for (i = 0; i < self->stores; i++)
		if (self->store[i].at == at)
			value = store_apply(self->store[i].op, value, self->store[i].value, 0);
	return value;
}

static __u64 look(struct model_site *site, const volatile void *at, unsigned int size,
		  unsigned int place, bool acquire)
{
	const struct store *own = store_find(self, at);
	__u64 value;

	if (picked >= 0) {
		value = history_read_old(self, picked, acquire);
		did(acquire ? "acquires what was" : "reads what was", site->func, at, value);
	} else {
		value = newest(at, size);
		if (!own)
			history_read_new(self, place);
		did(acquire ? "acquires" : "reads", site->func, at, value);
	}
	history_step(self, site->number, place, true);
	if (acquire && picked < 0 && !own)
		history_barrier(self);
	return value;
}

static void store_what_is_late(void)
{
	if (!self->late)
		return;
	self->late = 0;
	store_push(self->late_store.at, self->late_store.size, MODEL_STORE,
		   self->late_store.value, self->late_store.release);
	memset(&self->late_store, 0, sizeof(self->late_store));
}

__u64 model_load(struct model_site *site, const volatile void *at, unsigned int size,
		 enum model_order order)
{
	unsigned int place = self ? memory_place(at) : 0;
	bool acquire = order == MODEL_ACQUIRE && ordered(site);
	__u64 value;

	if (!place)
		return memory_read(at, size);
	if (quiet)
		return newest(at, size);
	if (acquire)
		history_acquires(place);
	pause_at(site, place);
	value = look(site, at, size, place, acquire);
	store_what_is_late();
	if (mutated(MUTATE_LOAD_MORE, site))
		value++;
	if (mutated(MUTATE_NO_RECHECK, site) && size == 4)
		value = self->wish;
	if (self->blind && size == 8) {
		self->blind = 0;
		value = 0;
	}
	if (mutated(MUTATE_NOT_CHANGING, site) && (value & 0xf) == 2)
		value = 0;
	if (mutated(MUTATE_NO_FLIGHT, site) && in_flight(value))
		value = 1;
	return value;
}

void model_store(struct model_site *site, volatile void *at, unsigned int size,
		 __u64 value, enum model_order order)
{
	bool release = order == MODEL_RELEASE && ordered(site);

	if (memory_unread(at))
		return;
	if (!self || !memory_place(at)) {
		memory_write(at, size, value);
		return;
	}
	if (self - world.thread == scenario->victim) {
		pause_at(site, 0);
		history_step(self, site->number, 0, false);
		did(release ? "releases" : "writes", site->func, at, value);
	}
	if (mutated(order == MODEL_RELEASE ? MUTATE_LATE_RELEASE : MUTATE_LATE_STORE, site)) {
		self->late = 1;
		self->late_store = (struct store){ .at = at, .value = value, .size = size,
						   .release = release };
		return;
	}
	store_push(at, size, MODEL_STORE, value, release);
}

/* All that stands before it is done, what comes behind it not begun. */
static void full_barrier(void)
{
	copy_all_land(self);
	store_all_land(self);
	history_barrier(self);
}

/* Of the newest value, but it orders nothing: its store may land later than others. */
static void update_relaxed(struct model_site *site, volatile void *at, unsigned int size,
			   __u64 value)
{
	if (store_find(self, at))
		store_all_land(self);
	history_read_new(self, memory_place(at));
	history_step(self, site->number, memory_place(at), true);
	store_push(at, size, MODEL_STORE, value, false);
	self->store[self->stores - 1].held = 1;
}

/* Somebody else's is about to land, and what is read now must be the newest. */
static void land_held(volatile void *at)
{
	struct thread *t;
	unsigned int i;

	for (t = world.thread; t < world.thread + scenario->threads; t++)
		for (i = 0; t != self && i < t->stores; i++)
			if (t->store[i].held && t->store[i].at == at)
				store_land(t, i);
}

static void update(struct model_site *site, volatile void *at, unsigned int size,
		   enum model_op op, __u64 was, __u64 a, __u64 b)
{
	if (!ordered(site)) {
		update_relaxed(site, at, size, store_apply(op, was, a, b));
		return;
	}
	full_barrier();
	if (mutated(MUTATE_SKIP_RMW, site) ||
	    (mutated(MUTATE_KEEP, site) && op == MODEL_CAS && b == 1) ||
	    (mutated(MUTATE_UNTAGGED, site) && op == MODEL_CAS && in_flight(b)))
		return;
	if (mutated(MUTATE_TORN_RMW, site) ||
	    (mutated(MUTATE_TORN_ACCEPT, site) && op == MODEL_CAS && in_flight(a))) {
		stack_pause();
		did("and only now writes", site->func, at, store_apply(op, was, a, b));
	}
	store_write(self, at, size, store_apply(op, was, a, b));
}

static __u64 exchange(struct model_site *site, volatile void *at, unsigned int size,
		      __u64 a, __u64 b)
{
	unsigned int place = memory_place(at);
	__u64 was;

	self->exchanges = true;
	self->expects = a;
	pause_at(site, place);
	self->exchanges = false;
	self->expects = 0;
	land_held(at);
	was = newest(at, size);
	if (in_flight(a) && mutated(MUTATE_BLIND_ACCEPT, site))
		was = a;
	if (picked >= 0 || was != a) {
		was = look(site, at, size, place, false);
		step.what = "fails to exchange";
		return was;
	}
	did("exchanges", site->func, at, b);
	update(site, at, size, MODEL_CAS, was, a, b);
	return was;
}

__u64 model_rmw(struct model_site *site, volatile void *at, unsigned int size,
		enum model_op op, __u64 a, __u64 b)
{
	__u64 was;

	if (size == 4) {
		a = (__u32)a;
		b = (__u32)b;
	}
	if (!self || !memory_place(at)) {
		was = memory_read(at, size);
		memory_write(at, size, store_apply(op, was, a, b));
		return was;
	}
	if (op == MODEL_CAS)
		return exchange(site, at, size, a, b);
	pause_at(site, 0);
	land_held(at);
	if (store_find(self, at))
		store_all_land(self);
	was = memory_read(at, size);
	did(op == MODEL_OR ? "sets bits" : "clears bits", site->func, at, a);
	update(site, at, size, op, was, a, b);
	return was;
}

void model_update(struct model_site *site, volatile void *at, unsigned int size,
		  enum model_op op, __u64 operand, enum model_order order)
{
	if (self && mutated(MUTATE_NO_SECOND_LOOK, site) && op == MODEL_ANDNOT)
		self->blind = 1;
	if (self && memory_place(at) && (order == MODEL_RELAXED || !ordered(site)))
		store_push(at, size, op, operand, false);
	else
		model_rmw(site, at, size, op, operand, 0);
}

void model_fence(struct model_site *site, enum model_fence kind)
{
	if (!self || !ordered(site))
		return;
	if (kind == MODEL_WMB) {
		self->group += !!self->stores;
		return;
	}
	pause_at(site, 0);
	if (kind == MODEL_MB) {
		full_barrier();
	} else {
		copy_all_land(self);
		history_barrier(self);
	}
	did(kind == MODEL_MB ? "full barrier" : "read barrier", site->func, NULL, 0);
}

void model_copy_in(struct model_site *site, void *slot, const void *from, unsigned int len)
{
	const __u64 *word = from;
	__u64 *to = slot;

	if (len % 8)
		abort();
	for (; len; len -= 8)
		model_store(site, to++, 8, *word++, MODEL_RELAXED);
}

void model_copy_out(struct model_site *site, void *to, const void *slot, unsigned int len)
{
	const __u64 *from = slot;
	__u64 *word = to;

	if (len % 8)
		abort();
	for (; len; len -= 8, word++, from++) {
		if (!self || !memory_place(from)) {
			*word = *from;
			continue;
		}
		history_step(self, history_site(site), memory_place(from), true);
		copy_push(self, word, from);
	}
}

void model_use_copies(void)
{
	struct model_site *site = MODEL_SITE("copies");

	if (!self->copies)
		return;
	pause_at(site, 0);
	copy_all_land(self);
	history_step(self, site->number, 0, false);
	did("looks at what it has copied", __func__, NULL, 0);
}

void model_wait(__u32 *bell)
{
	self->run = RUN_WAIT;
	self->bell = bell;
	stack_pause();
	self->run = RUN_READY;
	self->bell = NULL;
	copy_all_land(self);
	history_barrier(self);
	memory_write(bell, 4, 0);
	did("is woken", __func__, bell, 0);
}

/* A plain store: whoever rings may not count on the bell to order anything. */
void model_ring(__u32 *bell)
{
	model_store(MODEL_SITE("bell"), bell, 4, 1, MODEL_RELAXED);
}

void model_wait_for_victim(void)
{
	self->run = RUN_WAIT_VICTIM;
	stack_pause();
	self->run = RUN_READY;
	history_barrier(self);
	did("sees the victim's end", __func__, NULL, 0);
}
