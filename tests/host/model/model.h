/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The accesses of the code under the model checker: included before atomics.h,
 * which leaves them to us because of IKC_MODEL.  Each knows where it stands and
 * how it is written, so that a mutation can take out just that one.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#define IKC_MODEL

enum model_order { MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELEASE, MODEL_FULL };
enum model_op { MODEL_STORE, MODEL_CAS, MODEL_OR, MODEL_ANDNOT, MODEL_ADD };
enum model_fence { MODEL_MB, MODEL_RMB, MODEL_WMB };

/* An access in the code. */
struct model_site {
	const char *func, *text;
	unsigned int number;	/* from 1, when it was first come to */
	bool ordered;		/* it is there for more than its value */
};

#define MODEL_SITE(text_)						\
	({ static struct model_site site_ = { .func = __func__, .text = text_ }; &site_; })

__u64 model_load(struct model_site *site, const volatile void *at, unsigned int size,
		 enum model_order order);
void model_store(struct model_site *site, volatile void *at, unsigned int size,
		 __u64 value, enum model_order order);
/* Fully ordered if it succeeds, as in the kernel. */
__u64 model_rmw(struct model_site *site, volatile void *at, unsigned int size,
		enum model_op op, __u64 a, __u64 b);
/* Gives nothing back. */
void model_update(struct model_site *site, volatile void *at, unsigned int size,
		  enum model_op op, __u64 operand, enum model_order order);
void model_fence(struct model_site *site, enum model_fence kind);
void model_copy_in(struct model_site *site, void *slot, const void *from, unsigned int len);
void model_copy_out(struct model_site *site, void *to, const void *slot, unsigned int len);

#define READ_ONCE(x)							\
	((__typeof__(x))model_load(MODEL_SITE(#x), &(x), sizeof(x), MODEL_RELAXED))
#define WRITE_ONCE(x, value)						\
	model_store(MODEL_SITE(#x), &(x), sizeof(x), (__u64)(value), MODEL_RELAXED)
#define smp_load_acquire(ptr)						\
	((__typeof__(*(ptr)))model_load(MODEL_SITE(#ptr), ptr, sizeof(*(ptr)), MODEL_ACQUIRE))
#define smp_store_release(ptr, value)					\
	model_store(MODEL_SITE(#ptr), ptr, sizeof(*(ptr)), (__u64)(value), MODEL_RELEASE)
#define smp_mb()	model_fence(MODEL_SITE("smp_mb"), MODEL_MB)
#define smp_rmb()	model_fence(MODEL_SITE("smp_rmb"), MODEL_RMB)
#define smp_wmb()	model_fence(MODEL_SITE("smp_wmb"), MODEL_WMB)
#define cmpxchg(ptr, old, new)						\
	({ (__typeof__(*(ptr)))model_rmw(MODEL_SITE(#ptr ", " #old ", " #new), ptr, \
					 sizeof(*(ptr)), MODEL_CAS, old, new); })
#define ikc_fetch_or64(ptr, bits)					\
	model_rmw(MODEL_SITE(#ptr), ptr, 8, MODEL_OR, bits, 0)
#define ikc_fetch_andnot64(ptr, bits)					\
	model_rmw(MODEL_SITE(#ptr), ptr, 8, MODEL_ANDNOT, bits, 0)
#define ikc_or32(ptr, bits)						\
	model_update(MODEL_SITE(#ptr), ptr, 4, MODEL_OR, bits, MODEL_FULL)
#define ikc_andnot32(ptr, bits)						\
	model_update(MODEL_SITE(#ptr), ptr, 4, MODEL_ANDNOT, bits, MODEL_FULL)
#define ikc_copy_in(slot, from, len)	model_copy_in(MODEL_SITE("copy"), slot, from, len)
#define ikc_copy_out(to, slot, len)	model_copy_out(MODEL_SITE("copy"), to, slot, len)

#endif
