// SPDX-License-Identifier: GPL-2.0
/* Asking the kernel of a partition to take a CPU or memory, or to leave it. */
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "arch.h"
#include "resize.h"

/* How long its kernel may take; emulated ones may be starved. */
#define RESIZE_ANSWER	(30 * HZ)

/**
 * resize_ask() - ask it
 * @p: runs, and has an agent
 * @request: for what
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0; -ENOTCONN: it does not hear.
 */
int resize_ask(struct partition *p, const struct resize_request *request, struct complaint *c)
{
	lockdep_assert_held(&p->mutex);
	p->resize_number++;
	WRITE_ONCE(p->shared->resize_what, request->what);
	WRITE_ONCE(p->shared->resize_cpu, request->cpu);
	WRITE_ONCE(p->shared->resize_start, request->range.start);
	WRITE_ONCE(p->shared->resize_size, request->range.size);
	WRITE_ONCE(p->shared->resize_number, p->resize_number);
	smp_wmb();	/* pairs with the agent's xchg(): the request says that these are there */
	WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_RESIZE);
	smp_wmb();	/* the agent reads the request after the ring */
	if (p->kind->ring(p))
		return 0;
	WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_NONE);
	return shimos_refuse(c, -ENOTCONN, "the agent of '%s' has no doorbell on a CPU of its own",
			     p->name);
}

/* It has answered, or is not what it was: then it will not. */
static bool resize_is_over(struct partition *p, u32 starts)
{
	return READ_ONCE(p->starts) != starts || !state_is_up(p) ||
	       READ_ONCE(p->shared->resized) == p->resize_number;
}

/**
 * resize_answer() - wait for its answer
 * @p: was asked
 * @starts: of it, then
 * @c: why it has not done it
 *
 * Context: may sleep for half a minute; without p->mutex, for it must be possible to kill it.
 * Return: 0: it has; -ESHUTDOWN: it has ended; -ETIMEDOUT: it may still do it; -EBUSY: it will not.
 */
int resize_answer(struct partition *p, u32 starts, struct complaint *c)
{
	int ret;

	/* all of its kernel's rings end here, and so do its life's steps */
	wait_event_timeout(p->console_wait, resize_is_over(p, starts), RESIZE_ANSWER);
	if (READ_ONCE(p->starts) != starts || !state_is_up(p))
		return shimos_refuse(c, -ESHUTDOWN, "'%s' has ended meanwhile", p->name);
	/* pairs with the agent's release: its error is there */
	if (smp_load_acquire(&p->shared->resized) != p->resize_number)
		return shimos_refuse(c, -ETIMEDOUT,
				     "the kernel of '%s' has not answered for %u seconds; what it was to get is its own until it lets it go",
				     p->name, RESIZE_ANSWER / HZ);
	ret = READ_ONCE(p->shared->resize_error);
	if (ret == -ENOMEM)
		return shimos_refuse(c, -EBUSY, "'%s' has not enough memory for that: free some in it first",
				     p->name);
	if (ret)
		return shimos_refuse(c, -EBUSY, "the kernel of '%s' refuses (error %d): see shimos logs %s",
				     p->name, ret, p->name);
	return 0;
}
