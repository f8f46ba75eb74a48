/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owner's side of shared devices.  A `backend` is one device that this kernel
 * owns and another kernel uses: core.c has its life, disk.c and net.c what is
 * particular to disks and networks.
 */
#ifndef _SHIMOS_BACKEND_H
#define _SHIMOS_BACKEND_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>
#include <uapi/shimos_devices.h>
#include <uapi/shimos_virtio.h>

#include "vring.h"

/* ---- memory.c: the user's memory as this kernel reaches it ---- */

struct user_memory {
	u32 kernel;
	unsigned int ranges;		/* 0: ask IKC each time */
	struct ikc_range range[IKC_MAX_RANGES];
};

/* From now to the end the user's memory is held.  May sleep. */
int user_memory_open(struct user_memory *memory, u32 kernel);
void user_memory_close(struct user_memory *memory);
/* The module is unloaded: no user has a driver any more. */
void user_memory_exit(void);

/* ---- core.c ---- */

struct backend;

struct backend_ops {
	enum shimos_dev_type type;
	/*
	 * A driver is there: b->accepted and b->ring[] are valid from now to stop().
	 * May sleep.
	 */
	int (*start)(struct backend *b);
	/*
	 * Take nothing more from the rings; what has been taken is completed.  Returns
	 * when nothing uses the user's memory any more.  The user may be dead.  May
	 * sleep.
	 */
	void (*stop)(struct backend *b);
	/* The user rang for ring @n: new requests.  Interrupt context, between start() and stop(). */
	void (*kick)(struct backend *b, unsigned int n);
	/* Fill in what only this kind knows.  May sleep. */
	void (*status)(struct backend *b, struct shimos_dev_status *out);
	/* It has been stopped and will not start again; free what is private.  May sleep. */
	void (*release)(struct backend *b);
};

/* Numbers for `shimos show`, one set per ring; each has one writer at a time. */
struct backend_counters {
	u64 reads, read_bytes, writes, write_bytes, others, errors;
	u64 kicks, calls, calls_saved;
	u64 direct_bytes, copied_bytes;
};

struct backend_ring {
	struct backend *backend;
	unsigned int number;
	struct vring_end v;
	spinlock_t lock;		/* completing: v.completed, v.called, counters of it */
	struct backend_counters count;
};

struct backend {
	const struct backend_ops *ops;
	void *private;			/* of ops */
	struct kref ref;

	/* constant once it is announced */
	u32 id, user;
	char name[SHIMOS_DEV_NAME], user_name[IKC_NAME_LEN];
	u64 features;			/* offered; VERSION_1 and the ring's are added */
	u32 queues, ring_size;
	u32 config_len;
	u8 config[SHIMOS_VIRTIO_CONFIG];	/* config_mutex of core.c */

	/* valid from start() to stop() */
	u64 accepted;
	struct user_memory memory;
	struct shimos_virtio_state *state;
	struct backend_ring ring[SHIMOS_VIRTIO_QUEUES];

	/* core.c's own */
	struct list_head link;
	struct work_struct work;
	struct mutex mutex;		/* the steps of its life: guards running */
	bool running;			/* between start() and stop(); doorbells look under RCU */
	bool finished;			/* off the list; mutex */
	unsigned long events;		/* bits of core.c: what has happened */
	spinlock_t lock;		/* guards all below */
	enum shimos_dev_state life, before;	/* before it was LEAVING */
	struct ikc_packet request;	/* START or RESET to be answered; cmd 0: none */
	bool told;			/* the user knows the device */
	int leave_answer;		/* what it said to REMOVE; 1: nothing yet */
	char problem[128];
	wait_queue_head_t changed;	/* any of it did */
};

/*
 * A new device for kernel @user, with an id, not announced yet: fill in features,
 * queues, config and private, then backend_announce() or backend_put() it.  After
 * the announcement release() is called once; before, it never is.  May sleep.
 */
struct backend *backend_new(const struct backend_ops *ops, u32 user, const char *name);
/* Offer it to the user, now or when it comes up.  May sleep. */
int backend_announce(struct backend *b);
void backend_put(struct backend *b);
/* The config space changed: tell the user.  May sleep. */
void backend_change_config(struct backend *b, const void *config, u32 len);
/*
 * The user wrote nonsense: say so, serve this device no more.  Any context; the
 * rings are broken when it returns.
 */
void backend_break(struct backend *b, const char *problem);

/* Complete a request and ring if the user wants it.  Any context but NMI. */
void backend_complete(struct backend_ring *ring, u16 head, u32 written);
/* The same in two steps, for several requests. */
void backend_complete_quiet(struct backend_ring *ring, u16 head, u32 written);
void backend_call(struct backend_ring *ring);
/* Several requests of which the user must not see one without the others; no call. */
void backend_complete_together(struct backend_ring *ring, const u16 *head, const u32 *written,
			       unsigned int count);

/*
 * Is @dev, a disk or a network device of this kernel, another kernel's?  Its owner
 * reaches our memory, but no third kernel's: what users ask must not be passed on to
 * it in their own pages.
 */
static inline bool backend_is_borrowed(const struct device *dev)
{
	return dev->parent && dev->parent->parent &&
	       !strcmp(dev_name(dev->parent->parent), "shimos-virtio");
}

/* How many CPUs does the user have? */
unsigned int backend_user_cpus(u32 user);

/* Walk over all devices: the one with the smallest id above @id; take a reference. */
struct backend *backend_next(u32 id);
struct backend *backend_find(u32 id);
int backend_remove(struct backend *b, bool force, char *text, size_t len);

/* Call @look for each device until it returns something else than 0.  May sleep. */
int backend_for_each(int (*look)(struct backend *b, void *context), void *context);

int backend_core_init(void);
void backend_core_exit(void);

/* ---- disk.c, net.c: make one; @text gets why not ---- */

/* Writes the text that says why, and returns @err. */
__printf(4, 5)
int backend_refuse(char *text, size_t len, int err, const char *format, ...);

int disk_add(struct shimos_dev_add_disk *arg, char *text, size_t len);
int net_add(struct shimos_dev_add_net *arg, char *text, size_t len);
int net_init(void);
void net_exit(void);

/* ---- device.c: /dev/shimos-devices ---- */

int backend_device_init(void);
void backend_device_exit(void);

#endif
