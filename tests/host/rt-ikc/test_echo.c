// SPDX-License-Identifier: GPL-2.0
/* The echo service: what it answers, to whom, when it sleeps, and what it survives. */
#include "test.h"

#define OWN	9		/* where the host's program reads */
#define ROOM	(1024 - IKC_SLOT_HEADER)

union message {
	struct ikc_echo_message head;
	uint8_t bytes[ROOM];
};

static struct host_end end;

static void say(uint16_t op, uint16_t channel, uint64_t cookie, uint32_t len)
{
	union message message = { .head = { .op = op, .channel = channel, .cookie = cookie } };
	uint32_t i;

	for (i = sizeof(message.head); i < len; i++)
		message.bytes[i] = cookie + i;
	MUST(host_send(&end, &message, len));
}

/* The answer is the message as it was said. */
static bool heard(uint64_t cookie, uint32_t len)
{
	union message answer;
	uint32_t i;

	if (host_read(&end, &answer, sizeof(answer)) != (int)len)
		return false;
	for (i = sizeof(answer.head); i < len; i++)
		if (answer.bytes[i] != (uint8_t)(cookie + i))
			return false;
	return answer.head.op == IKC_ECHO && answer.head.channel == OWN && answer.head.cookie == cookie;
}

static bool counted(uint64_t messages, uint64_t bytes)
{
	union message answer;

	say(IKC_COUNT, OWN, 1, sizeof(answer.head));
	return settle() && host_read(&end, &answer, sizeof(answer)) == sizeof(answer.head) &&
	       answer.head.cookie == messages && answer.head.bytes == bytes;
}

static void connect_echo(void)
{
	CHECK(!host_open(&end, OWN, IKC_ECHO_CHANNEL, 16, 1024) && !host_connect(&end));
	CHECK(end.out.slot_size == 1024 && end.out.slots == 63);
}

void test_echo(void)
{
	union message answer;
	uint32_t len, n;

	client_join();
	connect_echo();
	for (len = sizeof(struct ikc_echo_message); len <= ROOM; len += 31) {
		say(IKC_ECHO, OWN, len, len);
		CHECK(settle() && heard(len, len) && host_read(&end, &answer, ROOM) == -EAGAIN);
	}
	say(IKC_ECHO, OWN, 5, ROOM);
	CHECK(settle() && heard(5, ROOM));

	CHECK(counted(0, 0));
	for (n = 0; n < 20; n++)
		say(IKC_SINK, OWN, n, 100);
	CHECK(counted(20, 2000) && counted(0, 0));

	/* nobody is answered who is not there, and nothing that is no message */
	say(IKC_ECHO, OWN, 1, sizeof(answer.head) - 1);
	say(IKC_COUNT + 1, OWN, 1, 100);
	say(IKC_ECHO, IKC_ECHO_CHANNEL, 1, 100);
	say(IKC_ECHO, 0xffff, 1, 100);
	say(IKC_ECHO, OWN + 1, 1, 100);
	CHECK(settle() && host_read(&end, &answer, ROOM) == -EAGAIN);
	CHECK(!port_to_host(IKC_ECHO_CHANNEL)->attached);
	/* who does not read loses */
	ikc_publish(&end.in);
	for (n = 0; n < 40; n++)
		say(IKC_ECHO, OWN, n, 100);
	CHECK(settle());
	for (n = 0; n < 16; n++)
		CHECK(heard(n, 100));
	CHECK(host_read(&end, &answer, ROOM) == -EAGAIN);
	ikc_publish(&end.in);
	say(IKC_ECHO, OWN, 3, 100);
	CHECK(settle() && heard(3, 100));

	/* the next program goes on where the last one stopped; the old ring was let go */
	host_close(&end);
	CHECK(settle() && !port_to_host(OWN)->attached && port_to_client(IKC_ECHO_CHANNEL)->ring);
	connect_echo();
	say(IKC_ECHO, OWN, 8, 200);
	CHECK(settle() && heard(8, 200));
	/* it closes without a poke: the answer finds out */
	WRITE_ONCE(port_to_host(OWN)->ring, 0);
	say(IKC_ECHO, OWN, 8, 200);
	CHECK(settle() && !port_to_host(OWN)->attached);
	/* a channel has it now, and the service keeps away */
	host_close(&end);
	CHECK(settle());
	connect_echo();
	CHECK(!board_ikc_open(2, OWN, 16, 64));
	say(IKC_ECHO, OWN, 8, 200);
	CHECK(settle() && host_read(&end, &answer, ROOM) == -EAGAIN);
}

static void say_meanwhile(void)
{
	board.meanwhile = NULL;
	say(IKC_ECHO, OWN, 6, 100);
}

/* It answers some at once and looks on for a while; then it wants to be rung. */
void test_echo_sleep(void)
{
	unsigned int n;

	client_join();
	connect_echo();
	CHECK(ikc_arm(&end.in));
	board.cycles_per_second = ~0ULL;
	CHECK(!board_ikc_serve());
	say(IKC_SINK, OWN, 1, 100);
	CHECK(host_entry(NUMBER)->pending[HOST].queues);
	for (n = 0; n < 1000; n++)
		CHECK(board_ikc_serve());
	/* awake: it needs no bell, and neither does who gets an answer at once */
	say(IKC_ECHO, OWN, 2, 100);
	CHECK(board_ikc_serve() && host_heard(OWN) && heard(2, 100));
	CHECK(!host_entry(NUMBER)->pending[HOST].queues);
	say(IKC_ECHO, OWN, 3, 100);
	CHECK(board_ikc_serve() && !host_heard(OWN) && heard(3, 100));
	/* its time is over */
	board.cycles_per_second = 0;
	CHECK(!board_ikc_serve() && !board_ikc_serve());
	board.cycles_per_second = ~0ULL;
	CHECK(!board_ikc_serve());
	board.cycles_per_second = 0;
	say(IKC_ECHO, OWN, 4, 100);
	CHECK(host_entry(NUMBER)->pending[HOST].queues && board_ikc_serve() && heard(4, 100));
	CHECK(!board_ikc_serve());

	/* one comes when it has looked for the last time */
	say(IKC_ECHO, OWN, 5, 100);
	CHECK(board_ikc_serve() && heard(5, 100));
	board.meanwhile = say_meanwhile;
	CHECK(board_ikc_serve() && board_ikc_serve() && heard(6, 100));

	/* its time is 20 us after the last one */
	board.cycles_per_second = 1000000000;
	CHECK(board_ikc_serve());
	board.now += 19999;
	CHECK(board_ikc_serve());
	say(IKC_SINK, OWN, 1, 100);
	CHECK(board_ikc_serve() && board_ikc_serve());
	board.now += 19999;
	CHECK(board_ikc_serve());
	board.now++;
	CHECK(!board_ikc_serve());
	/* however many there are, others have their turn between */
	for (n = 0; n < 60; n++)
		say(IKC_SINK, OWN, 1, 100);
	say(IKC_ECHO, OWN, 7, 100);
	CHECK(board_ikc_serve() && !heard(7, 100));
	CHECK(board_ikc_serve() && heard(7, 100));
}

void test_echo_broken(void)
{
	struct ikc_port *port;
	uint32_t ring;

	client_join();
	port = port_to_client(IKC_ECHO_CHANNEL);
	connect_echo();
	ring = port->ring;
	say(IKC_ECHO, OWN, 1, 100);
	CHECK(settle() && heard(1, 100) && !port->broken);
	say(IKC_ECHO, OWN, 2, 100);
	ikc_slot_after(ikc_first_slot(end.out.ring), 1024)->len = 1024;
	CHECK(settle() && port->broken == 1);
	/* it stays until who wrote that has let go; then there is another */
	say(IKC_ECHO, OWN, 3, 100);
	host_poke();
	CHECK(settle() && port->ring == ring && port->broken && !heard(3, 100));
	host_close(&end);
	CHECK(settle() && port->ring && !port->broken);
	connect_echo();
	say(IKC_ECHO, OWN, 4, 100);
	CHECK(settle() && heard(4, 100));
}
