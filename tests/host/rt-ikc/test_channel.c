// SPDX-License-Identifier: GPL-2.0
/* Channels with programs of the host's that keep the rules. */
#include "test.h"

#define CHANNEL	4		/* the client's, */
#define OTHER	9		/* and the program's */
#define SLOTS	16
#define SIZE	64

static struct host_end end;

static void open_both(void)
{
	client_join();
	CHECK(!board_ikc_open(CHANNEL, OTHER, SLOTS, SIZE));
	CHECK(host_poked() && port_to_client(CHANNEL)->life == HOST_LIFE);
	CHECK(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&end));
	CHECK(settle());
}

static int client_read(uint64_t *number)
{
	uint32_t len = 0;
	int ret = board_ikc_read(CHANNEL, number, sizeof(*number), &len);

	MUST(ret || len == sizeof(*number));
	return ret;
}

static void read_some(unsigned int n)
{
	uint64_t number;

	while (n--)
		CHECK(!client_read(&number));
}

/* The room that it waits for is made by what is read before the client wants to sleep. */
static void ask_for_room_late(void)
{
	uint64_t number;

	while (!client_read(&number))
		;
	CHECK(board_ikc_arm(CHANNEL));
	while (host_send(&end, &number, sizeof(number)))
		;
	CHECK(ikc_wait_for_room(&end.out));
	read_some(5);
	CHECK(!board_ikc_arm(CHANNEL) && !host_heard(CHANNEL));
	read_some(3);
	CHECK(!host_heard(CHANNEL) && !board_ikc_arm(CHANNEL) && host_heard(CHANNEL));
	read_some(8);
}

void test_talk(void)
{
	uint64_t n, number = 0;

	open_both();
	CHECK(client_read(&number) == -EAGAIN && board_ikc_arm(CHANNEL));
	for (n = 0; n < 5 * SLOTS; n++) {
		/* the client sleeps: it is rung once, and for the first only */
		CHECK(host_send(&end, &n, sizeof(n)));
		CHECK(host_entry(NUMBER)->pending[HOST].queues);
		CHECK(settle() && !host_entry(NUMBER)->pending[HOST].queues);
		CHECK(!board_ikc_arm(CHANNEL));
		CHECK(!client_read(&number) && number == n);
		CHECK(client_read(&number) == -EAGAIN && board_ikc_arm(CHANNEL));

		CHECK(ikc_arm(&end.in));
		CHECK(!board_ikc_write(CHANNEL, &n, sizeof(n)) && !host_heard(OTHER));
		board_ikc_notify(CHANNEL);
		CHECK(host_heard(OTHER) && port_to_host(OTHER)->attached == end.in_offset);
		CHECK(host_read(&end, &number, 8) == 8 && number == n);
		board_ikc_notify(CHANNEL);
		CHECK(!host_heard(OTHER));
	}
	CHECK(board_ikc_rung(CHANNEL) == n);
	ikc_publish(&end.in);
	/* full: it is rung when half of it is free, for the room only */
	for (n = 0; !board_ikc_write(CHANNEL, &n, sizeof(n)); n++)
		;
	CHECK(n == SLOTS && board_ikc_write(CHANNEL, &n, sizeof(n)) == -EAGAIN);
	CHECK(board_ikc_wait_for_room(CHANNEL) && host_heard(OTHER) == false);
	while (host_read(&end, &number, 8) == 8)
		;
	ikc_publish(&end.in);
	CHECK(ikc_must_ring_back(&end.in) && !board_ikc_wait_for_room(CHANNEL));
	/* and the other way */
	for (n = 0; host_send(&end, &n, sizeof(n)); n++)
		;
	CHECK(n == SLOTS && ikc_wait_for_room(&end.out) && !host_heard(CHANNEL));
	for (n = 0; n < SLOTS; n++)
		CHECK(!client_read(&number) && number == n);
	CHECK(host_heard(CHANNEL) && ikc_has_room(&end.out));
	ask_for_room_late();
	CHECK(board_ikc_write(CHANNEL, &end, SIZE) == -EMSGSIZE);
	CHECK(host_send(&end, &end, 16));
	board.rung = 0;
	CHECK(ikc_arm(&end.in) && !board_ikc_write(CHANNEL, &n, 8) && !board.rung);
	board_ikc_notify(CHANNEL);
	CHECK(board.rung == 1);
	CHECK(board_ikc_read(CHANNEL, &number, 8, &(uint32_t) { 0 }) == -EMSGSIZE);
}

void test_misuse(void)
{
	uint64_t number;

	client_join();
	CHECK(board_ikc_open(IKC_ECHO_CHANNEL, 1, SLOTS, SIZE) == -EINVAL);
	CHECK(board_ikc_open(~0U, 1, SLOTS, SIZE) == -EINVAL);
	CHECK(board_ikc_open(CHANNEL, IKC_CHANNELS, SLOTS, SIZE) == -EINVAL);
	CHECK(board_ikc_open(CHANNEL, OTHER, 1, SIZE) == -EINVAL);
	CHECK(board_ikc_open(CHANNEL, OTHER, SLOTS, SIZE + 1) == -EINVAL);
	CHECK(board_ikc_open(CHANNEL, OTHER, 1 << 24, 16384) == -EINVAL);
	CHECK(board_ikc_open(CHANNEL, OTHER, IKC_ALLOC_MAX / SIZE, SIZE) == -EINVAL);
	CHECK(client_read(&number) == -EINVAL && board_ikc_write(CHANNEL, "", 1) == -EINVAL);
	CHECK(board_ikc_arm(CHANNEL) && board_ikc_wait_for_room(CHANNEL));
	CHECK(board_ikc_next(CHANNEL) == -EINVAL && !board_ikc_rung(CHANNEL));
	board_ikc_notify(CHANNEL);
	CHECK(!board_ikc_open(CHANNEL, OTHER, IKC_ALLOC_MAX / SIZE - 4, SIZE));
	CHECK(board_ikc_open(CHANNEL, OTHER + 1, SLOTS, SIZE) == -EBUSY);
	CHECK(board_ikc_open(CHANNEL + 1, OTHER, SLOTS, SIZE) == -EBUSY);
	CHECK(!board_ikc_open(CHANNEL + 1, IKC_ECHO_CHANNEL, SLOTS, SIZE));
	/* nobody is there, and stays welcome */
	host_poke();
	CHECK(settle() && port_to_client(CHANNEL)->ring);
	CHECK(client_read(&number) == -EAGAIN && board_ikc_arm(CHANNEL));
	CHECK(board_ikc_write(CHANNEL, "", 1) == -ENOTCONN && board_ikc_wait_for_room(CHANNEL));
	CHECK(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE));
	/* somebody is, whom nobody has looked for */
	CHECK(!board_ikc_wait_for_room(CHANNEL));
	CHECK(!board_ikc_write(CHANNEL, "", 1));
}

/* What the host names is taken only if it is a ring, of its own, for this life. */
void test_attach(void)
{
	struct ikc_port *port;
	struct ikc_producer before;
	struct ikc_ring *ring;
	uint32_t foreign;

	client_join();
	port = port_to_host(OTHER);
	CHECK(!board_ikc_open(CHANNEL, OTHER, SLOTS, SIZE));
	CHECK(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE));
	ring = end.in.ring;
	foreign = port_to_client(CHANNEL)->ring;
	port->life = LIFE + 1;
	CHECK(board_ikc_write(CHANNEL, "", 1) == -ENOTCONN && !port->attached);
	port->life = LIFE;
	port->ring = foreign;		/* the client's own */
	host_poked();
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached && host_poked());
	port->ring = end.in_offset + 256;
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	port->ring = IKC_CHUNK_SIZE;	/* where nothing is mapped */
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	port->ring = ~0U;
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	port->ring = IKC_SPAN_SIZE;	/* the table itself */
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	/* a ring, but so small that others' memory is in its page */
	do {
		port->ring = ikc_heap_alloc(&world.heap, 1024);
	} while (port->ring % 4096);
	ikc_ring_init(host_ring(port->ring), 2, 64);
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	port->ring = end.in_offset;
	ring->slots = 4096;
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && !port->attached);
	ring->slots = SLOTS;
	ring->magic++;
	CHECK(board_ikc_write(CHANNEL, "", 1) == -EPROTO && board_ikc_wait_for_room(CHANNEL));
	ring->magic--;
	/* the reader is told of what the one before has left there without a word */
	CHECK(!ikc_producer_init(&before, ring, 4096) && !ikc_ring_write(&before, "", 1));
	CHECK(!board_ikc_write(CHANNEL, "", 1) && port->attached == end.in_offset);
	CHECK(host_heard(OTHER) && board.rung && host_read(&end, &before, 1) == 1);
	CHECK(host_read(&end, &before, 1) == 1 && host_read(&end, &before, 1) == -EAGAIN);
}

/* A program leaves, with and without a word, and the next one comes. */
void test_next(void)
{
	uint32_t first, second;
	struct host_end next;
	uint64_t number;
	int n;

	open_both();
	first = port_to_client(CHANNEL)->ring;
	for (number = 0; number < 5; number++)
		CHECK(host_send(&end, &number, 8) && !board_ikc_write(CHANNEL, &number, 8));
	host_close(&end);
	CHECK(settle());
	CHECK(!port_to_host(OTHER)->attached && !port_to_client(CHANNEL)->ring && host_poked());
	/* what it wrote is all there, however often is looked */
	host_poke();
	CHECK(settle());
	CHECK(board_ikc_write(CHANNEL, &number, 8) == -EPIPE && !board_ikc_wait_for_room(CHANNEL));
	for (n = 0; n < 5; n++)
		CHECK(!board_ikc_arm(CHANNEL) && !client_read(&number) && number == n);
	CHECK(client_read(&number) == -EPIPE && !board_ikc_arm(CHANNEL));
	CHECK(settle() && client_read(&number) == -EPIPE && !port_to_client(CHANNEL)->ring);
	CHECK(!board_ikc_next(CHANNEL) && port_to_client(CHANNEL)->ring);
	CHECK(client_read(&number) == -EAGAIN && board_ikc_arm(CHANNEL));
	host_poke();
	CHECK(settle() && port_to_client(CHANNEL)->ring && client_read(&number) == -EAGAIN);

	/* it wrote and left before anybody looked */
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&next));
	number = 77;
	CHECK(host_send(&next, &number, 8));
	host_close(&next);
	CHECK(settle() && !client_read(&number) && number == 77 && client_read(&number) == -EPIPE);
	CHECK(!board_ikc_next(CHANNEL));

	/* it never wrote, and leaves before it takes its end */
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE));
	CHECK(!board_ikc_write(CHANNEL, &number, 8));
	host_close(&next);
	CHECK(board_ikc_write(CHANNEL, &number, 8) == -EPIPE && client_read(&number) == -EPIPE);
	CHECK(!board_ikc_next(CHANNEL));

	/* the same, and nobody writes any more */
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE));
	CHECK(!board_ikc_write(CHANNEL, &number, 8));
	host_close(&next);
	CHECK(settle() && client_read(&number) == -EPIPE && !board_ikc_next(CHANNEL));

	/* neither of both writes */
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&next) && settle());
	host_close(&next);
	CHECK(settle() && client_read(&number) == -EPIPE && !board_ikc_next(CHANNEL));

	/* the client hangs up on one that it has never written to: the host is told */
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&next) && settle());
	host_poked();
	CHECK(!board_ikc_next(CHANNEL) && host_poked() && !port_to_client(CHANNEL)->ring);
	host_close(&next);
	CHECK(settle() && port_to_client(CHANNEL)->ring);

	/* another's ring is in the place of the first one's */
	CHECK(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&end) && settle());
	CHECK(!board_ikc_write(CHANNEL, &number, 8));
	host_close(&end);
	CHECK(!host_open(&next, OTHER, CHANNEL, SLOTS, SIZE));
	CHECK(settle() && client_read(&number) == -EPIPE && !board_ikc_next(CHANNEL));
	CHECK(!host_connect(&next) && !board_ikc_write(CHANNEL, &number, 8));
	CHECK(host_read(&next, &number, 8) == 8);

	/* the client hangs up: its ring goes when the program has let it go, and not before */
	second = next.out_offset;
	CHECK(!board_ikc_next(CHANNEL) && !port_to_client(CHANNEL)->ring);
	CHECK(settle() && ikc_heap_owner(&world.heap, second) == ikc_owner(NUMBER, LIFE));
	number = 99;
	CHECK(host_send(&next, &number, 8) && client_read(&number) == -EAGAIN);
	CHECK(board_ikc_arm(CHANNEL));
	host_close(&next);
	CHECK(settle() && port_to_client(CHANNEL)->ring && client_read(&number) == -EAGAIN);
	CHECK(first && !host_open(&end, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&end));
	number = 1;
	CHECK(host_send(&end, &number, 8) && !client_read(&number) && number == 1);
	/* of all rings those two are left that are in use */
	CHECK(client_blocks() == 2);
}

/* Nonsense stops that channel until who wrote it has left. */
void test_broken(void)
{
	uint64_t number = 3;
	uint32_t ring;

	open_both();
	ring = port_to_client(CHANNEL)->ring;
	CHECK(host_send(&end, &number, 8));
	ikc_first_slot(end.out.ring)->len = SIZE;
	CHECK(settle() && client_read(&number) == -EBADMSG);
	CHECK(port_to_client(CHANNEL)->broken == 1 && board_ikc_arm(CHANNEL));
	ikc_first_slot(end.out.ring)->len = 8;
	host_poke();
	CHECK(settle() && client_read(&number) == -EBADMSG && port_to_client(CHANNEL)->ring == ring);
	host_close(&end);
	CHECK(settle() && client_read(&number) == -EPIPE && !board_ikc_next(CHANNEL));
	CHECK(port_to_client(CHANNEL)->ring && !port_to_client(CHANNEL)->broken);
	CHECK(!host_open(&end, OTHER, CHANNEL, SLOTS, SIZE) && !host_connect(&end) && settle());
	CHECK(host_send(&end, &number, 8) && !client_read(&number));
	/* found when the client wants to sleep: it does not */
	end.out.slot->seq = 12345;
	CHECK(!board_ikc_arm(CHANNEL) && port_to_client(CHANNEL)->broken == 1);
	CHECK(client_read(&number) == -EBADMSG && board_ikc_arm(CHANNEL));
	/* what the reader says of the other ring is checked as well */
	CHECK(!board_ikc_write(CHANNEL, &number, 8));
	end.in.ring->tail = 1000;
	while (!board_ikc_write(CHANNEL, &number, 8))
		;
	CHECK(board_ikc_write(CHANNEL, &number, 8) == -EBADMSG && !board_ikc_wait_for_room(CHANNEL));
}

/* The host is gone, and comes again in another life. */
void test_host_dies(void)
{
	struct ikc_echo_message message = { .op = IKC_ECHO, .channel = OTHER + 2 };
	struct host_end echoed;
	uint64_t number = 1;
	uint32_t echo;

	open_both();
	CHECK(!board_ikc_write(CHANNEL, &number, 8));
	/* another channel, on which nobody has written, and an answer of the echo service */
	CHECK(!board_ikc_open(CHANNEL + 1, OTHER + 1, SLOTS, SIZE));
	CHECK(!host_open(&echoed, OTHER + 2, IKC_ECHO_CHANNEL, SLOTS, SIZE));
	CHECK(!host_connect(&echoed) && host_send(&echoed, &message, sizeof(message)));
	CHECK(settle() && port_to_host(OTHER + 2)->attached);
	echo = port_to_client(IKC_ECHO_CHANNEL)->ring;
	world.area->facts[HOST].state = IKC_DOWN;
	host_poke();
	CHECK(settle() && !port_to_host(OTHER)->attached && !port_to_client(CHANNEL)->ring);
	CHECK(!port_to_client(IKC_ECHO_CHANNEL)->ring && echo);
	CHECK(!port_to_client(CHANNEL + 1)->ring && !port_to_host(OTHER + 2)->attached);
	CHECK(client_read(&number) == -EPIPE && board_ikc_write(CHANNEL, &number, 8) == -EPIPE);
	CHECK(!board_ikc_next(CHANNEL) && client_read(&number) == -EAGAIN);
	CHECK(board_ikc_write(CHANNEL, &number, 8) == -EHOSTDOWN);
	CHECK(board_ikc_arm(CHANNEL) && board_ikc_wait_for_room(CHANNEL));
	/* up by one word, but not by the other */
	world.area->facts[HOST].state = IKC_UP;
	world.area->facts[HOST].life = HOST_LIFE + 1;
	host_poke();
	CHECK(settle() && !port_to_client(CHANNEL)->ring);
	world.area->facts[HOST].life = host_entry(HOST)->ready = 0x10000 + HOST_LIFE;
	host_poke();
	CHECK(settle() && !port_to_client(CHANNEL)->ring);
	world.area->facts[HOST].life = host_entry(HOST)->ready = HOST_LIFE + 1;
	host_poke();
	CHECK(settle() && port_to_client(CHANNEL)->ring);
	CHECK(port_to_client(CHANNEL)->life == HOST_LIFE + 1);
	CHECK(port_to_client(IKC_ECHO_CHANNEL)->life == HOST_LIFE + 1);
	/* it leaves while nobody looks */
	host_entry(HOST)->ready = 0;
	CHECK(board_ikc_write(CHANNEL, &number, 8) == -EHOSTDOWN);
}
