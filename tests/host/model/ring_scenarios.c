// SPDX-License-Identifier: GPL-2.0
/*
 * The ring: a producer that sleeps when there is no room, a consumer that sleeps
 * when there is nothing.  Messages must arrive once, in order and whole, and
 * neither may sleep for ever.
 */
#include <string.h>
#include "explore.h"
#include "ring.h"

#define SLOT_SIZE	32
#define MAX_SLOTS	4

/* Parameters of a scenario. */
#define SLOTS(s)	((s)->a)
#define MESSAGES(s)	((s)->b)
#define BATCH(s)	((s)->c)	/* messages per notification */
#define POLLS(s)	((s)->d)	/* looks at an empty ring before sleeping */
#define PUBLISH(s)	((s)->e)	/* reads per publication, if not the usual */

static union {
	struct ikc_ring ring;
	char bytes[IKC_RING_HEADER + MAX_SLOTS * SLOT_SIZE];
} area;

static struct { __u32 consumer, producer; } bell;

static struct {
	__u64 received;
	__u64 wishes, granted;			/* of the consumer */
	__u64 room_wishes, room_granted;	/* of the producer */
} note;

static void setup(const struct scenario *s)
{
	struct ikc_ring *ring = &area.ring;

	memset(&area, 0, sizeof(area));
	memset(&bell, 0, sizeof(bell));
	memset(&note, 0, sizeof(note));
	note.wishes = 1;	/* a new ring's, for the first packet */
	ikc_ring_init(ring, SLOTS(s), SLOT_SIZE);
	model_share(ikc_first_slot(ring), SLOTS(s) * SLOT_SIZE);
	model_share(&ring->room_event, sizeof(ring->room_event));
	model_share(&ring->tail, sizeof(ring->tail));
	model_share(&ring->event, sizeof(ring->event));
	model_share(&bell, sizeof(bell));
	/* for `shimos show` only */
	model_unread(&ring->head, sizeof(ring->head));
	model_unread(&ring->packets, 4 * sizeof(ring->packets));
}

/* Of one or two words, so that a wrong length shows as well. */
static __u32 message(__u64 n, __u64 *words)
{
	words[0] = n * 0x1000 + 1;
	words[1] = ~n << 8;
	return n % 2 ? 16 : 8;
}

static void notify(struct ikc_producer *p)
{
	if (!ikc_must_ring(p))
		return;
	model_note(&note.granted, 8, note.granted + 1);
	MODEL_CHECK(note.granted <= note.wishes, "a wish was granted twice");
	model_ring(&bell.consumer);
}

static void write_one(struct ikc_producer *p, __u64 n)
{
	__u64 words[2];
	__u32 len = message(n, words);
	int ret;

	while ((ret = ikc_ring_write(p, words, len))) {
		MODEL_CHECK(ret == -EAGAIN && !p->broken, "broken: producer");
		if (!model_misuse("producer"))
			notify(p);
		model_note(&note.room_wishes, 8, note.room_wishes + 1);
		if (ikc_wait_for_room(p))
			model_wait(&bell.producer);
		MODEL_CHECK(!p->broken, "broken: producer");
	}
}

/* From where an earlier producer has stopped, if there was one. */
static void producer(const struct scenario *s)
{
	struct ikc_producer p;

	MODEL_CHECK(!ikc_producer_init(&p, &area.ring, sizeof(area)), "no ring");
	notify(&p);
	while (p.head < MESSAGES(s)) {
		write_one(&p, p.head);
		if (p.head % BATCH(s) == 0)
			notify(&p);
	}
	notify(&p);
}

static void next_producer(const struct scenario *s)
{
	model_wait_for_victim();
	/* it cannot know which of the wishes were granted: once more does no harm */
	model_note(&note.wishes, 8, note.wishes + 1);
	producer(s);
}

static void ring_back(struct ikc_consumer *c)
{
	if (!ikc_must_ring_back(c) || model_misuse("consumer"))
		return;
	model_note(&note.room_granted, 8, note.room_granted + 1);
	MODEL_CHECK(note.room_granted <= note.room_wishes, "room was granted twice");
	model_ring(&bell.producer);
}

static int read_one(struct ikc_consumer *c)
{
	__u64 got[2] = { 0, 0 }, want[2];
	__u32 len = 0, bytes = message(c->tail, want);
	int ret = ikc_ring_read(c, got, sizeof(got), &len);

	if (ret == -EAGAIN)
		return ret;
	MODEL_CHECK(!ret && !c->broken, "broken: consumer");
	model_use_copies();
	MODEL_CHECK(len == bytes && !memcmp(got, want, len), "lost, stale or torn message");
	return 0;
}

static void consumer(const struct scenario *s)
{
	struct ikc_consumer c;
	unsigned int polls;

	ikc_consumer_init(&c, &area.ring, SLOTS(s), SLOT_SIZE);
	if (PUBLISH(s))
		c.batch = PUBLISH(s);
	while (c.tail < MESSAGES(s)) {
		for (polls = 0; polls <= POLLS(s); polls++) {
			while (c.tail < MESSAGES(s) && !read_one(&c))
				polls = 0;
			ring_back(&c);
			if (c.tail == MESSAGES(s))
				break;
		}
		if (c.tail == MESSAGES(s))
			break;
		model_note(&note.wishes, 8, note.wishes + 1);
		if (ikc_arm(&c)) {
			ring_back(&c);
			model_wait(&bell.consumer);
		} else {
			MODEL_CHECK(!c.broken, "broken: consumer");
		}
	}
	MODEL_CHECK(read_one(&c) == -EAGAIN, "a message too many");
	model_note(&note.received, 8, c.tail);
}

static void finish(const struct scenario *s)
{
	MODEL_CHECK(note.received == MESSAGES(s), "lost message");
}

#define RING(text, slots, messages, batch, polls, publish)		\
	{ .name = "ring: " text, .threads = 2, .victim = -1, .window = MODEL_WINDOW, \
	  .setup = setup, .thread = { producer, consumer }, .finish = finish, \
	  .a = slots, .b = messages, .c = batch, .d = polls, .e = publish }

#define RESUME(text, slots, messages, batch, publish)			\
	{ .name = "resume: " text, .threads = 3, .victim = 0, .window = MODEL_WINDOW, \
	  .setup = setup, .thread = { producer, consumer, next_producer }, \
	  .finish = finish, .a = slots, .b = messages, .c = batch, .e = publish }

const struct scenario ring_scenarios[] = {
	RING("2 slots, 3 messages", 2, 3, 1, 0, 0),
	RING("2 slots, 5 messages", 2, 5, 1, 0, 0),
	RING("2 slots, 5 messages, in batches of 2", 2, 5, 2, 0, 0),
	RING("2 slots, 5 messages, in batches of 3", 2, 5, 3, 0, 0),
	RING("2 slots, 5 messages, published by 2", 2, 5, 1, 0, 2),
	RING("2 slots, 4 messages, polling twice", 2, 4, 1, 2, 0),
	RING("3 slots, 5 messages", 3, 5, 1, 0, 0),
	RING("3 slots, 5 messages, in batches of 2", 3, 5, 2, 0, 0),
	RING("3 slots, 5 messages, polling once", 3, 5, 1, 1, 0),
	RING("3 slots, 6 messages, published by 3", 3, 6, 1, 0, 3),
	RING("4 slots, 7 messages, in batches of 3", 4, 7, 3, 0, 0),
	RESUME("2 slots, 3 messages", 2, 3, 1, 0),
	RESUME("3 slots, 4 messages, published by 3", 3, 4, 1, 3),
	RESUME("3 slots, 4 messages, in batches of 2", 3, 4, 2, 0),
};
const unsigned int ring_scenario_count =
	sizeof(ring_scenarios) / sizeof(ring_scenarios[0]);
