// SPDX-License-Identifier: GPL-2.0
/*
 * Stores that are done late: each thread has a buffer of them; and loads that are
 * done late, of what is only copied.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

__u64 store_apply(enum model_op op, __u64 was, __u64 a, __u64 b)
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
	case MODEL_ADD:
		return was + a;
	}
	abort();
}

void store_push(volatile void *at, unsigned int size, enum model_op op, __u64 value,
		bool release)
{
	struct store *s = &self->store[self->stores];

	if (self->stores == MODEL_BUFFER) {
		store_all_land(self);	/* weakens the search; the scenarios stay below */
		model_fail("store buffer too small");
	}
	history_read_new(self, memory_place(at));
	s->at = at;
	s->size = size;
	s->value = value;
	s->op = op;
	s->release = release;
	s->copies = release ? self->copies : 0;
	s->group = self->group;
	self->stores++;
}

/* The thread's last store there, if it is still on its way. */
const struct store *store_find(const struct thread *t, const volatile void *at)
{
	unsigned int i = t->stores;

	while (i--)
		if (t->store[i].at == at)
			return &t->store[i];
	return NULL;
}

bool store_can_land(const struct thread *t, unsigned int i)
{
	const struct store *s = &t->store[i];
	unsigned int j;

	if (s->release)
		return i == 0 && !s->copies;
	for (j = 0; j < i; j++)
		if (t->store[j].at == s->at || t->store[j].group != s->group)
			return false;
	return true;
}

/* It becomes visible to all. */
void store_write(struct thread *t, volatile void *at, unsigned int size, __u64 value)
{
	struct thread *other;
	unsigned int i;

	for (other = world.thread; other < world.thread + scenario->threads; other++)
		for (i = 0; other != t && i < other->stores; i++)
			if (other->store[i].held && other->store[i].at == at)
				store_land(other, i);
	history_write(t, at, memory_read(at, size));
	memory_write(at, size, value);
}

void store_land(struct thread *t, unsigned int i)
{
	struct store s = t->store[i];

	memmove(&t->store[i], &t->store[i + 1], (--t->stores - i) * sizeof(s));
	memset(&t->store[t->stores], 0, sizeof(s));
	if (!t->stores)
		t->group = 0;
	store_write(t, s.at, s.size, store_apply(s.op, memory_read(s.at, s.size), s.value, 0));
}

void store_all_land(struct thread *t)
{
	while (t->stores)
		store_land(t, 0);
}

void copy_push(struct thread *t, __u64 *to, const __u64 *from)
{
	if (t->copies == MODEL_COPIES)
		abort();
	t->copy[t->copies++] = (struct copy){ to, from };
}

/* The load is done, of the value that was picked. */
__u64 copy_land(struct thread *t, unsigned int i)
{
	struct copy c = t->copy[i];
	unsigned int place = memory_place(c.from), j;
	__u64 value = memory_read(c.from, 8);

	if (picked >= 0)
		value = history_read_old(t, picked, false);
	else
		history_read_new(t, place);
	memmove(&t->copy[i], &t->copy[i + 1], (--t->copies - i) * sizeof(c));
	memset(&t->copy[t->copies], 0, sizeof(c));
	for (j = 0; j < t->stores; j++)
		t->store[j].copies -= t->store[j].copies > i;
	*c.to = value;
	history_paused(t);
	return value;
}

void copy_all_land(struct thread *t)
{
	picked = -1;
	while (t->copies)
		copy_land(t, 0);
}
