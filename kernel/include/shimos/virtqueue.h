/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words of a virtqueue, which are little endian (virtio 1.2, section 1.4), each read
 * and written once.  Compiles in user space as well; tests/host/vring does so.
 */
#ifndef _SHIMOS_VIRTQUEUE_H
#define _SHIMOS_VIRTQUEUE_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#else
#include "user_space.h"
#endif
#include <linux/virtio_ring.h>

/**
 * vq_get16() - read a word of 16 bits, once
 * @from: in shared memory
 */
static inline u16 vq_get16(const __virtio16 *from)
{
	return le16_to_cpu((__force __le16)READ_ONCE(*from));
}

/**
 * vq_put16() - write a word of 16 bits, once
 * @to: in shared memory
 * @value: in this CPU's byte order
 */
static inline void vq_put16(__virtio16 *to, u16 value)
{
	WRITE_ONCE(*to, (__force __virtio16)cpu_to_le16(value));
}

/**
 * vq_put32() - write a word of 32 bits, once
 * @to: in shared memory
 * @value: in this CPU's byte order
 */
static inline void vq_put32(__virtio32 *to, u32 value)
{
	WRITE_ONCE(*to, (__force __virtio32)cpu_to_le32(value));
}

/**
 * struct vq_desc - a descriptor in this CPU's byte order (virtio 1.2, section 2.7.5)
 * @addr: physical, of the user's
 * @len: bytes
 * @flags: VRING_DESC_F_*
 * @next: the next one, if @flags say that there is one
 */
struct vq_desc {
	u64 addr;
	u32 len;
	u16 flags, next;
};

/**
 * vq_get_desc() - copy a descriptor, each word read once
 * @from: in shared memory; what is there may change meanwhile
 */
static inline struct vq_desc vq_get_desc(const struct vring_desc *from)
{
	struct vq_desc d = {
		.addr = le64_to_cpu((__force __le64)READ_ONCE(from->addr)),
		.len = le32_to_cpu((__force __le32)READ_ONCE(from->len)),
		.flags = vq_get16(&from->flags),
		.next = vq_get16(&from->next),
	};

	return d;
}

#endif
