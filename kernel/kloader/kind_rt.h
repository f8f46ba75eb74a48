/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of real-time partitions share: kind_rt.c, and kind_rt_look.c below it. */
#ifndef _KIND_RT_H
#define _KIND_RT_H

#include <shimos/layer_abi.h>
#include <shimos/spumone.h>

#include "kloader.h"

struct kind_rt {
	int number;	/* the layer's of it */
	/* How it was when it was parked last; p->mutex. */
	struct layer_rt last;
	struct layer_late late;
	u64 faults;	/* of the host, before it was made */
	char reason[sizeof_field(struct partition, message)];
};

/* Nobody removes it, and it stays up or down, until p->mutex is given back; -ENOENT. */
int kind_rt_hold(struct partition *p, struct complaint *c);
/* How it is, or was when it ran last.  p->mutex is held. */
void kind_rt_now(struct partition *p, struct layer_rt *out);
u64 kind_rt_cycles_to_ns(u64 cycles);

#endif
