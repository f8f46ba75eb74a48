// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include "text.h"

/**
 * board_ring_put() - write to the ring of the console, over the oldest bytes
 *
 * One writer at a time.  Its readers look at the head before and after they copy, so all
 * that counts here is that bytes are there before the head says so.
 */
void board_ring_put(struct shimos_console_out *ring, const char *text, size_t length)
{
	__u64 head = ring->head;
	size_t at, now;

	while (length) {
		at = head % SHIMOS_CONSOLE_OUT_LEN;
		now = SHIMOS_CONSOLE_OUT_LEN - at;
		if (now > length)
			now = length;
		memcpy(ring->data + at, text, now);
		head += now;
		text += now;
		length -= now;
	}
	/* pairs with KLoader's acquire when it reads the head */
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
}
