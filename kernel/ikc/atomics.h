/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The kernel's names for shared-memory accesses, so that the ring and the
 * allocator compile in user space as well: in programs, in the unit tests and
 * under the model checker, which brings its own definitions (IKC_MODEL).
 */
#ifndef _IKC_ATOMICS_H
#define _IKC_ATOMICS_H

#if defined(__KERNEL__)

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#define ikc_fetch_or64(ptr, bits)	\
	atomic64_fetch_or(bits, (atomic64_t *)(ptr))
#define ikc_fetch_andnot64(ptr, bits)	\
	atomic64_fetch_andnot(bits, (atomic64_t *)(ptr))
/* Not atomic_or(), which orders nothing: the allocator's hints rely on it. */
#define ikc_or32(ptr, bits)		\
	((void)atomic_fetch_or(bits, (atomic_t *)(ptr)))
#define ikc_andnot32(ptr, bits)		\
	((void)atomic_fetch_andnot(bits, (atomic_t *)(ptr)))
#define ikc_copy_in(slot, from, len)	memcpy(slot, from, len)
#define ikc_copy_out(to, slot, len)	memcpy(to, slot, len)

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

#ifndef IKC_MODEL
#ifndef READ_ONCE
#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)		__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#endif
/* a barrier's partner is named where it is used */
#define smp_load_acquire(ptr)		__atomic_load_n(ptr, __ATOMIC_ACQUIRE)
/* the same */
#define smp_store_release(ptr, value)	__atomic_store_n(ptr, value, __ATOMIC_RELEASE)

/**
 * ikc_full_barrier() - what the kernel calls smp_mb()
 */
static inline void ikc_full_barrier(void)
{
#if defined(__x86_64__)
	/* what the kernel does: cheaper than mfence, as full for ordinary memory */
	__asm__ __volatile__("lock; addl $0,-4(%%rsp)" ::: "memory", "cc");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/**
 * ikc_barrier_after_rmw() - make C's read-modify-write as full a barrier as the kernel's
 *
 * On arm64 what comes behind C's may be done before its store (ldaxr, stlxr).
 */
static inline void ikc_barrier_after_rmw(void)
{
#if !defined(__x86_64__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#define IKC_RMW(value) ({						\
	__typeof__(value) value_ = (value);				\
	ikc_barrier_after_rmw();					\
	value_; })

/* the same */
#define smp_mb()			ikc_full_barrier()
#define cmpxchg(ptr, old, new) ({					\
	__typeof__(*(ptr)) old_ = (old);				\
	__atomic_compare_exchange_n(ptr, &old_, new, 0,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);\
	ikc_barrier_after_rmw();					\
	old_; })
#define ikc_fetch_or64(ptr, bits)	\
	IKC_RMW(__atomic_fetch_or(ptr, bits, __ATOMIC_SEQ_CST))
#define ikc_fetch_andnot64(ptr, bits)	\
	IKC_RMW(__atomic_fetch_and(ptr, ~(bits), __ATOMIC_SEQ_CST))
#define ikc_or32(ptr, bits)		\
	((void)IKC_RMW(__atomic_fetch_or(ptr, bits, __ATOMIC_SEQ_CST)))
#define ikc_andnot32(ptr, bits)		\
	((void)IKC_RMW(__atomic_fetch_and(ptr, ~(bits), __ATOMIC_SEQ_CST)))
#define ikc_copy_in(slot, from, len)	memcpy(slot, from, len)
#define ikc_copy_out(to, slot, len)	memcpy(to, slot, len)
#endif

#endif
#endif
