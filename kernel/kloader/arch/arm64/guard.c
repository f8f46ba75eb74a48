// SPDX-License-Identifier: GPL-2.0
/* Guarded partitions, of which there are none on arm64. */
#include "arch.h"

int kloader_arch_check_guard(struct complaint *c)
{
	return shimos_refuse(c, -EOPNOTSUPP,
			     "a partition's kernel can be guarded on x86 processors with SVM only");
}

bool kloader_arch_guard_ended(struct partition *p)
{
	return false;
}

const char *kloader_arch_guard_words(struct partition *p)
{
	return NULL;
}

void kloader_arch_guard_counts(struct partition *p, u64 *exits, u64 *strays)
{
	*exits = *strays = 0;
}

void kloader_arch_share(unsigned int chunk, u64 physical)
{
}
