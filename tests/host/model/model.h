/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The accesses of ring.h and heap.c under the model checker: included before
 * atomics.h, which leaves them to us because of IKC_MODEL.  Each knows the
 * function it stands in, so that a mutation can take out just that one.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#define IKC_MODEL

enum model_order { MODEL_PLAIN, MODEL_RELEASE };
enum model_rmw { MODEL_STORE, MODEL_CAS, MODEL_OR, MODEL_ANDNOT };

__u64 model_load(const volatile void *at, unsigned int size, const char *func);
void model_store(volatile void *at, unsigned int size, __u64 value,
		 enum model_order order, const char *func);
__u64 model_rmw(volatile void *at, unsigned int size, enum model_rmw op, __u64 a,
		__u64 b, const char *func);
void model_bits(volatile __u32 *at, enum model_rmw op, __u32 bits, const char *func);
void model_mb(const char *func);
void model_copy_in(void *slot, const void *from, unsigned int len, const char *func);
void model_copy_out(void *to, const void *slot, unsigned int len, const char *func);

#define READ_ONCE(x)							\
	((__typeof__(x))model_load(&(x), sizeof(x), __func__))
#define WRITE_ONCE(x, value)						\
	model_store(&(x), sizeof(x), value, MODEL_PLAIN, __func__)
#define smp_load_acquire(ptr)						\
	((__typeof__(*(ptr)))model_load(ptr, sizeof(*(ptr)), __func__))
#define smp_store_release(ptr, value)					\
	model_store(ptr, sizeof(*(ptr)), value, MODEL_RELEASE, __func__)
#define smp_mb()	model_mb(__func__)
#define cmpxchg(ptr, old, new)						\
	({ (__typeof__(*(ptr)))model_rmw(ptr, sizeof(*(ptr)), MODEL_CAS,	\
					 old, new, __func__); })
#define ikc_fetch_or64(ptr, bits)	model_rmw(ptr, 8, MODEL_OR, bits, 0, __func__)
#define ikc_fetch_andnot64(ptr, bits)	model_rmw(ptr, 8, MODEL_ANDNOT, bits, 0, __func__)
#define ikc_or32(ptr, bits)	model_bits(ptr, MODEL_OR, bits, __func__)
#define ikc_andnot32(ptr, bits)	model_bits(ptr, MODEL_ANDNOT, bits, __func__)
#define ikc_copy_in(slot, from, len)	model_copy_in(slot, from, len, __func__)
#define ikc_copy_out(to, slot, len)	model_copy_out(to, slot, len, __func__)

#endif
