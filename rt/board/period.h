/* SPDX-License-Identifier: GPL-2.0 */
/* Deadlines that come again and again, and what to do about those that were missed. */
#ifndef _RT_PERIOD_H
#define _RT_PERIOD_H

#include <stdint.h>

struct board_period {
	uint64_t deadline;	/* the next one, in cycles */
	uint64_t length;	/* between two of them */
};

/**
 * board_period_pass() - how many deadlines have come; then comes the first one that has not
 *
 * Deadlines are absolute: however late one is seen, those after it stay where they are.
 *
 * Return: 0 if it is too early, 1 if all is well, more if some were missed
 */
static inline uint64_t board_period_pass(struct board_period *period, uint64_t now)
{
	uint64_t count = 1;

	if ((int64_t)(now - period->deadline) < 0)
		return 0;
	period->deadline += period->length;
	/* a division takes longer than all else here, and it is hardly ever needed */
	if (__builtin_expect((int64_t)(now - period->deadline) >= 0, 0)) {
		count += (now - period->deadline) / period->length + 1;
		period->deadline += (count - 1) * period->length;
	}
	return count;
}

#endif
