// SPDX-License-Identifier: GPL-2.0
/* Rings and chains that are wrong in one way each, and the last that are right. */
#include "test.h"

#define SIZE	256

static struct driver d;
static struct vqueue v;
static struct vqueue_chain chain;

static int open_with(const struct shimos_virtio_queue *queue)
{
	return vqueue_open(&v, &d.memory, queue, d.book, d.features);
}

#define REFUSED(change) do {						\
	struct shimos_virtio_queue q = d.queue;				\
									\
	change;								\
	CHECK(open_with(&q) == -EINVAL && !v.size);			\
} while (0)

void test_open(void)
{
	struct shimos_virtio_queue none = { .desc = 1, .avail = 1, .used = 1 };

	driver_open(&d, SIZE, 0, 0);
	CHECK(!open_with(&d.queue) && v.size == SIZE && !v.event_idx && !v.indirect);
	d.features = FEATURE_EVENT;
	CHECK(!open_with(&d.queue) && v.event_idx && !v.indirect);
	d.features = FEATURE_INDIRECT;
	CHECK(!open_with(&d.queue) && !v.event_idx && v.indirect);
	/* not used: nothing is in it, and nothing is looked at */
	CHECK(!open_with(&none) && !v.size);
	CHECK(!vqueue_has_more(&v) && !vqueue_pop(&v, &chain) && vqueue_enable_notify(&v));
	vqueue_disable_notify(&v);
	REFUSED(q.size = SIZE - 1);
	REFUSED(q.size = 2 * SIZE);			/* beyond its memory */
	REFUSED(q.size = MAX_RING);
	REFUSED(q.size = 1U << 31);
	REFUSED(q.size = ~0U);
	REFUSED((q.desc += 8, q.size = SIZE / 2));
	REFUSED((q.avail += 1, q.size = SIZE / 2));
	REFUSED((q.used += 2, q.size = SIZE / 2));
	REFUSED(q.desc += 16);
	REFUSED(q.avail += 2);
	REFUSED(q.used += 4);
	/* not even the position behind the ring is missing */
	d.memory.piece[2].size -= 2;
	REFUSED((void)q);
	d.memory.piece[2].size += 2;
	d.memory.piece[1].size -= 2;
	REFUSED((void)q);
	d.memory.piece[1].size += 2;
	REFUSED(q.desc -= 16);
	REFUSED(q.desc = 0);
	REFUSED(q.avail = 0);
	REFUSED(q.used = 0);
	REFUSED(q.desc = ~0ULL - 15);
	REFUSED(q.avail = ~0ULL - 1);
	REFUSED(q.used = ~0ULL - 3);
	driver_close(&d);
	/* the largest there may be, were there memory for more */
	driver_open(&d, MAX_RING, 0, 0);
	REFUSED(q.size = MAX_RING);
	d.queue.size = SHIMOS_VIRTIO_RING;
	CHECK(!open_with(&d.queue) && v.size == SHIMOS_VIRTIO_RING);
	driver_close(&d);
}

static struct vring_desc *table;

static void begin(u64 features)
{
	unsigned int i;

	driver_open(&d, SIZE, features, 0);
	driver_attach(&d, &v, 0);
	table = user_memory_at(&d.memory, d.tables, 1);
	for (i = 0; i < SIZE; i++)
		d.desc[i] = (struct vring_desc){ d.data, 1, VRING_DESC_F_NEXT, i + 1 };
	d.avail->idx = 1;
}

/* Nothing is taken, it stays broken, and one may say why. */
static void expect_broken(int line)
{
	struct shimos_virtio_ring_state before = *d.book;
	const char *problem;
	bool ok;

	ok = vqueue_pop(&v, &chain) == -EBADMSG && v.broken && v.problem && !v.taken &&
	     !memcmp(&before, d.book, sizeof(before));
	problem = v.problem;
	d.desc[0] = (struct vring_desc){ d.data, 1 };
	d.avail->idx = 1;
	d.avail->ring[0] = 0;
	ok = ok && vqueue_pop(&v, &chain) == -EBADMSG && v.problem == problem &&
	     !vqueue_has_more(&v) && !memcmp(&before, d.book, sizeof(before));
	check(ok, "refused and broken", __FILE__, line);
	driver_close(&d);
}

static void expect_parts(int line, unsigned int out, unsigned int in)
{
	check(vqueue_pop(&v, &chain) == 1 && chain.out == out && chain.in == in &&
	      !v.broken && v.taken == 1, "taken", __FILE__, line);
	driver_close(&d);
}

#define BROKEN_FOR(words, change) do {					\
	begin(FEATURE_INDIRECT);					\
	change;								\
	CHECK(vqueue_pop(&v, &chain) == -EBADMSG && strstr(v.problem, words));	\
	driver_close(&d);						\
} while (0)
#define BROKEN(change) do { begin(FEATURE_INDIRECT); change; expect_broken(__LINE__); } while (0)
#define TAKEN(out, in, change) \
	do { begin(FEATURE_INDIRECT); change; expect_parts(__LINE__, out, in); } while (0)

static void end_at(unsigned int n)
{
	d.desc[n].flags = 0;
}

static void indirect(u64 addr, u32 len, u16 flags)
{
	d.desc[0] = (struct vring_desc){ addr, len, VRING_DESC_F_INDIRECT | flags, 0 };
	table[0] = (struct vring_desc){ d.data, 1 };
}

/* A table of @n entries that are all in the chain. */
static void full_table(unsigned int n)
{
	unsigned int i;

	indirect(d.tables, n * sizeof(*table), 0);
	for (i = 0; i < n; i++)
		table[i] = (struct vring_desc){ d.data, 1, VRING_DESC_F_NEXT, i + 1 };
	table[n - 1].flags = 0;
}

static void positions(void)
{
	TAKEN(1, 0, (end_at(0), d.avail->idx = SIZE));
	BROKEN((end_at(0), d.avail->idx = SIZE + 1));
	BROKEN((end_at(0), d.avail->idx = 65535));
	TAKEN(1, 0, (end_at(SIZE - 1), d.avail->ring[0] = SIZE - 1));
	BROKEN((end_at(0), d.avail->ring[0] = SIZE));
	BROKEN((end_at(0), d.avail->ring[0] = 65535));
}

static void chains(void)
{
	TAKEN(VQUEUE_SEGMENTS, 0, end_at(VQUEUE_SEGMENTS - 1));
	BROKEN(end_at(VQUEUE_SEGMENTS));
	BROKEN(d.desc[0].next = 0);
	BROKEN(d.desc[5].next = 3);
	BROKEN(d.desc[0].next = SIZE);
	BROKEN(d.desc[0].next = 65535);
	TAKEN(2, 0, (d.desc[0].next = SIZE - 1, end_at(SIZE - 1)));
	TAKEN(1, 1, d.desc[1].flags = VRING_DESC_F_WRITE);
	TAKEN(0, 1, d.desc[0].flags = VRING_DESC_F_WRITE);
	BROKEN((d.desc[0].flags |= VRING_DESC_F_WRITE, end_at(1)));
	BROKEN_FOR("empty", (d.desc[0].len = 0, end_at(1)));
	BROKEN_FOR("empty", (d.desc[1].len = 0, end_at(1)));
	BROKEN_FOR("outside", (d.desc[0].addr = 0, end_at(0)));
	BROKEN_FOR("loop", d.desc[0].next = 0);
}

static void addresses(void)
{
	u64 end = d.data + DATA_BYTES;

	end = 0x40000000ULL + DATA_BYTES;
	TAKEN(1, 0, (d.desc[0].addr = end - 1, end_at(0)));
	TAKEN(1, 0, (d.desc[0].len = DATA_BYTES, end_at(0)));
	BROKEN((d.desc[0].addr = end, end_at(0)));
	BROKEN((d.desc[0].addr = end - 1, d.desc[0].len = 2, end_at(0)));
	BROKEN((d.desc[0].addr = d.data - 1, end_at(0)));
	BROKEN((d.desc[0].addr = d.data - 1, d.desc[0].len = 2, end_at(0)));
	BROKEN((d.desc[0].len = DATA_BYTES + 1, end_at(0)));
	BROKEN((d.desc[0].len = ~0U, end_at(0)));
	BROKEN((d.desc[0].addr = ~0ULL, end_at(0)));
	BROKEN((d.desc[0].addr = ~0ULL, d.desc[0].len = ~0U, end_at(0)));
	BROKEN((d.desc[0].addr = -(u64)DATA_BYTES, d.desc[0].len = ~0U, end_at(0)));
	BROKEN((d.desc[0].addr = 0, end_at(0)));
	BROKEN((d.desc[1].addr = 0, end_at(1)));
}

static void tables(void)
{
	u32 bytes = sizeof(*table), all = SIZE * MAX_PARTS * sizeof(*table);

	TAKEN(1, 0, indirect(d.tables, bytes, 0));
	TAKEN(1, 0, indirect(d.tables, bytes, VRING_DESC_F_WRITE));	/* it is ignored */
	TAKEN(VQUEUE_SEGMENTS, 0, full_table(VQUEUE_SEGMENTS));
	BROKEN(full_table(VQUEUE_SEGMENTS + 1));
	BROKEN((full_table(VQUEUE_SEGMENTS + 1), table[0].flags = 0));
	BROKEN(indirect(d.tables, bytes, VRING_DESC_F_NEXT));
	BROKEN(indirect(d.tables, 0, 0));
	BROKEN(indirect(d.tables, bytes - 1, 0));
	BROKEN(indirect(d.tables, bytes + 1, 0));
	BROKEN(indirect(d.tables, ~0U, 0));
	BROKEN(indirect(d.tables, ~0U - 15, 0));
	BROKEN(indirect(d.tables + all, bytes, 0));
	BROKEN(indirect(d.tables + all - bytes, 2 * bytes, 0));
	BROKEN(indirect(~0ULL - 15, bytes, 0));
	BROKEN(indirect(0, bytes, 0));
	BROKEN(indirect(d.tables + 4, bytes, 0));
	BROKEN((indirect(d.tables, bytes, 0), table[0].flags = VRING_DESC_F_INDIRECT));
	BROKEN((full_table(3), table[1].flags |= VRING_DESC_F_INDIRECT));
	BROKEN((full_table(3), table[1].next = 3));	/* the fourth is not in it */
	BROKEN((full_table(3), table[2] = table[0]));	/* a loop */
	BROKEN((full_table(3), table[2].addr = 0));
	/* a table in the middle of a chain */
	BROKEN((indirect(d.tables, bytes, 0), d.desc[1] = d.desc[0],
		d.desc[0] = (struct vring_desc){ d.data, 1, VRING_DESC_F_NEXT, 1 }));
	/* one that was not agreed upon */
	begin(FEATURE_EVENT);
	indirect(d.tables, bytes, 0);
	expect_broken(__LINE__);
}

/* Broken from outside, as are all rings of a device of which one is. */
static void broken_by_others(void)
{
	begin(0);
	end_at(0);
	v.broken = true;
	CHECK(!vqueue_has_more(&v) && vqueue_pop(&v, &chain) == -EBADMSG && v.problem);
	driver_close(&d);
}

void test_nonsense(void)
{
	broken_by_others();
	positions();
	chains();
	addresses();
	tables();
}
