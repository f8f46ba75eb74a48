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

/**
 * spumone_rt_start() - let an RTOS share a CPU with this kernel
 * @cpu: the layer is under it
 * @image: see uapi/shimos_rt.h
 * @len: its bytes
 * @memory: bytes for it, whole pages
 * @c: why not
 *
 * The CPU stays online until it is stopped.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int spumone_rt_start(unsigned int cpu, const void *image, u64 len, u64 memory,
		     struct complaint *c);

/**
 * spumone_rt_stop() - the RTOS of a CPU is gone, with its memory
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is none.
 */
int spumone_rt_stop(unsigned int cpu);

/**
 * spumone_rt_poweroff() - ask the RTOS of a CPU to end
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is none.  It ends when it wants to.
 */
int spumone_rt_poweroff(unsigned int cpu);

/**
 * spumone_rt_read() - copy what is in the memory of a CPU's RTOS
 *
 * It writes there meanwhile, and may be hostile: look at the copy.
 *
 * Context: may sleep.
 * Return: bytes copied, fewer at the end of its memory, 0 if there is none.
 */
u64 spumone_rt_read(unsigned int cpu, u64 at, void *to, u64 len);

#endif
