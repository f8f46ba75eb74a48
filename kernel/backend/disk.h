/* SPDX-License-Identifier: GPL-2.0 */
/* What disk.c (threads, claiming) and disk_request.c (virtio-blk) share. */
#ifndef _SHIMOS_DISK_H
#define _SHIMOS_DISK_H

#include <linux/blkdev.h>
#include <linux/wait.h>
#include <shimos/compat.h>

#include "backend.h"
#include "poll.h"

/**
 * struct disk_queue - one ring of a disk
 * @disk: whose
 * @ring: the ring
 * @thread: takes from it when it was rung
 * @kicked: there may be requests
 * @mutex: guards the taking end of the ring
 * @serving: cleared without the mutex, which is then awaited
 * @chain: mutex: the request being looked at
 * @poll: the thread's own: how long it looks for the next request before it sleeps
 * @ranges: mutex: discards and zeroes that are under way
 * @batching: the thread's own: it is about to call the user for several at once
 * @batched: completed since the last call
 * @in_flight: taken and not completed.  Who waits for 0 frees the queue, so whoever makes it 0
 *	may use only its address afterwards: wake_up_var()
 */
struct disk_queue {
	struct disk *disk;
	struct backend_ring *ring;
	struct task_struct *thread;
	bool kicked;
	struct mutex mutex;
	bool serving;
	struct vqueue_chain chain;
	struct poll poll;
	struct list_head ranges;
	bool batching;
	unsigned int batched;
	atomic_t in_flight;
};

/**
 * struct disk - a block device of this kernel that is shared
 * @backend: the shared device
 * @bdev: claimed
 * @read_only: nobody may write
 * @sectors: of 512 bytes
 * @block: bytes, what requests are a multiple of
 * @queue: one per ring
 */
struct disk {
	struct backend *backend;
	struct compat_bdev bdev;
	bool read_only;
	u64 sectors;
	unsigned int block;
	struct disk_queue queue[];
};

/* Requests that may complete before the user is called. */
#define DISK_BATCH	16

/* Sectors of one write-zeroes request; larger ones the user's kernel splits. */
#define DISK_MAX_ZEROES	(SZ_1G / SECTOR_SIZE)

/* Requests that are taken before the thread looks whether it shall stop. */
#define DISK_BUDGET	64

/**
 * disk_end_batch() - call the user for what was completed since the last call
 * @q: the thread's
 *
 * Context: the thread.
 */
static inline void disk_end_batch(struct disk_queue *q)
{
	if (q->batched)
		backend_call(q->ring);
	q->batched = 0;
}

/**
 * disk_request() - begin with a request
 * @q: the queue; the request is in q->chain
 *
 * Context: The queue's thread, q->mutex.
 */
void disk_request(struct disk_queue *q);
/**
 * disk_range_step() - go on with a discard or write of zeroes
 * @q: the queue
 *
 * Does a piece that does not take long.
 *
 * Context: The queue's thread, q->mutex.
 * Return: whether there is more to do.
 */
bool disk_range_step(struct disk_queue *q);
/**
 * disk_range_cancel() - complete all of those that are left with an error
 * @q: the queue
 *
 * Context: q->mutex.
 */
void disk_range_cancel(struct disk_queue *q);

/**
 * disk_requests_init() - put memory aside for requests
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int disk_requests_init(void);
/**
 * disk_requests_exit() - give it back; no request is under way
 *
 * Context: May sleep.
 */
void disk_requests_exit(void);

/* ---- disk.c ---- */

/**
 * disk_add() - share a disk
 * @arg:  what is asked for, checked in part; gets the id
 * @c: gets the reason if not
 *
 * Context: The caller's descriptors are used.  May sleep.
 * Return: 0 or a negative errno.
 */
int disk_add(struct shimos_dev_add_disk *arg, struct complaint *c);

#endif
