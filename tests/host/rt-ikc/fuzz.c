// SPDX-License-Identifier: GPL-2.0
/*
 * The client in a world where anything may happen between its calls: first by the rules, where
 * no message may get lost and nobody may sleep on one; then a host that writes anything anywhere,
 * between the calls and during them.
 */
#include "test.h"

#define CHANNEL	4
#define OTHER	9
#define SLOTS	8
#define SIZE	64

static struct host_end end;

/* ---- by the rules ---- */

#define MESSAGES	3000

static struct {
	uint64_t sent, got;
	bool asleep;		/* waits to be rung */
} client, host;

/* What the host's program sends; then it may want to sleep until there is room. */
static void host_turn(void)
{
	uint64_t number;
	unsigned int n;

	for (n = random_below(2 * SLOTS); n && host.sent < MESSAGES; n--) {
		if (!host_write(&end, &host.sent, 8))
			break;
		host.sent++;
	}
	if (ikc_must_ring(&end.out)) {
		ikc_fetch_or64(&host_entry(NUMBER)->pending[HOST].queues,
			       1ULL << (IKC_FIRST_CHANNEL + CHANNEL));
		client.asleep = false;
	}
	for (n = random_below(2 * SLOTS); n; n--) {
		if (host_read(&end, &number, 8) != 8)
			break;
		MUST(number == host.got);
		host.got++;
	}
	if (random_below(2) || n) {
		bool quiet = ikc_arm(&end.in);
		bool full = host.sent == MESSAGES || ikc_wait_for_room(&end.out);

		host.asleep = quiet && full;
	}
	if (ikc_must_ring_back(&end.in))
		client.asleep = false;
}

static void client_turn(void)
{
	bool more = board_ikc_serve(), full;
	uint64_t number;
	unsigned int n;
	uint32_t len;

	for (n = random_below(2 * SLOTS); n; n--) {
		if (board_ikc_read(CHANNEL, &number, 8, &len))
			break;
		MUST(len == 8 && number == client.got);
		client.got++;
	}
	for (n = random_below(2 * SLOTS); n && client.sent < MESSAGES; n--) {
		if (board_ikc_write(CHANNEL, &client.sent, 8))
			break;
		client.sent++;
	}
	if (random_below(2))
		board_ikc_notify(CHANNEL);
	if (random_below(2) || more)
		return;
	/* all that it has written it has told of, or waits for room */
	full = client.sent == MESSAGES || board_ikc_wait_for_room(CHANNEL);
	board_ikc_notify(CHANNEL);
	client.asleep = board_ikc_arm(CHANNEL) && full;
}

void fuzz_talk(__u64 seed)
{
	unsigned int turns = 0, rung = 0;
	__u64 *pending;

	random_seed(seed);
	client_join();
	MUST(!board_ikc_open(CHANNEL, OTHER, SLOTS, SIZE));
	MUST(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&end));
	pending = &host_entry(HOST)->pending[NUMBER].queues;
	while (client.got < MESSAGES || host.got < MESSAGES) {
		MUST(!client.asleep || !host.asleep);
		MUST(++turns < 100 * MESSAGES);
		if (!client.asleep && (host.asleep || random_below(2)))
			client_turn();
		else
			host_turn();
		/* rung for what it did not open it goes on sleeping; the bit alone rings nobody */
		if (board.rung == rung)
			continue;
		rung = board.rung;
		if (ikc_fetch_andnot64(pending, ~0ULL) &
		    (1ULL << (IKC_FIRST_CHANNEL + CHANNEL) | 1ULL << (IKC_FIRST_CHANNEL + OTHER)))
			host.asleep = false;
	}
	CHECK(client.sent == MESSAGES && host.sent == MESSAGES);
}

/* ---- by no rules ---- */

#define STEPS	20000

/* Words that mean something, in places where they do not. */
static __u32 spiteful(void)
{
	switch (random_below(10)) {
	case 0:
		return random_u64();
	case 1:
		return ~0U - random_below(2);
	case 2:
		return random_below(2);
	case 3:
		return ikc_owner(random_below(2) ? NUMBER : HOST, random_below(2) ? LIFE : HOST_LIFE);
	case 4:
		return random_below(2 * IKC_SPANS) << IKC_SPAN_SHIFT;
	case 5:
		return random_below(2 * IKC_CHUNK_SIZE) & ~4095U;
	case 6:
		return IKC_RING_MAGIC;
	case 7:
		return random_below(2) ? HOST_LIFE : LIFE;
	case 8:
		return 1U << random_below(32);
	default:
		return random_below(70);
	}
}

/* A place that the client looks at: most of the area is none. */
static __u32 *somewhere(void)
{
	struct ikc_chunk *chunk = world.heap.chunk[random_below(world.heap.mapped)];
	unsigned int channel = random_below(IKC_CHANNELS);
	__u32 ring;

	switch (random_below(8)) {
	case 0:
		return (__u32 *)host_entry(HOST) + random_below(sizeof(struct ikc_kernel) / 4);
	case 1:
		return (__u32 *)host_entry(NUMBER) + random_below(sizeof(struct ikc_kernel) / 4);
	case 2:
		return (__u32 *)world.area + random_below(1024);
	case 3:
		return (__u32 *)port_to_client(channel) + random_below(4);
	case 4:
		return (__u32 *)port_to_host(channel) + random_below(4);
	case 5:
		return (__u32 *)chunk + random_below(sizeof(*chunk) / 4);
	case 6:
		ring = READ_ONCE(port_to_client(random_below(2) ? CHANNEL : IKC_ECHO_CHANNEL)->ring);
		break;
	default:
		ring = READ_ONCE(port_to_host(OTHER)->ring);
	}
	if (ring / IKC_CHUNK_SIZE >= world.heap.mapped)
		ring = IKC_RESERVED_SPANS * IKC_SPAN_SIZE;
	ring = (ring % IKC_CHUNK_SIZE & ~4095U) + random_below(1024) * 4;
	return (__u32 *)((char *)world.heap.chunk[ring / IKC_CHUNK_SIZE] + ring % IKC_CHUNK_SIZE);
}

/* Whatever it did to the area, the client's own things are as they were. */
static void client_is_sane(void)
{
	MUST(board_area.number == NUMBER && board_area.life == LIFE);
	MUST(board_area.host <= UINT16_MAX);
	MUST(board_area.heap.mapped <= world.heap.mapped);
	MUST(board_area.heap.chunks <= board_area.heap.mapped);
}

static void client_step(void)
{
	unsigned int channel = CHANNEL + random_below(2);
	uint8_t data[SIZE];
	uint32_t len = 0;
	int ret;

	switch (random_below(8)) {
	case 0:
	case 1:
		ret = board_ikc_read(channel, data, random_below(2) ? sizeof(data) : 0, &len);
		MUST(ret <= 0 && len <= sizeof(data));
		if (ret == -EPIPE || (ret == -EBADMSG && random_below(2)))
			MUST(!board_ikc_next(channel));
		break;
	case 2:
		MUST(board_ikc_write(channel, data, random_below(sizeof(data))) <= 0);
		break;
	case 3:
		board_ikc_notify(channel);
		board_ikc_wait_for_room(channel);
		break;
	case 4:
		board_ikc_arm(channel);
		break;
	default:
		board_ikc_serve();
	}
	client_is_sane();
}

/* What a program of the host's does, however the area looks like. */
static void host_step(void)
{
	struct ikc_echo_message message = {
		.op = random_below(4), .channel = random_below(IKC_CHANNELS + 2)
	};

	switch (random_below(6)) {
	case 0:
		if (end.out_offset)
			host_send(&end, &message, random_below(sizeof(message) + 1));
		break;
	case 1:
		if (end.in_offset)
			host_read(&end, &message, sizeof(message));
		break;
	case 2:
		host_open(&end, OTHER, random_below(2) ? CHANNEL : IKC_ECHO_CHANNEL, SLOTS, SIZE);
		if (host_connect(&end))
			end.out_offset = 0;
		break;
	case 3:
		if (world.heap.mapped < 4)
			world_grow();
		break;
	default:
		host_poke();
	}
}

static void begin(__u64 seed)
{
	random_seed(seed);
	client_join();
	MUST(!board_ikc_open(CHANNEL, OTHER, SLOTS, SIZE));
	MUST(!board_ikc_open(CHANNEL + 1, OTHER + 1, SLOTS, SIZE));
	board.hostile = true;
}

void fuzz_between(__u64 seed)
{
	unsigned int i, n;

	begin(seed);
	for (i = 0; i < STEPS; i++) {
		if (!random_below(3))
			host_step();
		for (n = random_below(4); n; n--)
			WRITE_ONCE(*somewhere(), spiteful());
		/* so that it gets further than to find the host gone */
		if (!random_below(4)) {
			world.area->facts[HOST].state = IKC_UP;
			world.area->facts[HOST].life = host_entry(HOST)->ready = HOST_LIFE;
		}
		client_step();
	}
	CHECK(true);
}

void fuzz_beside(__u64 seed)
{
	struct vandal v = { .value = spiteful, .seed = seed + 1 };
	unsigned int i, n;
	__u32 *chunk;

	begin(seed);
	chunk = (__u32 *)world.heap.chunk[0];
	for (i = 0; i < 12; i++) {
		/* the chunk's own words, the table, the ports, what can be given; all of it */
		const struct { unsigned int first, spans; } where[] = {
			{ 0, 1 }, { IKC_AREA_SPAN, 1 }, { IKC_PORTS_SPAN, 4 },
			{ IKC_RESERVED_SPANS, IKC_SPANS - IKC_RESERVED_SPANS }, { 0, IKC_SPANS },
		};

		n = i % ARRAY_SIZE(where);
		v.words = chunk + where[n].first * IKC_SPAN_SIZE / 4;
		v.count = where[n].spans * IKC_SPAN_SIZE / 4;
		vandal_start(&v);
		for (n = 0; n < STEPS / 20; n++) {
			host_poke();
			client_step();
		}
		vandal_stop(&v);
		v.seed += 2;
	}
	CHECK(true);
}
