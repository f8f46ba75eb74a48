/* SPDX-License-Identifier: GPL-2.0 */
/* What disk.c (threads, claiming) and disk_request.c (virtio-blk) share. */
#ifndef _SHIMOS_DISK_H
#define _SHIMOS_DISK_H

#include <linux/blkdev.h>
#include <linux/wait.h>
#include <shimos/compat.h>

#include "backend.h"

struct disk_queue {
	struct disk *disk;
	struct backend_ring *ring;
	struct task_struct *thread;
	bool kicked;			/* there may be requests */
	struct mutex mutex;		/* guards the taking end of the ring */
	bool serving;			/* cleared without the mutex, which is then awaited */
	struct vring_chain chain;	/* mutex: the request being looked at */
	/* the thread's own: it is about to call the user for several at once */
	bool batching;
	unsigned int batched;		/* completed since the last call */
	atomic_t in_flight;		/* taken and not completed */
	wait_queue_head_t idle;		/* in_flight became 0 */
};

struct disk {
	struct backend *backend;
	struct compat_bdev bdev;
	bool read_only;
	u64 sectors;			/* of 512 bytes */
	unsigned int block;		/* bytes, what requests are a multiple of */
	struct disk_queue queue[];	/* one per ring */
};

/* Requests that may complete before the user is called. */
#define DISK_BATCH	16

/* Sectors of one write-zeroes request; larger ones the user's kernel splits. */
#define DISK_MAX_ZEROES	(SZ_1G / SECTOR_SIZE)

/* Requests that are taken before the thread looks whether it shall stop. */
#define DISK_BUDGET	64

/* Call the user for what was completed since the last call.  The thread. */
static inline void disk_end_batch(struct disk_queue *q)
{
	if (q->batched)
		backend_call(q->ring);
	q->batched = 0;
}

/* Begin with the request in q->chain.  Process context. */
void disk_request(struct disk_queue *q);

int disk_requests_init(void);
void disk_requests_exit(void);

#endif
