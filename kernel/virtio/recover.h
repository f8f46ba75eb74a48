/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring whose owner has died: this kernel plays the device and answers each disk
 * request with an error.  Compiles in user space as well; tests/host/vring does so.
 */
#ifndef _SHIMOS_RECOVER_H
#define _SHIMOS_RECOVER_H

#include <shimos/virtqueue.h>
#include <uapi/shimos_virtio.h>

/* A ring as the device sees it.  Nobody else is at it: the owner is gone. */
struct dead_ring {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_ring_state *state;
	u32 size;
};

/* Once: what the owner had begun with, as it stands in its book. */
void fail_taken(struct dead_ring *r);
/* What is available, and be told of the next one.  One caller at a time. */
void fail_available(struct dead_ring *r);

#endif
