/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inter-kernel communication with programs on the host; docs/ikc.md is about it.
 *
 * The program's own loop drives it, and nothing here waits:
 *
 *	while (!board_asked_to_stop()) {
 *		if (board_ikc_serve())
 *			board_interrupts_take();
 *		else
 *			board_idle();
 *		board_interrupts_off();
 *	}
 *
 * One with channels looks at them as well, and halts only when board_ikc_arm() and, if it waits
 * for that, board_ikc_wait_for_room() allow it.  Who looks with interrupts off whether there is something to do misses no doorbell: it ends
 * board_idle().  All of this is for one task, and not for handlers.
 */
#ifndef _RT_IKC_H
#define _RT_IKC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include "shimos_ikc.h"

int board_ikc_join(void);
bool board_ikc_serve(void);
const char *board_ikc_explain(int error);

/* Channels, by this side's number: one program of the host's after the other. */
int board_ikc_open(unsigned int channel, unsigned int peer_channel, uint32_t slots,
		   uint32_t slot_size);
int board_ikc_next(unsigned int channel);
int board_ikc_read(unsigned int channel, void *data, uint32_t size, uint32_t *len);
bool board_ikc_arm(unsigned int channel);
int board_ikc_write(unsigned int channel, const void *data, uint32_t len);
void board_ikc_notify(unsigned int channel);
bool board_ikc_wait_for_room(unsigned int channel);
uint64_t board_ikc_rung(unsigned int channel);

#endif
