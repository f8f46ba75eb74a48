// SPDX-License-Identifier: GPL-2.0
/*
 * User programs on both ends of a channel, for the tests of /dev/ikc.
 *
 *	ikc_user echo PEER CHANNEL COUNT	receive and send back
 *	ikc_user talk PEER CHANNEL COUNT	send numbered messages, check the answers
 *	ikc_user events PEER CHANNEL COUNT	the same, waiting by epoll on an eventfd
 *	ikc_user flood PEER CHANNEL COUNT	numbers there, then as many back; tests/rt/flood.c
 *	ikc_user hold PEER CHANNEL		write until the peer is gone, and on
 *	ikc_user errors PEER			everything wrong; prints "name errno"
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "ikc.h"

#define SLOTS		32
#define SLOT_SIZE	256
#define WINDOW		20
#define WAIT_MS		30000
#define FLOOD_SLOTS	1000
#define FLOOD_SLOT_SIZE	64

static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	printf("%s: %s (%d)\n", what, ikc_explain(ret), ret);
	exit(1);
}

static void begin(struct ikc_channel *ch, const char *peer, const char *channel, __u32 slots,
		  __u32 slot_size)
{
	int number = ikc_find_kernel(peer);

	check(number, "find");
	check(ikc_channel_open(ch, number, atoi(channel), atoi(channel), slots, slot_size),
	      "open");
	check(ikc_channel_connect(ch, WAIT_MS), "connect");
	printf("connected\n");
	fflush(stdout);
}

static __u32 length_of(__u32 number)
{
	return 8 + number * 7 % (SLOT_SIZE - IKC_SLOT_HEADER - 8);
}

static void fill(unsigned char *data, __u32 number)
{
	__u32 i, len = length_of(number);

	memcpy(data, &number, sizeof(number));
	for (i = sizeof(number); i < len; i++)
		data[i] = number * 31 + i;
}

static void echo(struct ikc_channel *ch, long count)
{
	unsigned char data[SLOT_SIZE];

	while (count--) {
		int len = ikc_receive_wait(ch, data, sizeof(data), WAIT_MS);

		check(len, "receive");
		check(ikc_send_wait(ch, data, len, WAIT_MS), "send back");
	}
}

static void expect(const unsigned char *data, int len, __u32 number)
{
	unsigned char wanted[SLOT_SIZE];

	fill(wanted, number);
	if (len == (int)length_of(number) && !memcmp(data, wanted, len))
		return;
	printf("answer %u is wrong: length %d\n", number, len);
	exit(1);
}

/*
 * The peer may see the last messages without being told, answer and leave before
 * it is told: whether it has done its part is for the answers to say.
 */
static void tell(struct ikc_channel *ch)
{
	int ret = ikc_flush(ch);

	if (ret != -EPIPE)
		check(ret, "flush");
}

/* Up to WINDOW on their way; both rings run full and empty. */
static void talk(struct ikc_channel *ch, long count)
{
	unsigned char data[SLOT_SIZE];
	long sent = 0, got = 0;
	int len;

	while (got < count) {
		for (; sent < count && sent - got < WINDOW; sent++) {
			fill(data, sent);
			len = ikc_put(ch, data, length_of(sent));
			if (len == -EAGAIN)
				break;
			check(len, "put");
		}
		tell(ch);
		len = ikc_receive_wait(ch, data, sizeof(data), WAIT_MS);
		check(len, "receive");
		expect(data, len, got++);
	}
	printf("ok %ld\n", got);
}

static __u64 receive_number(struct ikc_channel *ch)
{
	__u64 number;
	int len = ikc_receive_wait(ch, &number, sizeof(number), WAIT_MS);

	check(len, "receive");
	if (len != sizeof(number)) {
		printf("a message has %d bytes\n", len);
		exit(1);
	}
	return number;
}

static void expect_number(struct ikc_channel *ch, __u64 wanted)
{
	__u64 number = receive_number(ch);

	if (number == wanted)
		return;
	printf("%llu came, and not %llu\n", (unsigned long long)number,
	       (unsigned long long)wanted);
	exit(1);
}

/* The peer counts what it gets, and answers with that before its own numbers. */
static void flood(struct ikc_channel *ch, long count)
{
	long n;
	int ret;

	for (n = 0; n < count; n++) {
		ret = ikc_put(ch, &n, sizeof(n));
		if (ret == -EAGAIN)
			ret = ikc_send_wait(ch, &n, sizeof(n), WAIT_MS);
		check(ret, "send");
	}
	tell(ch);
	expect_number(ch, count);
	for (n = 0; n < count; n++)
		expect_number(ch, n);
	printf("ok %ld, doorbells %llu\n", count, (unsigned long long)ch->out.rung);
}

static int wait_for_event(int epoll, int event)
{
	struct epoll_event found;
	__u64 value;

	if (epoll_wait(epoll, &found, 1, WAIT_MS) != 1)
		return -ETIME;
	return read(event, &value, sizeof(value)) == sizeof(value) ? 0 : -errno;
}

static void events(struct ikc_channel *ch, long count)
{
	int event = eventfd(0, EFD_NONBLOCK), epoll = epoll_create1(0);
	struct epoll_event wish = { .events = EPOLLIN };
	struct ikc_eventfd arg = { { sizeof(arg), IKC_VERSION }, event, 0 };
	unsigned char data[SLOT_SIZE];
	long i, slept = 0;
	int len;

	check(ioctl(ch->fd, IKC_IOC_EVENTFD, &arg) ? -errno : 0, "eventfd");
	check(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wish) ? -errno : 0, "epoll");
	for (i = 0; i < count; i++) {
		fill(data, i);
		check(ikc_put(ch, data, length_of(i)), "put");
		tell(ch);
		while ((len = ikc_receive(ch, data, sizeof(data))) == -EAGAIN) {
			if (!ikc_arm(&ch->in))
				continue;
			check(wait_for_event(epoll, event), "wait");
			slept++;
		}
		check(len, "receive");
		expect(data, len, i);
	}
	printf("ok %ld, slept %s\n", count, slept ? "yes" : "no");
}

/* The peer dies meanwhile: no signal, an error soon, and the memory stays. */
static void hold(struct ikc_channel *ch)
{
	unsigned char data[SLOT_SIZE] = "still there";
	struct pollfd poll_fd = { .fd = ch->fd, .events = 0 };
	volatile unsigned char *ring = ch->send_map;
	int ret;

	do {
		ret = ikc_send(ch, data, 100);
		while (ikc_receive(ch, data, sizeof(data)) > 0)
			;
		ring[ch->send_bytes - 1]++;
	} while (!ret || ret == -EAGAIN);
	printf("send: %s\n", strerror(-ret));
	if (poll(&poll_fd, 1, WAIT_MS) == 1 && poll_fd.revents & POLLHUP)
		printf("hung up\n");
	memset(ch->send_map, 0x55, ch->send_bytes);
	printf("written on\n");
}

/* ---- errors ---- */

static int try_open(int fd, __u32 peer, __u32 channel, __u32 slots, __u32 slot_size)
{
	struct ikc_open arg = {
		{ sizeof(arg), IKC_VERSION }, peer, channel, 3, slots, slot_size, 0
	};

	return ioctl(fd, IKC_IOC_OPEN, &arg) ? errno : 0;
}

static void say(const char *name, int error)
{
	printf("%s %d\n", name, error);
}

static int try_map(int fd, size_t size, unsigned long where, int flags)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, where) == MAP_FAILED ?
	       errno : 0;
}

static void errors(__u32 peer)
{
	int fd = open(IKC_DEVICE, O_RDWR), other = open(IKC_DEVICE, O_RDWR);
	struct ikc_open wrong = { { sizeof(wrong), 77 }, peer, 0, 0, SLOTS, SLOT_SIZE, 0 };
	struct ikc_connect connect = { { sizeof(connect), IKC_VERSION }, 20, 0, 0, 0 };
	size_t page = 4096, ring = (ikc_ring_bytes(SLOTS, SLOT_SIZE) + page - 1) & -page;

	say("version", ioctl(fd, IKC_IOC_OPEN, &wrong) ? errno : 0);
	say("right_version", wrong.hdr.version == IKC_VERSION);
	wrong.hdr.size = 1;
	say("size", ioctl(fd, IKC_IOC_OPEN, &wrong) ? errno : 0);
	say("right_size", wrong.hdr.size == sizeof(wrong));
	say("unknown_call", ioctl(fd, _IO(IKC_IOC_MAGIC, 99)) ? errno : 0);
	say("notify_closed", ioctl(fd, IKC_IOC_NOTIFY) ? errno : 0);
	say("map_closed", try_map(fd, page, 0, MAP_SHARED));
	say("connect_closed", ioctl(fd, IKC_IOC_CONNECT, &connect) ? errno : 0);
	say("unknown_peer", try_open(fd, IKC_MAX_KERNELS, 2, SLOTS, SLOT_SIZE));
	say("absent_peer", try_open(fd, IKC_MAX_KERNELS - 1, 2, SLOTS, SLOT_SIZE));
	say("self", try_open(fd, ikc_find_kernel("host"), 2, SLOTS, SLOT_SIZE));
	say("unknown_channel", try_open(fd, peer, IKC_CHANNELS, SLOTS, SLOT_SIZE));
	say("no_slots", try_open(fd, peer, 2, 0, SLOT_SIZE));
	say("odd_slot_size", try_open(fd, peer, 2, SLOTS, 17));
	say("huge_slot_size", try_open(fd, peer, 2, SLOTS, 1U << 31));
	say("ring_too_large", try_open(fd, peer, 2, 4096, SLOT_SIZE));
	say("open", try_open(fd, peer, 2, SLOTS, SLOT_SIZE));
	say("open_twice", try_open(fd, peer, 4, SLOTS, SLOT_SIZE));
	say("channel_taken", try_open(other, peer, 2, SLOTS, SLOT_SIZE));
	say("connect_nobody", ioctl(fd, IKC_IOC_CONNECT, &connect) ? errno : 0);
	say("map_send_unconnected", try_map(fd, page, IKC_MMAP_SEND, MAP_SHARED));
	say("map", try_map(fd, ring, 0, MAP_SHARED));
	say("map_private", try_map(fd, ring, 0, MAP_PRIVATE));
	say("map_beyond", try_map(fd, ring + page, 0, MAP_SHARED));
	say("map_elsewhere", try_map(fd, page, page, MAP_SHARED));
	say("map_nowhere", try_map(fd, page, 1UL << 40, MAP_SHARED));
}

int main(int argc, char **argv)
{
	struct ikc_channel ch;
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "errors")) {
		int peer = ikc_find_kernel(argv[2]);

		check(peer, "find");
		errors(peer);
		return 0;
	}
	if (argc < 4)
		return 2;
	if (!strcmp(what, "flood"))
		begin(&ch, argv[2], argv[3], FLOOD_SLOTS, FLOOD_SLOT_SIZE);
	else
		begin(&ch, argv[2], argv[3], SLOTS, SLOT_SIZE);
	if (!strcmp(what, "hold"))
		hold(&ch);
	else if (argc < 5)
		return 2;
	else if (!strcmp(what, "echo"))
		echo(&ch, atol(argv[4]));
	else if (!strcmp(what, "talk"))
		talk(&ch, atol(argv[4]));
	else if (!strcmp(what, "events"))
		events(&ch, atol(argv[4]));
	else if (!strcmp(what, "flood"))
		flood(&ch, atol(argv[4]));
	else
		return 2;
	ikc_channel_close(&ch);
	return 0;
}
