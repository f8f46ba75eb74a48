// SPDX-License-Identifier: GPL-2.0
/*
 * The ring with a peer that writes anything anywhere: both sides must stay
 * inside of the ring (ASan watches its end) and return, and see what is nonsense.
 * First between the calls, where it is known what they must answer, then by
 * another thread during them.
 */
#include "test.h"

#define STEPS		600000
#define STEPS_BESIDE	400000
#define REOPEN		200	/* steps until both sides start anew */
#define MAX_SLOTS	9
#define MAX_SLOT_SIZE	80

static struct ikc_ring *ring;
static __u32 slots, slot_size, words;
static struct ikc_producer p;
static struct ikc_consumer c;

/* What is near to right is what gets furthest. */
static __u32 spiteful(void)
{
	switch (random_below(8)) {
	case 0:
		return random_u64();
	case 1:
		return 0;
	case 2:
		return ~0U - random_below(3);
	case 3:
		return random_below(MAX_SLOT_SIZE + 2);
	case 4:
		return 1U << random_below(32);
	default:
		return READ_ONCE(p.head) + random_below(2 * MAX_SLOTS) - MAX_SLOTS;
	}
}

static void open_ring(void)
{
	__u64 bytes;

	free(ring);
	slots = IKC_MIN_SLOTS + random_below(MAX_SLOTS - 1);
	slot_size = 16 + random_below(5) * 16;
	bytes = ikc_ring_bytes(slots, slot_size);
	words = bytes / 4;
	ring = exact_alloc(bytes);
	ikc_ring_init(ring, slots, slot_size);
	ikc_consumer_init(&c, ring, slots, slot_size);
	MUST(!ikc_producer_init(&p, ring, bytes));
}

static bool inside(const struct ikc_slot *slot)
{
	__u64 at = (char *)slot - (char *)ikc_first_slot(ring);

	return at < (__u64)slots * slot_size && at % slot_size == 0;
}

/* @known: nobody writes during the call. */
static void write_some(bool known)
{
	__u8 data[MAX_SLOT_SIZE + 8] = { 1 };
	__u32 len = random_below(slot_size + 8);
	__u64 head = p.head, limit = p.limit, tail = READ_ONCE(ring->tail);
	bool was_broken = p.broken;
	int ret = ikc_ring_write(&p, data, len);

	MUST(inside(p.slot));
	MUST(p.head == head + !ret);
	MUST(ret == 0 || ret == -EAGAIN || ret == -EMSGSIZE || ret == -EBADMSG);
	MUST((ret == -EMSGSIZE) == (len > slot_size - 8));
	MUST(p.limit - p.head <= slots);
	MUST(!was_broken || p.broken);
	if (!known || ret == -EMSGSIZE)
		return;
	if (head != limit)
		MUST(!ret);
	else if (was_broken || tail < head - slots || tail > head)
		MUST(ret == -EBADMSG && p.broken);
	else
		MUST(ret == (tail + slots == head ? -EAGAIN : 0));
}

static int expected(__u32 size)
{
	__u32 seq = READ_ONCE(c.slot->seq), len = READ_ONCE(c.slot->len);

	if (c.broken)
		return -EBADMSG;
	if (seq == (__u32)(c.tail + 1))
		return len > slot_size - 8 ? -EBADMSG : len > size ? -EMSGSIZE : 0;
	return seq == (c.tail < slots ? 0 : (__u32)(c.tail + 1 - slots)) ? -EAGAIN : -EBADMSG;
}

static void read_some(bool known)
{
	__u32 size = random_below(4) ? slot_size : random_below(slot_size), len = 0;
	__u8 *data = malloc(size ? size : 1);
	__u64 tail = c.tail;
	int want = expected(size), ret;
	bool was_broken = c.broken;

	ret = ikc_ring_read(&c, data, size, &len);
	MUST(inside(c.slot));
	MUST(c.tail == tail + !ret);
	MUST(ret || len <= size);
	MUST((ret == -EBADMSG) == c.broken);
	MUST(!was_broken || c.broken);
	MUST(!known || ret == want);
	free(data);
}

static void step(bool known)
{
	int tail_want = expected(slot_size);
	bool armed, broken = c.broken;

	switch (random_below(10)) {
	case 0:
		armed = ikc_arm(&c);
		MUST(!armed || !c.broken);
		/* a length is looked at when it is read */
		MUST(!known || !armed || tail_want == -EAGAIN);
		break;
	case 1:
		ikc_must_ring(&p);
		break;
	case 2:
		MUST(!ikc_wait_for_room(&p) || !p.broken);
		break;
	case 3:
		ikc_must_ring_back(&c);
		break;
	case 4:
		MUST(!ikc_has_room(&p) || p.head != p.limit);
		break;
	case 5:
		ikc_publish(&c);
		break;
	case 6:
	case 7:
		read_some(known);
		break;
	default:
		write_some(known);
	}
	MUST(!broken || c.broken);
}

/* The next producer finds the ring as it was made, or refuses it. */
static void resume(void)
{
	struct ikc_producer next;

	if (ikc_producer_init(&next, ring, words * 4ULL) ||
	    next.slots != slots || next.slot_size != slot_size)
		return;
	MUST(next.ring == ring && inside(next.slot) && next.limit - next.head <= slots);
	p = next;
}

static void between(void)
{
	__u32 *word;
	unsigned int i, deaf = 0;

	for (i = 0; i < STEPS; i++) {
		if (i % REOPEN == 0) {
			open_ring();
			deaf = random_below(REOPEN);	/* peaceful until then */
		}
		if (!random_below(100))
			resume();
		if (i % REOPEN >= deaf && !random_below(3)) {
			word = (__u32 *)ring + random_below(words);
			if (random_below(4))
				*word = spiteful();
			else
				((__u8 *)word)[random_below(4)] = random_u64();
		}
		step(true);
	}
}

static void beside(__u64 seed)
{
	struct vandal v = { .value = spiteful, .seed = seed + 1 };
	unsigned int i, j;

	for (i = 0; i < STEPS_BESIDE / 4000; i++) {
		open_ring();
		v.words = (__u32 *)ring;
		v.count = words;
		vandal_start(&v);
		for (j = 0; j < 4000; j++) {
			if (j % REOPEN == 0) {	/* over the same memory */
				ikc_consumer_init(&c, ring, slots, slot_size);
				memset(&p, 0, sizeof(p));
				p.ring = ring;
				p.slot = ikc_first_slot(ring);
				p.end = ikc_slot_after(p.slot, (__u64)slots * slot_size);
				p.slots = p.limit = slots;
				p.slot_size = slot_size;
			}
			step(false);
		}
		vandal_stop(&v);
		v.seed += 2;
	}
}

/* A producer that attaches to nonsense refuses it or stays inside. */
static void attach(void)
{
	__u64 bytes;
	unsigned int i, n;

	for (i = 0; i < 20000; i++) {
		bytes = IKC_RING_HEADER + random_below(512);
		free(ring);
		ring = exact_alloc(bytes);
		ring->magic = IKC_RING_MAGIC;
		ring->slots = random_below(4) ? random_below(20) : spiteful();
		ring->slot_size = random_below(4) ? random_below(9) * 8 : spiteful();
		ring->tail = random_below(2) ? random_below(3) : spiteful() - 3ULL;
		if (ikc_producer_init(&p, ring, bytes))
			continue;
		slots = ring->slots;
		slot_size = ring->slot_size;
		MUST(ikc_ring_bytes(slots, slot_size) && inside(p.slot));
		if (slot_size <= MAX_SLOT_SIZE)
			for (n = 0; n < 3 * slots && !ikc_ring_write(&p, &p, slot_size - 8); n++)
				ring->tail = p.head - random_below(2);
	}
}

void fuzz_ring(__u64 seed)
{
	random_seed(seed);
	between();
	beside(seed);
	attach();
	free(ring);
	ring = NULL;
	CHECK(true);
}
