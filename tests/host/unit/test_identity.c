// SPDX-License-Identifier: GPL-2.0
/*
 * Tables by which every address is what it is, but for what is hidden: each address is
 * looked up as the processor would.
 */
#include "test.h"
#include "../../../kernel/spumone/arch/x86/tables.h"

#define PAGE		4096ULL
#define LARGE		SZ_2M
#define LARGEST		((u64)SZ_1G)
#define END		(8 * LARGEST)
#define TABLES		4096
#define RANGES		16
#define PROBES		4000
#define ROUNDS		200

/* Of this many tables, the next one; and how many there may be. */
struct spumone_tables {
	unsigned int used, most;
	u64 *table[TABLES];
};

struct range {
	u64 from, to;
};

u64 *tables_new(struct spumone_tables *t, u64 *physical)
{
	u64 *table;

	if (t->used == t->most)
		return NULL;
	table = aligned_alloc(PAGE, PAGE);
	memset(table, 0, PAGE);
	*physical = (uintptr_t)table;
	t->table[t->used++] = table;
	return table;
}

static void make(struct spumone_tables *t, int top, unsigned int most)
{
	u64 physical;

	t->used = 0;
	t->most = most;
	tables_new(t, &physical);
	CHECK(identity_fill(t, t->table[0], top, END) == 0);
}

static void free_all(struct spumone_tables *t)
{
	while (t->used)
		free(t->table[--t->used]);
}

/* The size of the page that an address is in, 0: there is none; *where the page leads. */
static u64 walk(const struct spumone_tables *t, int top, u64 address, u64 *where)
{
	u64 *table = t->table[0], entry, span;
	int level = top;

	for (;; level--) {
		span = PAGE << (level * TABLES_BITS);
		entry = table[address / span % TABLES_ENTRIES];
		if (!(entry & TABLES_PRESENT))
			return 0;
		CHECK((entry & (TABLES_WRITE | TABLES_USER)) == (TABLES_WRITE | TABLES_USER));
		CHECK(!(entry & TABLES_NO_RUN));
		if (!level || entry & TABLES_LARGE)
			break;
		table = phys_to_virt(entry & TABLES_ADDRESS);
	}
	CHECK(level <= 2);
	CHECK(!((entry & TABLES_ADDRESS) % span));
	*where = (entry & TABLES_ADDRESS) + address % span;
	return span;
}

static bool hidden(const struct range *r, unsigned int count, u64 address)
{
	for (; count; count--, r++)
		if (address >= r->from && address < r->to)
			return true;
	return false;
}

static void probe(const struct spumone_tables *t, int top, const struct range *r,
		  unsigned int count, u64 address)
{
	u64 where = ~address, span = walk(t, top, address, &where);

	CHECK(!span == hidden(r, count, address));
	CHECK(!span || where == address);
}

/* All edges of what is hidden, and anything else. */
static void probe_all(const struct spumone_tables *t, int top, const struct range *r,
		      unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		probe(t, top, r, count, r[i].from);
		probe(t, top, r, count, r[i].to - 1);
		if (r[i].from)
			probe(t, top, r, count, r[i].from - 1);
		if (r[i].to < END)
			probe(t, top, r, count, r[i].to);
	}
	for (i = 0; i < PROBES; i++)
		probe(t, top, r, count, ((u64)random_u32() << 32 | random_u32()) % END);
}

static void plain(int top)
{
	struct spumone_tables t;
	u64 where;

	make(&t, top, TABLES);
	/* one of each level above pages of 1 GiB */
	CHECK(t.used == top - 1);
	probe_all(&t, top, NULL, 0);
	CHECK(walk(&t, top, 5 * LARGEST + 7, &where) == LARGEST);
	CHECK(!walk(&t, top, END, &where));
	free_all(&t);
}

/* The pages around a hole are as large as can be. */
static void sizes(void)
{
	const struct range page = { LARGEST + PAGE, LARGEST + 2 * PAGE };
	struct spumone_tables t;
	u64 where;

	make(&t, 3, TABLES);
	CHECK(!identity_hide(&t, t.table[0], 3, page.from, page.to));
	CHECK(t.used == 4);
	CHECK(walk(&t, 3, LARGEST, &where) == PAGE && where == LARGEST);
	CHECK(!walk(&t, 3, page.from, &where) && !walk(&t, 3, page.to - 1, &where));
	CHECK(walk(&t, 3, page.to, &where) == PAGE && where == page.to);
	CHECK(walk(&t, 3, LARGEST + LARGE, &where) == LARGE);
	CHECK(walk(&t, 3, 0, &where) == LARGEST && walk(&t, 3, 2 * LARGEST, &where) == LARGEST);
	/* whole pages need no smaller ones */
	CHECK(!identity_hide(&t, t.table[0], 3, 2 * LARGEST, 4 * LARGEST));
	CHECK(!identity_hide(&t, t.table[0], 3, LARGEST + 2 * LARGE, LARGEST + 4 * LARGE));
	CHECK(t.used == 4);
	/* again, and all around it */
	CHECK(!identity_hide(&t, t.table[0], 3, 0, END));
	CHECK(t.used == 4 && !walk(&t, 3, LARGEST + LARGE, &where));
	free_all(&t);
}

static struct range some(void)
{
	static const u64 unit[] = { PAGE, PAGE, LARGE, LARGEST };
	u64 size = unit[random_u32() % 4] * (1 + random_u32() % 3) + PAGE * (random_u32() % 3);
	u64 align = unit[random_u32() % 4];
	u64 from = ((u64)random_u32() << 12) % (END - size) / align * align;

	return (struct range) { from, from + size };
}

static void anything(int top)
{
	struct range r[RANGES];
	struct spumone_tables t;
	unsigned int i, count = 1 + random_u32() % RANGES;

	make(&t, top, TABLES);
	for (i = 0; i < count; i++) {
		r[i] = some();
		CHECK(!identity_hide(&t, t.table[0], top, r[i].from, r[i].to));
	}
	probe_all(&t, top, r, count);
	free_all(&t);
}

/* It says so when there is no memory, wherever that is. */
static void no_memory(void)
{
	struct spumone_tables t;
	unsigned int most;
	u64 physical;

	for (most = 2; most <= 4; most++) {
		make(&t, 3, most);
		CHECK(identity_hide(&t, t.table[0], 3, PAGE, 2 * PAGE) == (most < 4 ? -ENOMEM : 0));
		free_all(&t);
	}
	t.most = 1;
	CHECK(identity_fill(&t, tables_new(&t, &physical), 3, END) == -ENOMEM);
	free_all(&t);
}

void test_identity(void)
{
	int i;

	plain(3);
	plain(4);
	sizes();
	for (i = 0; i < ROUNDS; i++)
		anything(3 + i % 2);
	no_memory();
}
