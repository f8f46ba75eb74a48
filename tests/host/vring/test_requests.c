// SPDX-License-Identifier: GPL-2.0
/* A device and a driver that behave: requests, the book, who wakes whom. */
#include "test.h"

#define REQUESTS	200000		/* positions wrap around three times */

static struct driver d;
static struct vqueue v;
static struct vqueue_chain chain;
static unsigned int taken_count;
static u16 taken[SHIMOS_VIRTIO_RING];	/* by the device, not completed */
static u16 order[SHIMOS_VIRTIO_RING];	/* completed, not seen by the driver */
static u32 order_written[SHIMOS_VIRTIO_RING];
static unsigned int order_first, order_count;

static void check_chain(void)
{
	struct request *r = &d.request[chain.head];
	unsigned int i;

	MUST(chain.head < d.size && r->outstanding);
	MUST(chain.out == r->out && chain.in == r->in);
	for (i = 0; i < r->out + r->in; i++) {
		MUST(chain.seg[i].len == r->part[i].len);
		MUST(chain.seg[i].data ==
		     user_memory_at(&d.memory, r->part[i].addr, r->part[i].len));
	}
}

/* The owner's book says what has been taken, and nothing else. */
static void check_book(u16 position)
{
	unsigned int i, count = 0;

	MUST(d.book->next == position);
	MUST(!d.book->completing);
	for (i = 0; i < taken_count; i++)
		MUST(d.book->taken[taken[i]] == 1);
	for (i = 0; i < SHIMOS_VIRTIO_RING; i++)
		count += d.book->taken[i];
	MUST(count == taken_count);
}

static bool add(void)
{
	bool indirect = d.features & FEATURE_INDIRECT && random_below(2);
	unsigned int out = random_below(MAX_PARTS), in = random_below(MAX_PARTS - out + 1);

	if (!(out + in))
		in = 1;
	return driver_add(&d, out, in, indirect) >= 0;
}

static void put(void)
{
	unsigned int i = random_below(taken_count);
	u32 written = random_u64();
	u16 head = taken[i];

	taken[i] = taken[--taken_count];
	vqueue_push_used(&v, head, written);
	order[(order_first + order_count) % d.size] = head;
	order_written[(order_first + order_count++) % d.size] = written;
}

/* One or several, of which none is seen before the last. */
static void complete(void)
{
	u16 idx = d.used->idx;

	do
		put();
	while (taken_count && !random_below(4));
	MUST(d.used->idx == idx);
	vqueue_publish_used(&v);
}

/* They come in the order in which they were completed, each once. */
static void get(void)
{
	u32 written;
	int head = driver_get(&d, &written);

	MUST((head < 0) == !order_count);
	if (head < 0)
		return;
	MUST(head == order[order_first] && written == order_written[order_first]);
	order_first = (order_first + 1) % d.size;
	order_count--;
}

static bool take(void)
{
	u16 avail = d.avail->idx, before = v.taken;
	int ret = vqueue_pop(&v, &chain);

	MUST(ret == (avail != before));
	if (ret)
		check_chain();
	return ret;
}

static void take_back(void)
{
	u16 position = v.taken;

	taken[taken_count++] = chain.head;
	check_book(position);
	taken_count--;
	vqueue_unpop(&v, &chain);
	MUST(v.taken == (u16)(position - 1));
}

static void run(u32 size, u64 features, u16 position, unsigned int requests)
{
	unsigned int n = 0;

	driver_open(&d, size, features, position);
	driver_attach(&d, &v, position);
	taken_count = order_count = order_first = 0;
	while (n < requests || d.outstanding) {
		MUST(vqueue_has_more(&v) == (d.made != v.taken));
		switch (random_below(5)) {
		case 0:
			n += n < requests && add();
			break;
		case 1:
			if (take())
				taken[taken_count++] = chain.head;
			break;
		case 2:
			if (take())
				take_back();
			break;
		case 3:
			if (taken_count)
				complete();
			break;
		default:
			get();
		}
		check_book(v.taken);
	}
	MUST(d.made == v.taken && v.completed == d.seen && v.taken == v.completed);
	driver_close(&d);
}

void test_requests(u64 seed)
{
	static const u64 features[] = {
		0, FEATURE_EVENT, FEATURE_INDIRECT, FEATURE_EVENT | FEATURE_INDIRECT,
	};
	unsigned int f;
	u32 size;

	random_seed(seed);
	for (f = 0; f < ARRAY_SIZE(features); f++)
		for (size = 1; size <= SHIMOS_VIRTIO_RING; size *= 4)
			run(size, features[f], 65536 - random_below(400), 500);
	run(8, features[3], 0, REQUESTS);
	CHECK(true);
}

/* ---- who wakes whom ---- */

/*
 * Both sides sleep when they find nothing and are woken only when the other says
 * that it must: neither may sleep while there is work for it.
 */
static void converse(u64 features, u16 position)
{
	bool device_sleeps = false, driver_sleeps = false;
	unsigned int i, kicks = 0, calls = 0, n = 0, done = 0;
	u32 written;

	driver_open(&d, 16, features, position);
	driver_attach(&d, &v, position);
	driver_wait(&d);
	for (i = 0; n < REQUESTS || d.outstanding; i++) {
		if (n < REQUESTS && random_below(2) && add()) {
			n++;
			if (random_below(3) && driver_must_kick(&d)) {
				kicks++;
				device_sleeps = false;
			}
		} else if (d.told != d.made && driver_must_kick(&d)) {
			kicks++;
			device_sleeps = false;
		}
		if (!device_sleeps && random_below(2)) {
			vqueue_disable_notify(&v);
			while (random_below(8) && vqueue_pop(&v, &chain) > 0)
				complete_one(&v, chain.head, 0);
			if (v.called != v.completed && vqueue_must_notify(&v)) {
				calls++;
				driver_sleeps = false;
			}
			if (random_below(2))
				device_sleeps = vqueue_enable_notify(&v);
		}
		if (!driver_sleeps && random_below(2)) {
			driver_poll(&d);
			while (driver_get(&d, &written) >= 0)
				done++;
			driver_sleeps = !driver_wait(&d);
		}
		MUST(!device_sleeps || d.told != d.made || !vqueue_has_more(&v));
		MUST(!driver_sleeps || v.called != v.completed || d.seen == d.used->idx);
	}
	MUST(done == REQUESTS && d.made == d.seen && v.taken == v.completed);
	/* each is told less often than there are requests */
	CHECK(kicks && kicks < REQUESTS * 9 / 10);
	CHECK(calls && calls < REQUESTS * 9 / 10);
	driver_close(&d);
}

/* What must be suppressed, and what not, one after the other. */
static void count_wakeups(u64 features)
{
	bool event = features & FEATURE_EVENT;
	u16 first;

	driver_open(&d, 4, features, 65534);
	driver_attach(&d, &v, 65534);
	CHECK(vqueue_enable_notify(&v));
	CHECK(driver_add(&d, 1, 1, false) >= 0 && driver_must_kick(&d));
	CHECK(!vqueue_enable_notify(&v));		/* there is something already */
	vqueue_disable_notify(&v);
	CHECK(vqueue_pop(&v, &chain) == 1);
	first = chain.head;
	CHECK(driver_add(&d, 1, 1, false) >= 0);
	CHECK(!driver_must_kick(&d));
	CHECK(!event || !d.used->flags);	/* they mean nothing, and stay 0 */
	CHECK(vqueue_pop(&v, &chain) == 1);
	CHECK(vqueue_enable_notify(&v));
	driver_wait(&d);
	complete_one(&v, first, 0);
	CHECK(vqueue_must_notify(&v));
	driver_poll(&d);
	CHECK(!event || !vqueue_must_notify(&v));	/* nothing since */
	complete_one(&v, chain.head, 0);
	CHECK(!vqueue_must_notify(&v));
	driver_close(&d);
}

void test_wakeups(u64 seed)
{
	random_seed(seed);
	converse(FEATURE_EVENT, 0);
	converse(FEATURE_EVENT | FEATURE_INDIRECT, 65500);
	converse(0, 40000);
	count_wakeups(0);
	count_wakeups(FEATURE_EVENT);
}
