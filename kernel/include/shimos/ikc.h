/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inter-kernel communication: the doorbell, an interrupt that one kernel raises
 * on a CPU of another (SHIMOS 2009, section 3.3.2).
 */
#ifndef _SHIMOS_IKC_H
#define _SHIMOS_IKC_H

#include <linux/notifier.h>
#include <uapi/shimos_shared.h>

/**
 * struct ikc_bell_user - somebody who wants to hear this kernel's doorbell
 * @rang:  called in hard interrupt context each time it rings
 * @moved: called when the bell's CPU or vector changed, so that it can be
 *         published anew; hard interrupt context, interrupts off
 */
struct ikc_bell_user {
	void (*rang)(void);
	void (*moved)(const struct shimos_bell *bell);
};

/* One user per kernel: KLoader on the host, the agent in a partition. */
int ikc_bell_open(const struct ikc_bell_user *user);
void ikc_bell_close(void);

/* Where this kernel's doorbell is now. */
void ikc_bell_get(struct shimos_bell *bell);

/*
 * Ring the doorbell that a peer published.  Any context, NMI included.  Returns
 * false if the peer published none or nonsense.
 */
bool ikc_bell_ring(const struct shimos_bell *peer);

#endif
