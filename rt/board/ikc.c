// SPDX-License-Identifier: GPL-2.0
/* Inter-kernel communication as a program's loop drives it; ikc.h says how. */
#include "area.h"

static void board_ikc_look(void)
{
	if (!board_area_look())
		return;
	board_tx_update();
	board_channels_update();
	board_echo_update();
}

/**
 * board_ikc_join() - take part
 *
 * From then on board_ikc_serve() must be called.  Context: once, before board_ready().
 *
 * Return: 0, or a negative error that board_ikc_explain() has words for
 */
int board_ikc_join(void)
{
	int ret = board_area_join();

	if (!ret)
		board_ikc_look();
	return ret;
}

/**
 * board_ikc_serve() - follow what changes, and answer some of what came to the echo service
 *
 * A bounded amount of work.  Context: interrupts off, if board_idle() may follow.
 *
 * Return: true if there may be more to do at once
 */
bool board_ikc_serve(void)
{
	if (!board_area.table)
		return false;
	board_ikc_look();
	return board_echo_serve();
}

/**
 * board_ikc_explain() - what an error of IKC means
 */
const char *board_ikc_explain(int error)
{
	switch (-error) {
	case ENODEV:
		return "there is no IKC area: this kernel's host gives real-time programs none";
	case EPROTO:
		return "the host's IKC is of another version, or what it wrote makes no sense: install the same release on both sides";
	case EALREADY:
		return "the program takes part already";
	case EINVAL:
		return "there is no such channel, or a ring cannot be like that";
	case EBUSY:
		return "the channel is in use";
	case ENOTCONN:
		return "no program of the host has opened the channel";
	case EHOSTDOWN:
		return "the host takes no part";
	case EPIPE:
		return "the host's program has left";
	case EMSGSIZE:
		return "the message is too long";
	case EBADMSG:
		return "what the host's program wrote is no message";
	case EAGAIN:
		return "there is none, or no room";
	default:
		return "it failed";
	}
}
