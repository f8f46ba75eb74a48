/* SPDX-License-Identifier: GPL-2.0 */
/* The user's side of shared devices: what the files of the transport share. */
#ifndef _SHIMOS_TRANSPORT_H
#define _SHIMOS_TRANSPORT_H

#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>
#include <uapi/shimos_virtio.h>

/* A device that another kernel owns and this one uses. */
struct shimos_device {
	struct virtio_device vdev;	/* while registered: for virtio's core */
	struct kref ref;
	struct list_head link;		/* devices_mutex of packets.c; doorbells under RCU */
	u32 owner, id;
	struct shimos_virtio_device desc;	/* as the owner described it; config: lock */
	u32 generation;			/* of config; lock */
	spinlock_t lock;		/* guards config, answer, removal */
	struct mutex mutex;		/* the steps of its life: guards the next two */
	bool registered;
	bool forgotten;			/* the driver has let go */
	bool unlisted;			/* devices_mutex of packets.c */
	bool started;			/* the owner works on the rings */
	u8 status;			/* as the driver sees it */

	u32 asked;			/* number of the request that waits */
	u32 answered;			/* the same of the last answer */
	int answer;			/* 0 or a negative errno */
	wait_queue_head_t changed;

	bool dead;			/* the owner does no more */
	int removal;			/* enum shimos_virtio_remove, or -1; lock */
	unsigned long config_changed;	/* bit 0: the driver has to be told */
	struct work_struct work;	/* registering and removing */

	struct shimos_virtio_state *state;	/* shared with the owner */
	struct virtqueue *vq[SHIMOS_VIRTIO_QUEUES];
	bool live;			/* vq[] may be called; doorbells look under RCU */

	/* fail.c: after the owner's end */
	struct irq_work fail_work;
	spinlock_t fail_lock;		/* playing the device; guards recovered */
	bool recovered;
};

static inline struct shimos_device *to_device(struct virtio_device *vdev)
{
	return container_of(vdev, struct shimos_device, vdev);
}

static inline size_t state_bytes(const struct shimos_device *d)
{
	return struct_size(d->state, ring, d->desc.queues);
}

/* ---- transport.c: virtio's view ---- */

extern const struct virtio_config_ops shimos_config_ops;

/* ---- packets.c: the owners' view ---- */

/* Tell the owner, and wait for its answer.  May sleep.  0 or a negative errno. */
int shimos_ask(struct shimos_device *d, enum shimos_virtio_cmd cmd, void *block, u32 size);
int shimos_packets_init(void);
void shimos_packets_exit(void);
void shimos_device_put(struct shimos_device *d);

/* ---- fail.c ---- */

void shimos_fail_init(struct shimos_device *d);
/*
 * The owner does nothing any more: from now on answer all requests here, with
 * errors.  Any context.
 */
void shimos_fail(struct shimos_device *d);
/* The same for requests that came since. */
void shimos_fail_more(struct shimos_device *d);

#endif
