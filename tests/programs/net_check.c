// SPDX-License-Identifier: GPL-2.0
/*
 * Data over a network, every byte checked where it arrives.
 *
 *	net_check serve PORT			TCP and UDP, IPv6 and IPv4, in the background
 *	net_check tcp ADDRESS PORT BYTES	so many in each direction at the same time
 *	net_check send|receive ADDRESS PORT BYTES	in one direction
 *	net_check udp ADDRESS PORT COUNT BYTES	datagrams of up to so many bytes, sent back
 *
 * serve returns when it can be reached; the others print "ok" and what was checked.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK		(256 << 10)
#define DATAGRAM	65507
#define PATIENCE	20	/* seconds that an answer to a datagram may take */

enum { TO_SERVER = 1, TO_CLIENT = 2 };

struct request {
	uint64_t bytes, directions;
};

static uint64_t buffer[CHUNK / sizeof(uint64_t)];

/* The stream's words @from, @from + 1, …: splitmix64 of the position. */
static void fill(uint64_t *words, size_t count, uint64_t from, uint64_t seed)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t z = (from + i + 1) * 0x9e3779b97f4a7c15ULL + seed;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
		words[i] = z ^ z >> 31;
	}
}

static void write_all(int fd, const void *data, size_t bytes)
{
	const char *from = data;

	while (bytes) {
		ssize_t n = send(fd, from, bytes, MSG_NOSIGNAL);

		if (n <= 0)
			err(1, "send");
		from += n;
		bytes -= n;
	}
}

static void read_all(int fd, void *data, size_t bytes)
{
	char *to = data;

	while (bytes) {
		ssize_t n = recv(fd, to, bytes, 0);

		if (n < 0)
			err(1, "receive");
		if (!n)
			errx(1, "the other end closed the connection, %zu bytes are missing", bytes);
		to += n;
		bytes -= n;
	}
}

static void send_stream(int fd, uint64_t bytes, uint64_t seed)
{
	uint64_t at;

	for (at = 0; at < bytes; at += CHUNK) {
		fill(buffer, CHUNK / 8, at / 8, seed);
		write_all(fd, buffer, bytes - at < CHUNK ? bytes - at : CHUNK);
	}
}

static void receive_stream(int fd, uint64_t bytes, uint64_t seed)
{
	static uint64_t wanted[CHUNK / sizeof(uint64_t)];
	uint64_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < CHUNK ? bytes - at : CHUNK;
		read_all(fd, buffer, n);
		fill(wanted, CHUNK / 8, at / 8, seed);
		if (memcmp(buffer, wanted, n))
			errx(1, "wrong data between byte %llu and %llu", (unsigned long long)at,
			     (unsigned long long)(at + n));
	}
}

/* Both streams at the same time; who returns has seen its own arrive. */
static void exchange(int fd, uint64_t out, uint64_t in, uint64_t out_seed, uint64_t in_seed)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (!child) {
		send_stream(fd, out, out_seed);
		_exit(0);
	}
	receive_stream(fd, in, in_seed);
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "sending failed");
}

/* What is left when this program is killed shall not wait for a peer that is dead. */
static void no_orphan(int fd)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)))
		err(1, "SO_LINGER");
}

static void serve_one(int fd)
{
	struct request request;
	uint64_t end = 1;

	no_orphan(fd);
	read_all(fd, &request, sizeof(request));
	exchange(fd, request.directions & TO_CLIENT ? request.bytes : 0,
		 request.directions & TO_SERVER ? request.bytes : 0, 2, 1);
	/* all that came was right; the other end closes when it has read this */
	write_all(fd, &end, sizeof(end));
	recv(fd, &end, sizeof(end), 0);
}

static int open_socket(int type, int port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, type, 0), one = 1, zero = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
	    (type == SOCK_STREAM && listen(fd, 64)))
		err(1, "port %d", port);
	return fd;
}

static void serve_streams(int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		if (!fork()) {
			signal(SIGCHLD, SIG_DFL);
			serve_one(fd);
			_exit(0);
		}
		close(fd);
	}
}

static void serve_datagrams(int fd)
{
	for (;;) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &len);

		if (n >= 0)
			sendto(fd, buffer, n, 0, (struct sockaddr *)&from, len);
	}
}

static void serve(int port)
{
	int streams = open_socket(SOCK_STREAM, port), datagrams = open_socket(SOCK_DGRAM, port);

	if (fork())
		_exit(0);
	setsid();
	/* who waits for this program's output shall see its end */
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(1);
	signal(SIGCHLD, SIG_IGN);
	if (fork())
		serve_streams(streams);
	serve_datagrams(datagrams);
}

static int reach(int type, const char *address, const char *port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port };
	struct sockaddr *to = (struct sockaddr *)&v4;
	socklen_t len = sizeof(v4);
	int fd;

	if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
		to = (struct sockaddr *)&v6;
		len = sizeof(v6);
	} else if (inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
		errx(1, "%s is no address", address);
	}
	fd = socket(to->sa_family, type, 0);
	if (fd < 0 || connect(fd, to, len))
		err(1, "%s", address);
	return fd;
}

static void stream(const char *address, const char *port, uint64_t directions, uint64_t bytes)
{
	struct request request = { .bytes = bytes, .directions = directions };
	int fd = reach(SOCK_STREAM, address, port);
	uint64_t end;

	no_orphan(fd);
	write_all(fd, &request, sizeof(request));
	exchange(fd, directions & TO_SERVER ? bytes : 0, directions & TO_CLIENT ? bytes : 0, 1, 2);
	read_all(fd, &end, sizeof(end));
	printf("ok %llu\n", (unsigned long long)bytes);
}

static void datagrams(const char *address, const char *port, unsigned int count, size_t bytes)
{
	static uint64_t wanted[CHUNK / sizeof(uint64_t)];
	struct timeval patience = { .tv_sec = PATIENCE };
	int fd = reach(SOCK_DGRAM, address, port);
	unsigned int i;

	if (bytes > DATAGRAM)
		errx(1, "a datagram has %d bytes at most", DATAGRAM);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		err(1, "SO_RCVTIMEO");
	for (i = 0; i < count; i++) {
		/* all lengths from 1 on, even and odd */
		size_t n = 1 + (i * 977ULL + (count == 1 ? bytes - 1 : 0)) % bytes;

		fill(wanted, CHUNK / 8, i, 3);
		if (send(fd, wanted, n, 0) != (ssize_t)n)
			err(1, "datagram %u of %zu bytes", i, n);
		if (recv(fd, buffer, sizeof(buffer), 0) != (ssize_t)n || memcmp(buffer, wanted, n))
			err(1, "the answer to datagram %u of %zu bytes is missing or wrong", i, n);
	}
	printf("ok %u\n", count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 3 && !strcmp(what, "serve"))
		serve(atoi(argv[2]));
	else if (argc == 5 && !strcmp(what, "tcp"))
		stream(argv[2], argv[3], TO_SERVER | TO_CLIENT, strtoull(argv[4], NULL, 0));
	else if (argc == 5 && !strcmp(what, "send"))
		stream(argv[2], argv[3], TO_SERVER, strtoull(argv[4], NULL, 0));
	else if (argc == 5 && !strcmp(what, "receive"))
		stream(argv[2], argv[3], TO_CLIENT, strtoull(argv[4], NULL, 0));
	else if (argc == 6 && !strcmp(what, "udp"))
		datagrams(argv[2], argv[3], atoi(argv[4]), strtoul(argv[5], NULL, 0));
	else
		return 2;
	return 0;
}
