/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints that the kernel does not export, found by their names. */
#ifndef _SHIMOS_TRACEPOINTS_H
#define _SHIMOS_TRACEPOINTS_H

#include <linux/types.h>

struct tracepoint;

/**
 * struct shimos_tracepoint - a tracepoint, and who wants to hear of it
 * @name: of the tracepoint
 * @probe: with the tracepoint's own arguments, after a void * that is NULL
 * @point: the two functions' own: the tracepoint
 * @heard: the same: the probe is registered
 */
struct shimos_tracepoint {
	const char *name;
	void *probe;
	/* the two functions' own */
	struct tracepoint *point;
	bool heard;
};

int shimos_tracepoints_hear(struct shimos_tracepoint *points, unsigned int count,
			    const char **missing);
void shimos_tracepoints_leave(struct shimos_tracepoint *points, unsigned int count);

#endif
