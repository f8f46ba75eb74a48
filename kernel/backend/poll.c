// SPDX-License-Identifier: GPL-2.0
/*
 * Polling: to be woken by a doorbell costs both kernels more than to look for the next request
 * for as long as it usually takes.  Who polls has not asked for a doorbell, and the user rings
 * none: see vqueue_disable_notify().
 */
#include <linux/minmax.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>
#include <linux/time64.h>

#include "poll.h"

#define POLL_LEAST	(10 * NSEC_PER_USEC)
/* A request that takes longer is not waited for: to sleep costs less than that. */
#define POLL_MOST	(200 * NSEC_PER_USEC)

/* local_clock() of another CPU may be a little behind. */
static u64 poll_elapsed(u64 since)
{
	return max_t(s64, local_clock() - since, 0);
}

void poll_init(struct poll *p)
{
	p->since = 0;
	p->wait = U64_MAX;
}

void poll_came(struct poll *p)
{
	if (p->since)
		p->wait = poll_elapsed(p->since);
	p->since = 0;
}

u64 poll_for_more(struct poll *p, const struct vqueue *v, const bool *serving)
{
	u64 limit, spent = 0;

	p->since = local_clock();
	if (p->wait > POLL_MOST)
		return 0;
	limit = clamp_t(u64, 2 * p->wait, POLL_LEAST, POLL_MOST);
	while (!vqueue_has_more(v) && spent < limit && READ_ONCE(*serving) &&
	       single_task_running() && !need_resched()) {
		cpu_relax();
		spent = poll_elapsed(p->since);
	}
	return spent;
}
