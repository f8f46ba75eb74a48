// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A panel for the pendulum that rt/programs/control.c balances in a real-time partition:
 *
 *	pendulum_panel PARTITION SECONDS
 *
 * It sends the cart to and fro and shows how it is.  Fails if the pendulum falls.
 */
#include <stdlib.h>

#include "ikc.h"
#include "pendulum_view.h"

#define MESSAGE_MS	(1000 / CONTROL_PER_SECOND)
#define LINES		4	/* a second */
#define WAIT_MS		5000

static int fail(const char *what, int error)
{
	fprintf(stderr, "pendulum_panel: %s: %s\n", what, ikc_explain(error));
	return EXIT_FAILURE;
}

static int order(struct ikc_channel *ch, enum control_order what, int goal_mm)
{
	struct control_command command = { what, goal_mm };

	return ikc_send_wait(ch, &command, sizeof(command), WAIT_MS);
}

/* The next of what it sends; its own word is checked before it is believed. */
static int listen_once(struct ikc_channel *ch, struct control_state *state)
{
	int len = ikc_receive_wait(ch, state, sizeof(*state), WAIT_MS);

	return len < 0 ? len : len == sizeof(*state) ? 0 : -EBADMSG;
}

static int watch(struct ikc_channel *ch, int seconds)
{
	struct control_state state = { 0 };
	unsigned int late = 0;
	int i, ret;

	ret = order(ch, CONTROL_RAISE, 0);
	for (i = 0; !ret && i < seconds * CONTROL_PER_SECOND; i++) {
		if (i * MESSAGE_MS % VIEW_TURN_MS == 0)
			ret = order(ch, CONTROL_GOAL, view_goal(i * MESSAGE_MS));
		if (!ret)
			ret = listen_once(ch, &state);
		late = state.late_us > late ? state.late_us : late;
		state.late_us = late;
		if (!ret && i % (CONTROL_PER_SECOND / LINES) == 0) {
			view_print((double)i / CONTROL_PER_SECOND, &state);
			late = 0;
		}
	}
	if (ret)
		return fail("the partition", ret);
	printf("%s after %llu ticks, %llu of them missed\n", state.fallen ? "fallen" : "standing",
	       (unsigned long long)state.ticks, (unsigned long long)state.missed);
	return state.fallen ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct ikc_channel ch;
	int peer, ret;

	if (argc != 3 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: pendulum_panel PARTITION SECONDS\n");
		return 2;
	}
	peer = ikc_find_kernel(argv[1]);
	if (peer < 0)
		return fail(argv[1], peer);
	ret = ikc_channel_open(&ch, (__u32)peer, CONTROL_CHANNEL, CONTROL_CHANNEL, CONTROL_SLOTS,
			       CONTROL_SLOT_SIZE);
	if (ret)
		return fail("cannot open the channel", ret);
	ret = ikc_channel_connect(&ch, WAIT_MS);
	ret = ret ? fail("cannot connect", ret) : watch(&ch, atoi(argv[2]));
	ikc_channel_close(&ch);
	return ret;
}
