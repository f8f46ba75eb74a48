// SPDX-License-Identifier: GPL-2.0
/*
 * Sends bytes over AF_VSOCK and has them sent back.
 *
 * Usage: vsock_check serve PORT	answers in the background; it listens when this returns
 *	  vsock_check CID PORT BYTES	prints "ok BYTES" if what came back is what was sent
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/vm_sockets.h>
#include "must.h"

#define PIECE	65536

static char piece[PIECE], back[PIECE];

static struct sockaddr_vm vsock_address(unsigned int cid, unsigned int port)
{
	return (struct sockaddr_vm){ .svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port };
}

static void vsock_echo(int fd)
{
	ssize_t got, sent, done;

	while ((got = read(fd, piece, PIECE)) > 0)
		for (done = 0; done < got; done += sent) {
			sent = write(fd, piece + done, got - done);
			MUST(sent > 0);
		}
	close(fd);
}

static int vsock_serve(unsigned int port)
{
	struct sockaddr_vm address = vsock_address(VMADDR_CID_ANY, port);
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	MUST(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 8));
	if (fork())
		return 0;
	signal(SIGCHLD, SIG_IGN);
	MUST(!daemon(0, 0));
	for (;;) {
		int client = accept(fd, NULL, NULL);

		MUST(client >= 0);
		if (!fork()) {
			vsock_echo(client);
			_exit(0);
		}
		close(client);
	}
}

/* No two places of a megabyte alike. */
static void vsock_fill(uint64_t at)
{
	uint64_t i, word;

	for (i = 0; i < PIECE; i += sizeof(word)) {
		word = (at + i) * 0x9e3779b97f4a7c15ull;
		memcpy(piece + i, &word, sizeof(word));
	}
}

static int vsock_send(unsigned int cid, unsigned int port, uint64_t bytes)
{
	struct sockaddr_vm address = vsock_address(cid, port);
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	uint64_t at;

	MUST(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	for (at = 0; at < bytes; at += PIECE) {
		size_t part = bytes - at < PIECE ? bytes - at : PIECE;

		vsock_fill(at);
		MUST(send(fd, piece, part, MSG_NOSIGNAL) == (ssize_t)part);
		MUST(recv(fd, back, part, MSG_WAITALL) == (ssize_t)part);
		MUST(!memcmp(piece, back, part));
	}
	printf("ok %llu\n", (unsigned long long)bytes);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return vsock_serve(atoi(argv[2]));
	MUST(argc == 4);
	return vsock_send(atoi(argv[1]), atoi(argv[2]), strtoull(argv[3], NULL, 0));
}
