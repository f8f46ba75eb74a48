/* SPDX-License-Identifier: GPL-2.0 */
/*
 * By which SGIs this kernel hears its doorbells.
 *
 * Calls go down: bell.c, which says where the bells are; own.c or spare.c.
 */
#ifndef _IKC_ARM64_SGI_H
#define _IKC_ARM64_SGI_H

#include <linux/types.h>

/**
 * enum arm64_bell_kind - what a bell is for
 * @ARM64_BELL_CONTROL: the control bell
 * @ARM64_BELL_QUEUE: queues
 * @ARM64_BELL_KINDS: how many kinds there are
 */
enum arm64_bell_kind { ARM64_BELL_CONTROL, ARM64_BELL_QUEUE, ARM64_BELL_KINDS };

/**
 * struct arm64_bell_sgis - a way to hear them
 * @sgi: of each kind
 * @request: on no CPU yet; 0 or what shimos_sgi_map() and request_percpu_irq() say.  May sleep
 * @release: of what was requested.  May sleep
 * @enable: this CPU hears them from now on; false: it cannot
 * @disable: this CPU, which did, hears them no more
 *
 * The last two are called on the CPU itself, with preemption off.
 */
struct arm64_bell_sgis {
	u32 sgi[ARM64_BELL_KINDS];
	int (*request)(void);
	void (*release)(void);
	bool (*enable)(void);
	void (*disable)(void);
};

extern const struct arm64_bell_sgis arm64_own_sgis, arm64_spare_sgi;

/**
 * arm64_bell_rang() - any bell of this kind on this CPU
 * @kind: which
 *
 * After one that has just left, those who moved it look.
 *
 * Context: hard interrupt.
 */
void arm64_bell_rang(enum arm64_bell_kind kind);

#endif
