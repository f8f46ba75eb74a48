// SPDX-License-Identifier: GPL-2.0
/*
 * Loads that are done early: a thread may still read what a place held at any time
 * since the thread's last barrier.
 *
 * What was overwritten is kept as long as some thread may read it; the list is
 * sorted by when that was.  Between barriers nothing but the same place keeps a
 * thread's loads in order: who has read a value does not read an older one of that
 * place.  An acquire that reads the newest value is a barrier for the loads behind
 * it, and one that reads an older value keeps them from what was overwritten before
 * that was written.
 *
 * A thread's first load after a barrier reads the newest value: if it were done
 * earlier, the thread's step could have come earlier as well, and that is another
 * schedule.  So only a load with another before it is a choice.
 *
 * Who may still read what?  To keep all would make no two states equal.  So it is
 * learned, for each access in the code, which places can be read behind it before
 * the next barrier; a value is kept for a thread only if it can come to read it from
 * where it stands.  Whenever an exploration has learned something it is done again.
 * Where that is still too much, the scenario's window keeps the newest only.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

#define SITES		256

struct site_set { __u64 word[SITES / 64]; };
struct place_set { __u64 word[MODEL_PLACES / 64]; };

static struct model_site *sites[SITES];
static unsigned int site_count;
static struct site_set follows[SITES];	/* next in a thread, no barrier between */
static struct place_set reads[SITES], behind[SITES];
static struct place_set acquired;	/* places that are read by acquire */
static bool learned;

unsigned int history_site(struct model_site *site)
{
	if (!site->number) {
		if (++site_count == SITES)
			abort();
		site->number = site_count;
		sites[site_count] = site;
	}
	return site->number;
}

const struct model_site *model_ordered_site(unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= site_count; i++)
		if (sites[i]->ordered && !n--)
			return sites[i];
	return NULL;
}

static bool has(const __u64 *set, unsigned int i)
{
	return set[i / 64] >> i % 64 & 1;
}

static bool add(__u64 *set, unsigned int i)
{
	bool had = has(set, i);

	set[i / 64] |= 1ULL << i % 64;
	return !had;
}

static bool add_all(struct place_set *to, const struct place_set *from)
{
	bool more = false;
	unsigned int i;

	for (i = 0; i < MODEL_PLACES / 64; i++) {
		more |= from->word[i] & ~to->word[i];
		to->word[i] |= from->word[i];
	}
	return more;
}

static void conclude(void)
{
	unsigned int i, j;
	bool more = true;

	learned = true;
	while (more)
		for (more = false, i = 1; i <= site_count; i++)
			for (j = 1; j <= site_count; j++)
				if (has(follows[i].word, j))
					more |= add_all(&behind[i], &reads[j]) |
						add_all(&behind[i], &behind[j]);
}

/* Something new since it was last asked? */
bool history_learned(void)
{
	bool was = learned;

	learned = false;
	return was;
}

void history_acquires(unsigned int place)
{
	learned |= add(acquired.word, place);
}

/* Can the thread come to read it and find an old value? */
static bool interests(const struct thread *t, unsigned int place)
{
	unsigned int i;

	for (i = 0; i < t->copies; i++)
		if (memory_place(t->copy[i].from) == place)
			return true;
	return t->site && (has(behind[t->site].word, place) ||
			   (t->open && t->place == place));
}

/* The @i'th of the old values is nobody's any more. */
static void forget(unsigned int i)
{
	unsigned int j, n = 0;

	memmove(&world.old[i], &world.old[i + 1], (--world.olds - i) * sizeof(world.old[0]));
	for (j = i; j < world.olds; j++)
		if (world.old[j].from > i)
			world.old[j].from--;
	for (j = 0; j < world.recents; j++) {
		struct recent r = world.recent[j];

		r.from -= r.from > i;
		if (r.from)
			world.recent[n++] = r;
	}
	world.recents = n;
}

static unsigned int bit(const struct thread *t)
{
	return 1U << (t - world.thread);
}

static void drop(struct thread *t, unsigned int i)
{
	world.old[i].readers &= ~bit(t);
	if (!world.old[i].readers)
		forget(i);
}

bool history_readable(const struct thread *t, unsigned int place, const struct old *old)
{
	return old->place == place && old->readers & bit(t);
}

__u64 history_read_old(struct thread *t, unsigned int i, bool acquire)
{
	struct old is = world.old[i];

	while (i--)
		if (world.old[i].place == is.place || (acquire && i < is.from))
			drop(t, i);
	return is.value;
}

void history_read_new(struct thread *t, unsigned int place)
{
	unsigned int i = world.olds;

	while (i--)
		if (world.old[i].place == place)
			drop(t, i);
}

/* All of its loads that stand before are done, those behind not begun. */
void history_barrier(struct thread *t)
{
	t->last = t->open = 0;
	history_forget(t);
}

void history_forget(struct thread *t)
{
	unsigned int i = world.olds;

	while (i--)
		drop(t, i);
}

static struct recent *find_recent(unsigned int place)
{
	unsigned int i;

	for (i = 0; i < world.recents; i++)
		if (world.recent[i].place == place)
			return &world.recent[i];
	return NULL;
}

/* It has no store of its own there, which it would read instead. */
static bool may_read_old(const struct thread *t, const volatile void *at, unsigned int place)
{
	return !thread_ended(t) && interests(t, place) && !store_find(t, at);
}

/* @t overwrites what was there. */
void history_write(struct thread *t, const volatile void *at, __u64 was)
{
	unsigned int place = memory_place(at), i, readers = 0;
	struct recent *recent;

	history_read_new(t, place);
	for (i = 0; i < scenario->threads; i++)
		if (&world.thread[i] != t && may_read_old(&world.thread[i], at, place))
			readers |= 1U << i;
	if (!scenario->window)
		readers = 0;
	else if (readers && world.olds == scenario->window)
		forget(0);
	recent = find_recent(place);
	if (world.olds == MODEL_OLD || world.recents == MODEL_OLD)
		abort();
	if (readers)
		world.old[world.olds++] = (struct old){ was, place, readers,
							recent ? recent->from : 0 };
	if (!world.olds || !has(acquired.word, place))
		return;
	if (!recent) {
		recent = &world.recent[world.recents++];
		recent->place = place;
	}
	recent->from = world.olds;
}

/* The thread did this, and it was no barrier. */
void history_step(struct thread *t, unsigned int site, unsigned int place, bool read)
{
	bool more = t->last && add(follows[t->last].word, site);

	if (read)
		more |= add(reads[site].word, place);
	if (more)
		conclude();
	t->last = site;
	t->open |= read;
}

/* It stands before its next step. */
void history_paused(struct thread *t)
{
	unsigned int i = world.olds;

	while (i--)
		if (world.old[i].readers & bit(t) && !interests(t, world.old[i].place))
			drop(t, i);
}
