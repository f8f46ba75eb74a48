// SPDX-License-Identifier: GPL-2.0
/* The states seen so far, and which of them the present schedule went through. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "world.h"

#define LARGE_PAGE	(2UL << 20)

#define ON_PATH		1ULL	/* in the lowest bit of hash.b */

static struct hash *table;
static size_t size, count;

static struct hash *find(struct hash key)
{
	size_t i = key.a & (size - 1);

	while ((table[i].a || table[i].b) &&
	       (table[i].a != key.a || (table[i].b | ON_PATH) != (key.b | ON_PATH)))
		i = (i + 1) & (size - 1);
	return &table[i];
}

/* Looked up in no order at all: large pages save half of the time. */
static void make_table(void)
{
	size_t bytes = size * sizeof(*table);

	table = aligned_alloc(LARGE_PAGE, bytes < LARGE_PAGE ? LARGE_PAGE : bytes);
	if (!table)
		abort();
	madvise(table, bytes, MADV_HUGEPAGE);
	memset(table, 0, bytes);
}

static void grow(void)
{
	struct hash *old = table;
	size_t had = size, i;

	size *= 4;
	make_table();
	for (i = 0; i < had; i++)
		if (old[i].a || old[i].b)
			*find(old[i]) = old[i];
	free(old);
}

void visited_reset(void)
{
	free(table);
	size = 1 << 16;
	count = 0;
	make_table();
}

enum visit visited_enter(struct hash key)
{
	struct hash *entry = find(key);

	if (entry->a || entry->b)
		return entry->b & ON_PATH ? VISIT_CYCLE : VISIT_SEEN;
	entry->a = key.a;
	entry->b = key.b | ON_PATH;
	if (++count > size / 2)
		grow();
	return VISIT_NEW;
}

void visited_leave(struct hash key)
{
	find(key)->b &= ~ON_PATH;
}
