// SPDX-License-Identifier: GPL-2.0
/* When the ring asks for doorbells, and what it counts. */
#include "test.h"

#define SLOTS	32	/* published every 8 packets */

static struct ikc_ring *ring;
static struct ikc_producer p;
static struct ikc_consumer c;

static void open_ring(void)
{
	__u64 bytes = ikc_ring_bytes(SLOTS, 16);

	ring = exact_alloc(bytes);
	ikc_ring_init(ring, SLOTS, 16);
	ikc_consumer_init(&c, ring, SLOTS, 16);
	CHECK(ikc_producer_init(&p, ring, bytes) == 0);
}

static int put(void)
{
	__u64 data = 1;

	return ikc_ring_write(&p, &data, sizeof(data));
}

static int get(void)
{
	__u64 data;
	__u32 len;

	return ikc_ring_read(&c, &data, sizeof(data), &len);
}

static void test_wishes(void)
{
	open_ring();
	CHECK(!ikc_must_ring(&p));		/* nothing was written */
	CHECK(!put() && ikc_must_ring(&p));	/* the new ring's own wish */
	CHECK(!ikc_must_ring(&p));		/* granted */
	CHECK(!put() && !ikc_must_ring(&p));	/* nobody asked */
	CHECK(!ikc_arm(&c));			/* there are some */
	CHECK(!get() && !get() && get() == -EAGAIN);
	CHECK(ikc_arm(&c));
	CHECK(ikc_arm(&c));			/* woken for nothing */
	CHECK(!put() && !put() && !put() && ikc_must_ring(&p));
	CHECK(!put() && !ikc_must_ring(&p));
	while (!get())
		;
	CHECK(ikc_arm(&c));
	CHECK(!put() && !get());		/* read before the notification */
	CHECK(ikc_must_ring(&p));		/* it cannot know */
	CHECK(!put() && !ikc_must_ring(&p));

	CHECK(ring->packets == p.head && p.head == 8);
	CHECK(ring->rung == 3 && p.rung == 3);
	CHECK(ring->saved == 3 && p.saved == 3);
	CHECK(ring->full == 0);
	free(ring);
}

static void test_batch(void)
{
	unsigned int i;

	open_ring();
	CHECK(c.batch == 8);
	for (i = 0; i < SLOTS; i++)
		CHECK(!put());
	for (i = 1; i <= 15; i++) {
		CHECK(!get());
		CHECK(ring->tail == i / 8 * 8);
	}
	while (!get())
		;
	CHECK(ring->tail == SLOTS);
	CHECK(!put() && !get() && ring->tail == SLOTS);
	CHECK(ikc_arm(&c) && ring->tail == SLOTS + 1);	/* who sleeps keeps nothing */
	free(ring);
}

static void test_room(void)
{
	unsigned int i;

	open_ring();
	while (!put())
		;
	CHECK(p.head == SLOTS && put() == -EAGAIN);
	CHECK(ring->full == 2 && p.full == 2);
	CHECK(ikc_wait_for_room(&p));
	CHECK(ring->head == SLOTS);
	for (i = 0; i < SLOTS / 2 - 1; i++) {
		CHECK(!get());
		CHECK(!ikc_must_ring_back(&c));
	}
	CHECK(!get() && ikc_must_ring_back(&c));	/* half is free */
	CHECK(!ikc_must_ring_back(&c));			/* granted */
	CHECK(ikc_has_room(&p));
	for (i = 0; i < SLOTS / 2; i++)
		CHECK(!put());
	CHECK(put() == -EAGAIN);
	while (!get())
		;
	CHECK(!ikc_must_ring_back(&c));			/* nobody waits now */
	CHECK(!ikc_wait_for_room(&p));			/* there is room */
	CHECK(!put());

	/* not full at all: no reason to sleep, and no harm */
	CHECK(!ikc_wait_for_room(&p) && !put() && !p.broken);
	free(ring);
}

/* Where a bell is: hardware ids of APICs, x2APICs and arm64's MPIDR, and what they are rung by. */
static void test_places(void)
{
	static const __u64 cpus[] = { 0, 1, 0xff, 0x100, 0xffffffff, 0x81000f0f01, 0xff00ffffff };
	static const __u32 vectors[] = { 8, 15, 0xef, 0x7fff };
	unsigned int i, j;

	for (i = 0; i < sizeof(cpus) / sizeof(*cpus); i++)
		for (j = 0; j < sizeof(vectors) / sizeof(*vectors); j++) {
			__u64 place = SHIMOS_BELL(cpus[i], vectors[j]);

			CHECK(place & SHIMOS_BELL_READY);
			CHECK(SHIMOS_BELL_CPU(place) == cpus[i]);
			CHECK(SHIMOS_BELL_VECTOR(place) == vectors[j]);
		}
	/* the table holds them in full */
	CHECK(sizeof(((struct ikc_facts *)0)->cpu[0]) == sizeof(__u64));
	CHECK(sizeof(((struct ikc_kernel *)0)->bell[0]) == sizeof(__u64));
}

void test_doorbell(void)
{
	test_places();
	test_wishes();
	test_batch();
	test_room();
}
