// SPDX-License-Identifier: GPL-2.0
/*
 * hang: takes its CPU for ever, before all but interrupts.  A kernel of one CPU does nothing
 * else any more, unless it keeps a part for others (sched_rt_runtime_us).
 */
#include <sched.h>

#include "must.h"

int main(void)
{
	struct sched_param first = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };

	MUST(sched_setscheduler(0, SCHED_FIFO, &first) == 0);
	for (;;)
		;
}
