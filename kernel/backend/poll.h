/* SPDX-License-Identifier: GPL-2.0 */
/* Looking for the next request for a moment, before a thread sleeps until it is rung for it. */
#ifndef _SHIMOS_POLL_H
#define _SHIMOS_POLL_H

#include <linux/types.h>

#include "vqueue.h"

/**
 * struct poll - how long a ring's next request is looked for; its thread's own
 * @since: when there was none any more, ns of local_clock(); 0: there is one
 * @wait: how long the last one was in coming, ns
 */
struct poll {
	u64 since;
	u64 wait;
};

/**
 * poll_init() - begin to know a ring
 * @p: filled in: nothing is looked for until one has come soon
 *
 * Context: Any.
 */
void poll_init(struct poll *p);
/**
 * poll_came() - there may be requests
 * @p: learns how long they were in coming
 *
 * Context: The ring's thread.
 */
void poll_came(struct poll *p);
/**
 * poll_for_more() - there is none, and the user does not ring: look for one
 * @p:       of the ring
 * @v:       the ring
 * @serving: cleared when the thread is awaited
 *
 * Twice as long as the last one was in coming, if that was short, and only while nothing else
 * wants this CPU.
 *
 * Context: The ring's thread.  Does not sleep.
 * Return: ns for which it looked.
 */
u64 poll_for_more(struct poll *p, const struct vqueue *v, const bool *serving);

#endif
