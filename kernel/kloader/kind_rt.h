/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of real-time partitions share: kind_rt.c, and kind_rt_look.c below it. */
#ifndef _KIND_RT_H
#define _KIND_RT_H

#include <shimos/layer_abi.h>
#include <shimos/spumone.h>

#include "kloader.h"

/**
 * struct kind_rt - what KLoader knows of a real-time partition
 * @number: the layer's of it
 * @last: how it was when it was parked last; p->mutex
 * @late: the same of how late it was
 * @faults: of the host, before it was made
 * @reason: why it was ended, in words
 */
struct kind_rt {
	int number;
	struct layer_rt last;
	struct layer_late late;
	u64 faults;
	char reason[sizeof_field(struct partition, message)];
};

int kind_rt_hold(struct partition *p, struct complaint *c);
void kind_rt_now(struct partition *p, struct layer_rt *out);
u64 kind_rt_cycles_to_ns(u64 cycles);

#endif
