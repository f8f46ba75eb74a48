/*
 * sockets serve | vsock CID WHAT COUNT | tcp ADDRESS WHAT COUNT
 *
 * One end of a connection, by a vsock or by TCP.  WHAT is `ping`: messages of one byte there and
 * back; or `send`: pieces of 64 KiB there, the last of them answered.  Prints nanoseconds for each.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/vm_sockets.h>

#define PORT	5555
#define PIECE	65536

static char piece[PIECE];

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void read_all(int fd, size_t left)
{
	while (left) {
		ssize_t n = read(fd, piece, left);

		need(n > 0, "read");
		left -= n;
	}
}

static void write_all(int fd, size_t left)
{
	while (left) {
		ssize_t n = write(fd, piece, left);

		need(n > 0, "write");
		left -= n;
	}
}

static int vsock(struct sockaddr_vm *address, unsigned int cid)
{
	*address = (struct sockaddr_vm) {
		.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = PORT,
	};
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int tcp(struct sockaddr_in *address, in_addr_t to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	*address = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr.s_addr = to, .sin_port = htons(PORT),
	};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

/* A connection begins with the size and the number of its messages, and whether each is answered. */
struct wish {
	uint32_t size, count, each;
};

static void answer(int fd)
{
	struct wish w;
	uint32_t i;

	need(read(fd, &w, sizeof(w)) == sizeof(w) && w.size <= PIECE, "wish");
	for (i = 1; i <= w.count; i++) {
		read_all(fd, w.size);
		if (w.each || i == w.count)
			write_all(fd, 1);
	}
	close(fd);
}

static void serve(int listening)
{
	int fd;

	need(listen(listening, 8) == 0, "listen");
	while ((fd = accept(listening, NULL, NULL)) >= 0)
		answer(fd);
	need(0, "accept");
}

static void serve_both(void)
{
	struct sockaddr_in to;
	struct sockaddr_vm vm;
	int fd;

	if (fork() == 0) {
		fd = vsock(&vm, VMADDR_CID_ANY);
		need(fd >= 0 && bind(fd, (void *)&vm, sizeof(vm)) == 0, "vsock");
		serve(fd);
	}
	fd = tcp(&to, htonl(INADDR_ANY));
	need(fd >= 0 && bind(fd, (void *)&to, sizeof(to)) == 0, "tcp");
	serve(fd);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void measure(int fd, const char *what, uint32_t count)
{
	int ping = !strcmp(what, "ping");
	struct wish w = { .size = ping ? 1 : PIECE, .count = count, .each = ping };
	double begin;
	uint32_t i;

	need(write(fd, &w, sizeof(w)) == sizeof(w), "write");
	begin = now();
	for (i = 1; i <= count; i++) {
		write_all(fd, w.size);
		if (ping || i == count)
			read_all(fd, 1);
	}
	printf("%.0f\n", (now() - begin) / count);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to;
	struct sockaddr_vm vm;
	int fd;

	if (argc == 2 && !strcmp(argv[1], "serve"))
		serve_both();
	if (argc != 5)
		return 2;
	if (!strcmp(argv[1], "vsock")) {
		fd = vsock(&vm, atoi(argv[2]));
		need(fd >= 0 && connect(fd, (void *)&vm, sizeof(vm)) == 0, "connect");
	} else {
		fd = tcp(&to, inet_addr(argv[2]));
		need(fd >= 0 && connect(fd, (void *)&to, sizeof(to)) == 0, "connect");
	}
	measure(fd, argv[3], atoi(argv[4]));
	return 0;
}
