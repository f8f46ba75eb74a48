// SPDX-License-Identifier: GPL-2.0
/* The ring between two sides that keep the rules: geometry, order, sizes. */
#include "test.h"

static void test_geometry(void)
{
	struct ikc_ring *ring = exact_alloc(IKC_RING_HEADER + 4 * 64);
	__u64 bytes = IKC_RING_HEADER + 4 * 64;
	struct ikc_producer p;

	CHECK(sizeof(struct ikc_ring) <= IKC_RING_HEADER);
	CHECK(ikc_ring_bytes(2, 16) == IKC_RING_HEADER + 32);
	CHECK(ikc_ring_bytes(1, 16) == 0);
	CHECK(ikc_ring_bytes(0, 16) == 0);
	CHECK(ikc_ring_bytes(1 << 24, 16384) == IKC_RING_HEADER + (1ULL << 38));
	CHECK(ikc_ring_bytes((1 << 24) + 1, 16) == 0);
	CHECK(ikc_ring_bytes(~0U, 16) == 0);
	CHECK(ikc_ring_bytes(2, 0) == 0);
	CHECK(ikc_ring_bytes(2, 24) == 0);
	CHECK(ikc_ring_bytes(2, 16384 + 16) == 0);
	CHECK(ikc_ring_fit(IKC_RING_HEADER - 1, 64) == 0);
	CHECK(ikc_ring_fit(bytes, 64) == 4);
	CHECK(ikc_ring_fit(bytes - 1, 64) == 3);
	CHECK(ikc_slot_room(16) == 8);

	CHECK(ikc_producer_init(&p, ring, bytes) == -EPROTO);
	ikc_ring_init(ring, 4, 64);
	CHECK(ikc_producer_init(&p, ring, bytes) == 0);
	CHECK(ikc_producer_init(&p, ring, bytes - 1) == -EPROTO);
	ring->slots = 5;
	CHECK(ikc_producer_init(&p, ring, bytes) == -EPROTO);
	ring->slots = ~0U;
	CHECK(ikc_producer_init(&p, ring, ~0ULL) == -EPROTO);
	ring->slots = 1;
	CHECK(ikc_producer_init(&p, ring, bytes) == -EPROTO);
	ring->slots = 4;
	ring->slot_size = 63;
	CHECK(ikc_producer_init(&p, ring, bytes) == -EPROTO);
	ring->slot_size = 64;
	ring->magic++;
	CHECK(ikc_producer_init(&p, ring, bytes) == -EPROTO);
	free(ring);
}

static void fill(__u8 *data, __u32 len, __u64 n)
{
	__u32 i;

	for (i = 0; i < len; i++)
		data[i] = n * 7 + i;
}

struct pair {
	struct ikc_ring *ring;
	struct ikc_producer p;
	struct ikc_consumer c;
};

static void open_pair(struct pair *t, __u32 slots, __u32 slot_size)
{
	__u64 bytes = ikc_ring_bytes(slots, slot_size);

	t->ring = exact_alloc(bytes);
	ikc_ring_init(t->ring, slots, slot_size);
	ikc_consumer_init(&t->c, t->ring, slots, slot_size);
	CHECK(ikc_producer_init(&t->p, t->ring, bytes) == 0);
}

static bool send_one(struct pair *t, __u64 n, __u32 len)
{
	__u8 data[IKC_MAX_SLOT_SIZE];

	fill(data, len, n);
	return !ikc_ring_write(&t->p, data, len);
}

static bool receive_one(struct pair *t, __u64 n, __u32 len)
{
	__u8 data[IKC_MAX_SLOT_SIZE], want[IKC_MAX_SLOT_SIZE];
	__u32 got = ~0U;

	fill(want, len, n);
	return !ikc_ring_read(&t->c, data, sizeof(data), &got) && got == len &&
	       !memcmp(data, want, len);
}

/* Many times around, in steps of changing width, up to full and down to empty. */
static void test_around(__u32 slots, __u32 slot_size, __u64 messages)
{
	__u32 room = ikc_slot_room(slot_size), len;
	__u64 sent = 0, received = 0, i, want;
	__u8 byte = 0;
	struct pair t;
	bool ok = true;

	open_pair(&t, slots, slot_size);
	while (received < messages) {
		want = 1 + (sent + received) % slots;
		for (i = 0; i < want && sent - received < slots; i++, sent++)
			ok &= send_one(&t, sent, sent % (room + 1));
		if (sent - received == slots && t.c.tail == t.c.published)
			ok &= ikc_ring_write(&t.p, &byte, 1) == -EAGAIN;
		want = 1 + received % slots;
		for (i = 0; i < want && received < sent; i++, received++)
			ok &= receive_one(&t, received, received % (room + 1));
		if (received == sent)
			ok &= ikc_ring_read(&t.c, &byte, 1, &len) == -EAGAIN;
		/* what was read counts as room only when it was published */
		ikc_publish(&t.c);
	}
	CHECK(ok);
	CHECK(!t.p.broken && !t.c.broken);
	CHECK(t.c.tail == received && t.p.head == sent);
	free(t.ring);
}

static void test_sizes(void)
{
	__u8 data[64] = { 0 };
	volatile __u32 much = ~0U;	/* gcc would warn of the copy */
	__u32 len = 77;
	struct pair t;

	open_pair(&t, 3, 64);
	CHECK(ikc_ring_write(&t.p, data, 57) == -EMSGSIZE);
	CHECK(ikc_ring_write(&t.p, data, much) == -EMSGSIZE);
	CHECK(t.p.head == 0);
	CHECK(send_one(&t, 1, 56));
	CHECK(ikc_ring_read(&t.c, data, 55, &len) == -EMSGSIZE);
	CHECK(len == 77 && !t.c.broken);
	CHECK(receive_one(&t, 1, 56));	/* it has stayed */
	CHECK(send_one(&t, 2, 0));
	CHECK(receive_one(&t, 2, 0));
	free(t.ring);
}

/* A lap of the 32-bit sequence numbers, without 2^32 messages before. */
static void test_seq_wraps(void)
{
	__u64 start = (1ULL << 32) - 8, n;
	struct pair t;
	bool ok = true;
	__u32 i;

	open_pair(&t, 5, 32);
	t.p.head = t.p.notified = t.c.tail = t.c.published = t.ring->tail = start;
	t.p.limit = start + 5;
	for (i = 0; i < 5; i++)	/* slots are visited from the first */
		((struct ikc_slot *)((char *)ikc_first_slot(t.ring) + i * 32))->seq =
			start + i + 1 - 5;
	for (n = start; n < start + 40; n++)
		ok &= send_one(&t, n, 8) && receive_one(&t, n, 8);
	CHECK(ok);
	free(t.ring);
}

/* A producer goes on where an earlier one has stopped, and rings for what it left. */
static void test_resume(void)
{
	__u64 bytes = ikc_ring_bytes(5, 32), sent = 0, received = 0, i;
	struct pair t;
	bool ok = true;

	open_pair(&t, 5, 32);
	for (i = 0; i < 200; i++) {
		while (sent - received < i % 6)
			ok &= send_one(&t, sent++, 8);
		if (i % 3)
			ikc_must_ring(&t.p);
		ok &= !ikc_producer_init(&t.p, t.ring, bytes);
		ok &= t.p.head == sent && ikc_has_room(&t.p) == (sent - received < 5);
		/* the consumer sleeps or is about to: there is something, or its wish counts */
		ok &= ikc_must_ring(&t.p) == (received < sent);
		while (received < sent)
			ok &= receive_one(&t, received++, 8);
		ok &= ikc_arm(&t.c);
	}
	CHECK(ok && sent > 300);
	free(t.ring);
}

/* What a hostile peer writes makes a side broken, for ever. */
static void test_broken(void)
{
	struct ikc_slot *slot;
	__u8 data[64];
	struct pair t;
	__u32 len, seq;

	for (seq = 2; seq < 9; seq++) {
		open_pair(&t, 4, 64);
		slot = t.c.slot;
		slot->seq = seq;
		CHECK(!ikc_arm(&t.c));
		CHECK(t.c.broken && t.c.bad_seq == seq);
		CHECK(ikc_ring_read(&t.c, data, 64, &len) == -EBADMSG);
		slot->seq = 0;
		CHECK(send_one(&t, 1, 8));
		CHECK(ikc_ring_read(&t.c, data, 64, &len) == -EBADMSG);
		CHECK(!ikc_arm(&t.c));
		free(t.ring);
	}
	open_pair(&t, 4, 64);
	CHECK(send_one(&t, 1, 8));
	t.c.slot->len = 57;
	CHECK(ikc_ring_read(&t.c, data, 64, &len) == -EBADMSG);
	t.c.slot->len = 8;
	CHECK(ikc_ring_read(&t.c, data, 64, &len) == -EBADMSG);
	free(t.ring);

	open_pair(&t, 4, 64);
	while (send_one(&t, 1, 8))
		;
	CHECK(!ikc_has_room(&t.p) && !t.p.broken);
	t.ring->tail = 5;
	CHECK(ikc_ring_write(&t.p, data, 8) == -EBADMSG);
	CHECK(!ikc_wait_for_room(&t.p));
	t.ring->tail = 2;
	CHECK(!ikc_has_room(&t.p));
	CHECK(ikc_ring_write(&t.p, data, 8) == -EBADMSG);
	CHECK(t.p.broken && t.p.head == 4);
	free(t.ring);
}

void test_ring(void)
{
	__u32 slots, size;

	test_geometry();
	for (size = IKC_MIN_SLOT_SIZE; size <= IKC_MAX_SLOT_SIZE; size += IKC_SLOT_ALIGN)
		test_around(3, size, 8);
	for (slots = 2; slots < 40; slots++)
		test_around(slots, 16 + slots % 3 * 16, 20 * slots);
	test_around(7, 48, 20000);
	test_around(1021, 16, 20000);
	test_sizes();
	test_seq_wraps();
	test_resume();
	test_broken();
}
