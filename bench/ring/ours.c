// SPDX-License-Identifier: GPL-2.0
/*
 * kernel/ikc/ring.h as programs use it.  "asked" means that ikc_must_ring() is
 * asked after each packet (or batch), as everybody must whose peer may sleep; it
 * never does here, and the other queues have no such thing.
 */
#include <stdlib.h>

#include "ring.h"

#include "measure.h"

struct pair {
	struct ikc_producer there __attribute__((aligned(128)));
	struct ikc_consumer answer __attribute__((aligned(128)));
	struct ikc_consumer here __attribute__((aligned(128)));
	struct ikc_producer back __attribute__((aligned(128)));
	uint64_t bells __attribute__((aligned(128)));	/* near's */
	uint64_t bells_back __attribute__((aligned(128)));	/* far's */
};

static int make_ring(struct ikc_producer *p, struct ikc_consumer *c, unsigned slots, unsigned slot_size)
{
	uint64_t bytes = ikc_ring_bytes(slots, slot_size);
	/* as in the shared area: whole pages */
	struct ikc_ring *ring = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!ring)
		return -1;
	memset(ring, 0, bytes);
	ikc_ring_init(ring, slots, slot_size);
	ikc_consumer_init(c, ring, slots, slot_size);
	return ikc_producer_init(p, ring, bytes);
}

static void *make(unsigned slots, unsigned slot_size)
{
	struct pair *q = aligned_alloc(128, sizeof(*q));

	if (!q || make_ring(&q->there, &q->here, slots, slot_size) ||
	    make_ring(&q->back, &q->answer, slots, slot_size))
		return NULL;
	q->bells = q->bells_back = 0;
	return q;
}

static void *make64(unsigned slots)
{
	return make(slots, 64);
}

static void *make16(unsigned slots)
{
	return make(slots, 16);
}

static inline __attribute__((always_inline))
void put(struct ikc_producer *p, const void *data, uint32_t size)
{
	while (ikc_ring_write(p, data, size))
		wait_a_bit();
}

static inline __attribute__((always_inline))
void get(struct ikc_consumer *c, void *data, uint32_t size)
{
	uint32_t len;

	while (ikc_ring_read(c, data, size, &len))
		wait_a_bit();
}

static inline __attribute__((always_inline)) void tell(struct ikc_producer *p, uint64_t *bells)
{
	if (ikc_must_ring(p))
		++*bells;	/* here a program would call the kernel */
}

/* ---- there and back, with the 48 bytes of a packet ---- */

static inline __attribute__((always_inline)) void ping_near(struct pair *q, uint64_t n, bool asked)
{
	struct ikc_packet packet = { 0 };

	for (uint64_t i = 0; i < n; i++) {
		packet.data = i;
		put(&q->there, &packet, sizeof(packet));
		if (asked)
			tell(&q->there, &q->bells);
		get(&q->answer, &packet, sizeof(packet));
	}
}

static inline __attribute__((always_inline))
void ping_far(struct pair *q, uint64_t n, struct sums *s, bool asked)
{
	struct ikc_packet packet;

	for (uint64_t i = 0; i < n; i++) {
		get(&q->here, &packet, sizeof(packet));
		put(&q->back, &packet, sizeof(packet));
		if (asked)
			tell(&q->back, &q->bells_back);
		word_check(s, packet.data, i);
	}
}

static void ping_near_unasked(void *q, uint64_t n)
{
	ping_near(q, n, false);
}

static void ping_far_unasked(void *q, uint64_t n, struct sums *s)
{
	ping_far(q, n, s, false);
}

static void ping_near_asked(void *q, uint64_t n)
{
	ping_near(q, n, true);
}

static void ping_far_asked(void *q, uint64_t n, struct sums *s)
{
	ping_far(q, n, s, true);
}

/* ---- one way ---- */

/* @every: how many messages ikc_must_ring() is asked about at once, 0: never */
static inline __attribute__((always_inline)) void send(struct pair *q, uint64_t n, unsigned every)
{
	struct message m;

	for (uint64_t i = 0; i < n; i++) {
		message_fill(&m, i);
		put(&q->there, &m, sizeof(m));
		if (every && (i + 1) % every == 0)
			tell(&q->there, &q->bells);
	}
	tell(&q->there, &q->bells);
}

static void send_unasked(void *q, uint64_t n)
{
	send(q, n, 0);
}

static void send_asked(void *q, uint64_t n)
{
	send(q, n, 1);
}

static void send_batches(void *q, uint64_t n)
{
	send(q, n, BATCH);
}

static void receive(void *queue, uint64_t n, struct sums *s)
{
	struct pair *q = queue;
	struct sums sums = *s;
	struct message m;

	for (uint64_t i = 0; i < n; i++) {
		get(&q->here, &m, sizeof(m));
		message_check(&sums, &m, i);
	}
	*s = sums;
}

static void send_words(void *queue, uint64_t n)
{
	struct pair *q = queue;

	for (uint64_t i = 0; i < n; i++)
		put(&q->there, &i, sizeof(i));
	tell(&q->there, &q->bells);
}

static void receive_words(void *queue, uint64_t n, struct sums *s)
{
	struct pair *q = queue;
	struct sums sums = *s;
	uint64_t word;

	for (uint64_t i = 0; i < n; i++) {
		get(&q->here, &word, sizeof(word));
		word_check(&sums, word, i);
	}
	*s = sums;
}

const struct contender ours_contenders[] = {
	{ "ours", PING, make64, ping_near_unasked, ping_far_unasked },
	{ "ours, asked", PING, make64, ping_near_asked, ping_far_asked },
	{ "ours", ONE, make64, send_unasked, receive },
	{ "ours, asked", ONE, make64, send_asked, receive },
	{ "ours, asked", BATCHES, make64, send_batches, receive },
	{ "ours", WORD, make16, send_words, receive_words },
	{ 0 },
};
