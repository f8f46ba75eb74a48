/* SPDX-License-Identifier: GPL-2.0 */
/* Channels of programs: what channel.c does for device.c and look.c. */
#ifndef _IKC_CHANNEL_H
#define _IKC_CHANNEL_H

#include <linux/types.h>
#include <uapi/shimos_ikc.h>

struct complaint;
struct file;
struct ikc_channel;
struct poll_table_struct;
struct vm_area_struct;

/**
 * ikc_channel_new() - a channel for a program that has opened the device
 *
 * Context: may sleep.
 * Return: it, or NULL: no memory.
 */
struct ikc_channel *ikc_channel_new(void);

/**
 * ikc_channel_free() - the last reference to the file is gone, and with it all mappings
 * @ch: of ikc_channel_new()
 *
 * Context: may sleep.
 */
void ikc_channel_free(struct ikc_channel *ch);

/**
 * ikc_channel_open() - give a program a ring that it reads
 * @ch: its channel, which has none
 * @arg: what it asks for; gets the channel's number
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: it has one; -EINTR; or another error.
 */
int ikc_channel_open(struct ikc_channel *ch, struct ikc_open *arg, struct complaint *c);

/**
 * ikc_channel_connect() - give it the other program's ring, which it writes
 * @ch: open
 * @arg: how long to wait; gets the ring's shape
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error; -EOPNOTSUPP: rings of that kernel do not fill pages of this one.
 */
int ikc_channel_connect(struct ikc_channel *ch, struct ikc_connect *arg,
			struct complaint *c);

/**
 * ikc_channel_notify() - ring the other program
 * @ch: of the caller
 *
 * Context: any but NMI.
 * Return: 0; -ENOTCONN: not connected; -EPIPE: the other one is gone.
 */
int ikc_channel_notify(struct ikc_channel *ch);

/**
 * ikc_channel_eventfd() - tell an eventfd when it was rung
 * @ch: of the caller
 * @fd: the eventfd's; negative: none any more
 *
 * Context: may sleep.
 * Return: 0, -EINTR, or as eventfd_ctx_fdget().
 */
int ikc_channel_eventfd(struct ikc_channel *ch, int fd);

/**
 * ikc_channel_mmap() - map a ring into the program
 * @ch: of the caller
 * @vma: from which offset, and how much
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: more than there is, or not shared; or another error.
 */
int ikc_channel_mmap(struct ikc_channel *ch, struct vm_area_struct *vma);

/**
 * ikc_channel_poll() - is there a packet, or room for one?
 * @ch: of the caller
 * @file: its file
 * @table: as for poll_wait()
 *
 * Context: may sleep.
 * Return: EPOLL*; EPOLLERR: it is not open; EPOLLHUP: the other one is gone.
 */
__poll_t ikc_channel_poll(struct ikc_channel *ch, struct file *file,
			  struct poll_table_struct *table);

/**
 * ikc_channel_rang() - a kernel rang for the program's ring, or for room in the one it writes
 * @kernel: which
 * @queue: of the program
 *
 * Context: RCU; interrupt.
 */
void ikc_channel_rang(unsigned int kernel, unsigned int queue);

/**
 * ikc_channels_update() - hang up channels whose other end is gone
 *
 * Context: ikc_peers_mutex.
 */
void ikc_channels_update(void);

#endif
