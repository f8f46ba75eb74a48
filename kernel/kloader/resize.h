/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of resizing share.  Calls go down: resize.c; resize_cpu.c, resize_memory.c; resize_agent.c. */
#ifndef _KLOADER_RESIZE_H
#define _KLOADER_RESIZE_H

#include "kloader.h"

/**
 * struct resize_request - what a partition's kernel is asked for
 * @what: enum shimos_resize_what
 * @cpu: of a CPU its hardware id
 * @range: of memory where it is
 */
struct resize_request {
	u32 what;
	u64 cpu;
	struct shimos_range range;
};

/* resize_cpu.c */
int resize_cpu_check(struct partition *p, const struct shimos_resize *arg, struct complaint *c);
int resize_cpu(struct partition *p, const struct shimos_resize *arg, u32 starts,
	       struct complaint *c);

/* resize_memory.c */
int resize_memory_check(struct partition *p, const struct shimos_resize *arg, struct complaint *c);
int resize_memory(struct partition *p, struct shimos_resize *arg, u32 starts,
		  struct complaint *c);

/* resize_agent.c */
int resize_ask(struct partition *p, const struct resize_request *request, struct complaint *c);
int resize_answer(struct partition *p, u32 starts, struct complaint *c);

#endif
