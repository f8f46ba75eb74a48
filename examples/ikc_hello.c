// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Two programs on two kernels talk to each other.
 *
 * On the host:                     In the partition "web":
 *	./ikc_hello listen web		./ikc_hello talk host "good morning"
 *
 * Either may start first.  `make lib` builds this.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ikc.h"	/* <shimos/ikc.h> where it is installed */

/*
 * Both ends use the same number here, they need not: a channel is named by the
 * peer's kernel and one number on each side.
 */
#define CHANNEL		1
/* What I can receive: up to 16 messages that I have not read, 248 bytes each. */
#define SLOTS		16
#define SLOT_SIZE	256

static int fail(const char *what, int error)
{
	fprintf(stderr, "ikc_hello: %s: %s\n", what, ikc_explain(error));
	return EXIT_FAILURE;
}

/* Answer everything until the peer closes its end. */
static int listen_to(struct ikc_channel *ch)
{
	char text[SLOT_SIZE], answer[SLOT_SIZE];
	int len;

	/* -1: wait for ever.  It spins a little, then sleeps. */
	while ((len = ikc_receive_wait(ch, text, sizeof(text), -1)) >= 0) {
		int ret;

		/* What another kernel wrote is not to be trusted: %.*s, no final NUL. */
		printf("received: %.*s\n", len, text);
		len = snprintf(answer, sizeof(answer), "%d bytes, thank you", len);
		ret = ikc_send_wait(ch, answer, (__u32)len, 1000);
		if (ret)
			return fail("cannot answer", ret);
	}
	if (len == -EPIPE) {
		printf("the peer has left\n");
		return EXIT_SUCCESS;
	}
	return fail("cannot receive", len);
}

/* Send a message three times, one doorbell at most for all of them. */
static int talk(struct ikc_channel *ch, const char *text)
{
	char answer[SLOT_SIZE];
	int i, ret = 0;

	for (i = 0; i < 3 && !ret; i++)
		ret = ikc_put(ch, text, (__u32)strlen(text));
	if (!ret)
		ret = ikc_flush(ch);
	if (ret)
		return fail("cannot send", ret);

	for (i = 0; i < 3; i++) {
		int len = ikc_receive_wait(ch, answer, sizeof(answer), 5000);

		if (len < 0)
			return fail("no answer", len);
		printf("answer: %.*s\n", len, answer);
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct ikc_channel ch;
	int peer, ret;

	if (argc < 3 || (strcmp(argv[1], "listen") && strcmp(argv[1], "talk"))) {
		fprintf(stderr, "usage: ikc_hello listen KERNEL | talk KERNEL [TEXT]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);

	/* Kernels are known by name; the host is "host". */
	peer = ikc_find_kernel(argv[2]);
	if (peer < 0)
		return fail(argv[2], peer);

	/* My end: from now on the peer can connect to me. */
	ret = ikc_channel_open(&ch, (__u32)peer, CHANNEL, CHANNEL, SLOTS, SLOT_SIZE);
	if (ret)
		return fail("cannot open the channel", ret);

	/* The other end: wait a minute for the program over there. */
	ret = ikc_channel_connect(&ch, 60000);
	if (ret)
		ret = fail("cannot connect", ret);
	else if (!strcmp(argv[1], "listen"))
		ret = listen_to(&ch);
	else
		ret = talk(&ch, argc > 3 ? argv[3] : "hello");

	ikc_channel_close(&ch);
	return ret;
}
