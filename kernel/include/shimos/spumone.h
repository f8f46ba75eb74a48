/* SPDX-License-Identifier: GPL-2.0 */
/* What other modules may ask of SPUMONE's Linux side. */
#ifndef _SHIMOS_SPUMONE_H
#define _SHIMOS_SPUMONE_H

#include <linux/types.h>

struct complaint;
struct layer_shared;

/**
 * spumone_launch() - put the layer under a CPU of this kernel
 * @cpu: it must be online; if it goes off and comes again, so does the layer
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0, -EALREADY, or an error.
 */
int spumone_launch(unsigned int cpu, struct complaint *c);

/**
 * spumone_leave() - take the layer away from under a CPU
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is none.
 */
int spumone_leave(unsigned int cpu);

/**
 * spumone_look() - what the layer under this CPU says of itself
 *
 * Context: on that CPU, interrupts off.  What has been delivered is counted.
 * Return: NULL if there is none under it.
 */
const struct layer_shared *spumone_look(void);

#endif
