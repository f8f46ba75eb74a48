/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring whose owner has died: this kernel plays the device and answers each disk
 * request with an error.  Compiles in user space as well; tests/host/vring does so.
 */
#ifndef _SHIMOS_RECOVER_H
#define _SHIMOS_RECOVER_H

#include <shimos/virtqueue.h>
#include <uapi/shimos_virtio.h>

/**
 * struct dead_ring - a ring as the device sees it
 * @desc: its descriptors
 * @avail: what the driver offers
 * @used: what the device has done
 * @state: the owner's book
 * @size: descriptors, a power of two
 *
 * Nobody else is at it: the owner is gone.
 */
struct dead_ring {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_ring_state *state;
	u32 size;
};

/**
 * recover_fail_taken() - fail what the owner had begun with, as it stands in its book
 * @r: the ring
 *
 * Context: Any; once, before recover_fail_available().
 */
void recover_fail_taken(struct dead_ring *r);
/**
 * recover_fail_available() - fail what is available, and be told of the next one
 * @r: the ring
 *
 * Context: Any; one caller at a time.
 */
void recover_fail_available(struct dead_ring *r);

#endif
