/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inter-kernel communication for KLoader, which says what kernels there are: the area is the host's,
 * and so is the table in it.
 */
#ifndef _SHIMOS_IKC_HOST_H
#define _SHIMOS_IKC_HOST_H

#include <shimos/ikc.h>

/**
 * ikc_host_init() - make the area and attach as kernel 0
 * @owner: as for ikc_attach()
 * @share: told of each chunk's physical address before any other kernel hears of it; may sleep
 *
 * Context: may sleep.
 * Return: 0 or an error; then nothing is left.
 */
int ikc_host_init(struct module *owner, void (*share)(unsigned int chunk, u64 physical));

/**
 * ikc_host_exit() - detach, and free the area
 *
 * Context: may sleep.  All other kernels are gone.
 */
void ikc_host_exit(void);

/**
 * ikc_host_area() - the physical address of chunk 0
 *
 * Context: any.
 */
u64 ikc_host_area(void);		/* physical address of chunk 0 */

/**
 * ikc_host_add() - there is a new kernel, which does not run yet
 * @name: what the user calls it
 * @range: its memory
 * @ranges: how many ranges
 * @cpu: the hardware ids of its CPUs
 * @cpus: how many
 * @bell: the SHIMOS_BELL of one that has no CPU of its own, else 0
 * @guarded: it reaches no memory but its own and the area
 *
 * Context: may sleep.
 * Return: its number; -ENOSPC: there are too many; -EINVAL: too many CPUs.
 */
int ikc_host_add(const char *name, const struct ikc_range *range, u32 ranges,
		 const u64 *cpu, u32 cpus, u64 bell, bool guarded);

/**
 * ikc_host_resize() - a kernel has got memory, or loses some
 * @number: of ikc_host_add()
 * @range: all of it; those that it has had since it started are the first, and unchanged
 * @ranges: how many ranges
 * @timeout_ms: how long others may take to go by it, in milliseconds
 *
 * Context: may sleep.
 * Return: 0: all kernels that run go by it; -ETIMEDOUT: one does not, yet; -EINVAL: too many ranges,
 *	or too few.
 */
int ikc_host_resize(u32 number, const struct ikc_range *range, u32 ranges, unsigned int timeout_ms);

/**
 * ikc_host_held() - does a partition that runs hold a kernel's memory?
 * @number: of ikc_host_add()
 *
 * Context: any.
 * Return: the partition's number, or -1.
 */
int ikc_host_held(u32 number);

/**
 * ikc_host_remove() - a kernel is gone for good
 * @number: of ikc_host_add(); it is down
 *
 * Context: may sleep.
 */
void ikc_host_remove(u32 number);

/**
 * ikc_host_move_bell() - one that was added with a bell has another
 * @number: of ikc_host_add()
 * @bell: a SHIMOS_BELL; on return the host rings only that
 *
 * Context: may sleep.
 */
void ikc_host_move_bell(u32 number, u64 bell);

/**
 * ikc_host_confine() - a kernel's PCI devices reach its own memory only
 * @number: of ikc_host_add(); it is down
 *
 * Context: may sleep.
 */
void ikc_host_confine(u32 number);

/**
 * ikc_host_up() - its CPUs are about to run
 * @number: of ikc_host_add()
 *
 * Context: may sleep.
 * Return: the number of this life.
 */
u32 ikc_host_up(u32 number);

/**
 * ikc_host_down() - it does not run any more
 * @number: of ikc_host_add()
 * @stuck: not even that is sure, or its devices may still write: nobody talks to it, and what it
 *	has is not taken back until this is called again
 *
 * Context: may sleep.
 */
void ikc_host_down(u32 number, bool stuck);

/**
 * ikc_host_wait_unheld() - wait until nobody holds a kernel's memory
 * @number: of ikc_host_add(); it is down
 * @timeout_ms: how long, in milliseconds
 *
 * Context: may sleep.
 * Return: -1, or the number of a kernel that held it all of the time.
 */
int ikc_host_wait_unheld(u32 number, unsigned int timeout_ms);

#endif
