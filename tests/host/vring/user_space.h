/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What vqueue.c and recover.c use of the kernel, for user space.  Each access to
 * shared memory and each barrier can be watched, by thread: to end the owner at any
 * store, to change what it has just read, to see in what order it does things.
 */
#ifndef _VRING_USER_SPACE_H
#define _VRING_USER_SPACE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
#include <linux/virtio_blk.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* The standard's byte order is this machine's. */
#define __force
#define le16_to_cpu(x)	((u16)(x))
#define le32_to_cpu(x)	((u32)(x))
#define le64_to_cpu(x)	((u64)(x))
#define cpu_to_le16(x)	((__le16)(x))
#define cpu_to_le32(x)	((__le32)(x))

enum barrier { RMB, WMB, MB };

struct watch {
	void (*loaded)(const volatile void *at, size_t size);
	void (*storing)(volatile void *at, size_t size);
	void (*barrier)(enum barrier kind);
};

extern __thread struct watch watch;

#define READ_ONCE(x) ({							\
	__typeof__(x) value_ = *(const volatile __typeof__(x) *)&(x);	\
	if (watch.loaded)						\
		watch.loaded(&(x), sizeof(x));				\
	value_;								\
})

#define WRITE_ONCE(x, v) do {						\
	__typeof__(x) value_ = (v);					\
	if (watch.storing)						\
		watch.storing(&(x), sizeof(x));				\
	*(volatile __typeof__(x) *)&(x) = value_;			\
} while (0)

static inline void at_barrier(enum barrier kind)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (watch.barrier)
		watch.barrier(kind);
}

#define virt_rmb()	at_barrier(RMB)
#define virt_wmb()	at_barrier(WMB)
#define virt_mb()	at_barrier(MB)

/* For recover.c: where the driver's memory of that address is. */
void *phys_to_virt(u64 addr);

#endif
