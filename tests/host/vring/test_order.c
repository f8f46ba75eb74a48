// SPDX-License-Identifier: GPL-2.0
/*
 * In what order vqueue.c and recover.c look at a ring and write to it.  This machine may keep an
 * order that nobody asked for, so the barriers themselves are looked at.
 */
#include "test.h"

enum kind { LOAD, STORE, BARRIER };

static struct step {
	enum kind kind;
	const volatile void *at;
	enum barrier barrier;
} steps[256];
static unsigned int count;

static void add(struct step step)
{
	MUST(count < ARRAY_SIZE(steps));
	steps[count++] = step;
}

static void loaded(const volatile void *at, size_t size)
{
	add((struct step){ LOAD, at });
}

static void storing(volatile void *at, size_t size)
{
	add((struct step){ STORE, at });
}

static void barrier(enum barrier kind)
{
	add((struct step){ .kind = BARRIER, .barrier = kind });
}

static int find_first(enum kind kind, const volatile void *at)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (steps[i].kind == kind && steps[i].at == at)
			return i;
	return -1;
}

static int find_last(enum kind kind, const volatile void *at)
{
	int i = count;

	while (i-- && (steps[i].kind != kind || steps[i].at != at))
		;
	return i;
}

/* Both were done, the first first, and a barrier that orders them between. */
static bool in_order(enum kind first, const volatile void *a, enum barrier wanted,
		     enum kind second, const volatile void *b)
{
	int i, from = find_first(first, a), to = find_last(second, b);

	if (from < 0 || to < 0)
		return false;
	for (i = from; i < to; i++)
		if (steps[i].kind == BARRIER &&
		    (steps[i].barrier == wanted || steps[i].barrier == MB))
			return true;
	return false;
}

/* How often something of the user's was read: what is checked must be what is used. */
static unsigned int loads(const volatile void *at)
{
	unsigned int i, n = 0;

	for (i = 0; i < count; i++)
		n += steps[i].kind == LOAD && steps[i].at == at;
	return n;
}

static struct driver d;
static struct vqueue v;
static struct vqueue_chain chain;

static void taking(u64 features)
{
	count = 0;
	CHECK(vqueue_pop(&v, &chain) == 1);
	CHECK(in_order(LOAD, &d.avail->idx, RMB, LOAD, &d.avail->ring[0]));
	CHECK(in_order(LOAD, &d.avail->idx, RMB, LOAD, &d.desc[chain.head].addr));
	CHECK(in_order(STORE, &d.book->taken[chain.head], WMB, STORE, &d.book->next));
	CHECK(loads(&d.avail->idx) == 1 && loads(&d.avail->ring[0]) == 1);
	CHECK(loads(&d.desc[chain.head].addr) == 1 && loads(&d.desc[chain.head].len) == 1);
	CHECK(loads(&d.desc[chain.head].flags) == 1 && loads(&d.desc[chain.head].next) == 1);
	count = 0;
	vqueue_unpop(&v, &chain);
	CHECK(in_order(STORE, &d.book->next, WMB, STORE, &d.book->taken[chain.head]));
	CHECK(vqueue_pop(&v, &chain) == 1);
}

static void completing(u64 features)
{
	struct vring_used_elem *elem = &d.used->ring[0];
	struct shimos_virtio_ring_state *s = d.book;
	void *event = features & FEATURE_EVENT ? (void *)&d.avail->ring[d.size] :
						 (void *)&d.avail->flags;

	count = 0;
	complete_one(&v, chain.head, 1);
	CHECK(in_order(STORE, &elem->id, WMB, STORE, &d.used->idx));
	CHECK(in_order(STORE, &elem->len, WMB, STORE, &d.used->idx));
	CHECK(in_order(STORE, &s->completing_at, WMB, STORE, &s->completing));
	CHECK(in_order(STORE, &s->completing, WMB, STORE, &s->taken[chain.head]));
	CHECK(in_order(STORE, &s->taken[chain.head], WMB, STORE, &d.used->idx));
	vqueue_must_notify(&v);
	CHECK(in_order(STORE, &d.used->idx, MB, LOAD, event));
}

static void waiting(u64 features)
{
	void *event = features & FEATURE_EVENT ? (void *)&d.used->ring[d.size] :
						 (void *)&d.used->flags;

	count = 0;
	vqueue_enable_notify(&v);
	CHECK(in_order(STORE, event, MB, LOAD, &d.avail->idx));
}

/* The owner died when it had taken the driver's second request and not counted it. */
static void recovering(void)
{
	int head = driver_add(&d, 2, 1, false);
	struct dead_ring r = {
		.desc = d.desc,
		.avail = d.avail,
		.used = d.used,
		.state = d.book,
		.size = d.size,
	};
	u32 written;

	MUST(head >= 0);
	d.book->taken[head] = 1;
	count = 0;
	recover_fail_taken(&r);
	CHECK(in_order(LOAD, &d.avail->idx, RMB, LOAD, &d.avail->ring[1]));
	CHECK(in_order(STORE, &d.used->ring[1].id, WMB, STORE, &d.used->idx));
	while (driver_get(&d, &written) >= 0)
		;
	MUST(driver_add(&d, 2, 1, false) >= 0);
	count = 0;
	recover_fail_available(&r);
	CHECK(in_order(LOAD, &d.avail->idx, RMB, LOAD, &d.avail->ring[2]));
	CHECK(in_order(STORE, &d.used->ring[2].id, WMB, STORE, &d.used->idx));
	CHECK(in_order(STORE, &d.used->ring[d.size], MB, LOAD, &d.avail->idx));
}

void test_order(void)
{
	static const u64 features[] = { 0, FEATURE_EVENT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		driver_open(&d, 8, features[i], 0);
		driver_attach(&d, &v, 0);
		CHECK(driver_add(&d, 2, 1, false) >= 0);
		watch = (struct watch){ loaded, storing, barrier };
		taking(features[i]);
		completing(features[i]);
		waiting(features[i]);
		recovering();
		watch = (struct watch){};
		driver_close(&d);
	}
}
