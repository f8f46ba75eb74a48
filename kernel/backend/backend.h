/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owner's side of shared devices.  A `backend` is one device that this kernel
 * owns and another kernel uses.  From the ground up:
 *
 *	vqueue.c, memory.c	the user's rings and memory
 *	table.c			all devices
 *	ring.c			doorbells and completions
 *	core.c			a device's life; of that run.c and tell.c (core.h)
 *	disk*.c, net*.c		what is particular to disks and networks
 *	program*.c		devices that a program of this kernel serves
 *	device.c, main.c	/dev/shimos-devices, the module
 */
#ifndef _SHIMOS_BACKEND_H
#define _SHIMOS_BACKEND_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/workqueue.h>
#include <shimos/complaint.h>
#include <shimos/ikc.h>
#include <uapi/shimos_devices.h>
#include <uapi/shimos_virtio.h>

#include "vqueue.h"

/* ---- memory.c: the user's memory as this kernel reaches it ---- */

/**
 * struct user_memory - the user's memory as this kernel reaches it
 * @kernel: the user's number
 * @ranges: of @range; IKC is asked about what is in none of them
 * @range: what it has for as long as it is up
 */
struct user_memory {
	u32 kernel;
	unsigned int ranges;
	struct ikc_range range[IKC_MAX_RANGES];
};

/**
 * user_memory_open() - hold the user's memory and make sure that it can be reached
 * @memory: filled in
 * @kernel: the user's number
 *
 * Context: May sleep.
 * Return: 0; -EHOSTDOWN: the user does not run, -ENOMEM, or another negative errno.
 */
int user_memory_open(struct user_memory *memory, u32 kernel);
/**
 * user_memory_close() - the user's memory is used no more
 * @memory: which user_memory_open() has filled in
 *
 * Context: Any.
 */
void user_memory_close(struct user_memory *memory);
/**
 * user_memory_exit() - let go of all memory that was added; no user has a driver any more
 *
 * Context: May sleep.
 */
void user_memory_exit(void);
/**
 * user_memory_check() - can this kernel reach what another has?
 * @kernel: the other's number
 * @c: why not
 *
 * Of one that does not run yet, where its memory is shows only in user_memory_open().
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int user_memory_check(u32 kernel, struct complaint *c);
/**
 * user_memory_arch_map_start() - have the direct map cover the start of physical memory
 * @start: 0; becomes the first address that can be added as all others, a multiple of 2 MiB
 *
 * What is below cannot be added if this kernel has RAM of its own there.  An architecture
 * provides this; see arch/x86/memory.c.
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int user_memory_arch_map_start(u64 *start);

/* ---- a device ---- */

struct backend;

/**
 * struct backend_ops - what a kind of device does
 * @type: which kind
 * @start: a driver is there: b->accepted and b->ring[] are valid from now to stop().  May sleep
 * @stop: take nothing more from the rings; what has been taken is completed.  Returns when
 *	nothing uses the user's memory any more.  The user may be dead.  May sleep
 * @kick: the user rang for ring @n: new requests.  Interrupt context, between start() and stop()
 * @status: fill in what only this kind knows; a step of its life may be going on.  May sleep
 * @release: it has been stopped and will not start again; free what is private.  May sleep
 */
struct backend_ops {
	enum shimos_dev_type type;
	int (*start)(struct backend *b);
	void (*stop)(struct backend *b);
	void (*kick)(struct backend *b, unsigned int n);
	void (*status)(struct backend *b, struct shimos_dev_status *out);
	void (*release)(struct backend *b);
};

/**
 * struct backend_counters - numbers for `shimos show`, one set per ring, with one writer each
 * @reads: requests, or packets to the user
 * @read_bytes: of these
 * @writes: requests, or packets from the user
 * @write_bytes: of these
 * @others: flushes, discards, and so on
 * @errors: requests that failed, or packets that were dropped
 * @kicks: doorbells from the user
 * @calls: doorbells to the user
 * @calls_saved: the user did not want one
 * @direct_bytes: handed on in the user's own pages
 * @copied_bytes: copied
 * @polled_ns: a thread looked for the next request, and there was none yet
 */
struct backend_counters {
	u64 reads, read_bytes, writes, write_bytes, others, errors;
	u64 kicks, calls, calls_saved;
	u64 direct_bytes, copied_bytes;
	u64 polled_ns;
};

/**
 * struct backend_ring - one ring of a shared device
 * @backend: whose
 * @number: which
 * @v: the virtqueue
 * @lock: completing: v.completed, v.called, counters of it
 * @count: what was done
 */
struct backend_ring {
	struct backend *backend;
	unsigned int number;
	struct vqueue v;
	spinlock_t lock;
	struct backend_counters count;
};

/**
 * struct backend - a device of this kernel that another one uses
 * @ops: what its kind does
 * @private: of @ops
 * @ref: who knows it
 * @id: never used again; this, and all up to @config, is constant once it is announced
 * @user: the user's kernel
 * @name: as it was given
 * @user_name: the user's kernel's
 * @features: offered; VERSION_1 and the ring's are added
 * @queues: rings
 * @ring_size: largest ring: a power of two
 * @config_len: bytes of @config
 * @config: config_mutex of core.c
 * @accepted: features; this, and all up to @ring, is valid from start() to stop()
 * @memory: the user's
 * @state: both sides' books, in the user's memory
 * @ring: those that the driver has
 * @link: core.c's own, as all below: in the list of all
 * @work: does what @events ask for
 * @mutex: the steps of its life: guards @running
 * @running: between start() and stop(); doorbells look under RCU
 * @ending: never to be started again; @mutex
 * @finish_mutex: after @mutex, never for long: for status(), and guards @finished
 * @finished: off the list; written with both mutexes held
 * @events: bits of core.c: what has happened
 * @lock: guards all below
 * @life: how it is
 * @before: before it was LEAVING
 * @request: START or RESET to be answered; cmd 0: none
 * @told: the user knows the device
 * @leave_answer: what it said to REMOVE; 1: nothing yet
 * @problem: why it is broken
 * @changed: any of it did
 */
struct backend {
	const struct backend_ops *ops;
	void *private;
	struct kref ref;

	u32 id, user;
	char name[SHIMOS_DEV_NAME], user_name[IKC_NAME_LEN];
	u64 features;
	u32 queues, ring_size;
	u32 config_len;
	u8 config[SHIMOS_VIRTIO_CONFIG];

	u64 accepted;
	struct user_memory memory;
	struct shimos_virtio_state *state;
	struct backend_ring ring[SHIMOS_VIRTIO_QUEUES];

	struct list_head link;
	struct work_struct work;
	struct mutex mutex;
	bool running;
	bool ending;
	struct mutex finish_mutex;
	bool finished;
	unsigned long events;
	spinlock_t lock;
	enum shimos_dev_state life, before;
	struct ikc_packet request;
	bool told;
	int leave_answer;
	char problem[128];
	wait_queue_head_t changed;
};

/* ---- table.c: all devices ---- */

extern struct list_head backend_devices;	/* for doorbells, which walk it under RCU */

/**
 * backend_user_cpus() - how many CPUs has the user?
 * @user: its number
 *
 * Context: Any.
 * Return: at least 1, at most SHIMOS_VIRTIO_BELLS.
 */
unsigned int backend_user_cpus(u32 user);
/**
 * backend_put() - drop a reference
 * @b: the device
 *
 * Context: Any.
 */
void backend_put(struct backend *b);
/**
 * backend_next() - walk over all devices
 * @id: of the device before
 *
 * Context: May sleep.
 * Return: the device with the smallest id above @id, with a reference, or NULL.
 */
struct backend *backend_next(u32 id);
/**
 * backend_find() - find a device
 * @id: its id
 *
 * Context: May sleep.
 * Return: the device, with a reference, or NULL.
 */
struct backend *backend_find(u32 id);
/**
 * backend_for_each() - look at all devices
 * @look:    called for each until it returns something else than 0; finds no devices
 * @context: handed to it
 *
 * Context: May sleep.
 * Return: what @look has returned last.
 */
int backend_for_each(int (*look)(struct backend *b, void *context), void *context);
/**
 * backend_new_id() - an id that no device has had
 *
 * Context: May sleep.
 * Return: it, above 0.
 */
u32 backend_new_id(void);
/**
 * backend_insert() - put a device into the table, which takes a reference
 * @b: the device
 *
 * Context: May sleep.
 * Return: 0, or -ENOSPC: its user has too many.
 */
int backend_insert(struct backend *b);
/**
 * backend_take_out() - take a device out of the table
 * @b: the device
 *
 * No doorbell finds it any more when this returns.  The table's reference is the
 * caller's then.
 *
 * Context: May sleep.
 */
void backend_take_out(struct backend *b);

/* ---- ring.c: doorbells and completions ---- */

/**
 * ring_open_kicks() - listen to the users' doorbells
 *
 * Context: May sleep.
 * Return: 0, or as ikc_queue_open().
 */
int ring_open_kicks(void);
/**
 * ring_close_kicks() - listen no more; no doorbell is being answered afterwards
 *
 * Context: May sleep.
 */
void ring_close_kicks(void);
/**
 * ring_open_all() - find the rings that a driver has described
 * @b:     the device; its user's memory is open
 * @start: the description, a copy
 *
 * Context: Any.
 * Return: 0, -EFAULT or -EINVAL: they are not where they may be.
 */
int ring_open_all(struct backend *b, const struct shimos_virtio_start *start);
/**
 * ring_kick_all() - look once at each ring: there may be requests from before
 * @b: the device, which has just been started
 *
 * Context: Process.
 */
void ring_kick_all(struct backend *b);

/**
 * backend_complete() - complete a request, and ring if the user wants it
 * @ring:    the ring it came from
 * @head:    the chain's
 * @written: how many bytes the user may read
 *
 * Context: Any but NMI.
 */
void backend_complete(struct backend_ring *ring, u16 head, u32 written);
/**
 * backend_complete_quiet() - the same without ringing; backend_call() follows
 * @ring:    the ring it came from
 * @head:    the chain's
 * @written: how many bytes the user may read
 *
 * Context: Any but NMI.
 */
void backend_complete_quiet(struct backend_ring *ring, u16 head, u32 written);
/**
 * backend_call() - ring for what was completed, if the user wants it
 * @ring: the ring
 *
 * Context: Any but NMI.
 */
void backend_call(struct backend_ring *ring);
/**
 * backend_call_anyway() - ring for what somebody else has completed
 * @ring: the ring
 *
 * Context: Any but NMI.
 */
void backend_call_anyway(struct backend_ring *ring);
/**
 * backend_complete_together() - complete requests that the user must see all at once
 * @ring:    the ring they came from
 * @head:    of each
 * @written: for each
 * @count:   how many
 *
 * Does not ring; backend_call() follows.
 *
 * Context: Any but NMI.
 */
void backend_complete_together(struct backend_ring *ring, const u16 *head, const u32 *written,
			       unsigned int count);

/* ---- core.c: a device's life ---- */

/**
 * backend_new() - make a device, which nobody knows yet
 * @ops:  of its kind
 * @user: number of the user's kernel
 * @name: for messages
 *
 * Fill in features, queues, ring_size, config and private, then backend_announce() or
 * backend_put() it.  After the announcement ops->release() is called once; before, it
 * never is.
 *
 * Context: May sleep.
 * Return: the device with a reference, or NULL.
 */
struct backend *backend_new(const struct backend_ops *ops, u32 user, const char *name);
/**
 * backend_announce() - offer a device to its user, now or when that comes up
 * @b: the device
 *
 * Context: May sleep.
 * Return: 0, or -ENOSPC: the user has too many.
 */
int backend_announce(struct backend *b);
/**
 * backend_remove() - take a device away from its user and free it
 * @b:     the device; the caller has a reference
 * @force: even if it is in use there
 * @c: gets the reason if not
 *
 * Context: May sleep.
 * Return: 0; -EBUSY: it is in use, -ETIME: no answer, -EALREADY.
 */
int backend_remove(struct backend *b, bool force, struct complaint *c);
/**
 * backend_change_config() - tell the user that the configuration space has changed
 * @b:      the device
 * @config: what it is now
 * @len:    as long as it was
 *
 * Context: May sleep.
 */
void backend_change_config(struct backend *b, const void *config, u32 len);
/**
 * backend_break() - the user wrote nonsense: say so, serve this device no more
 * @b:       the device; its rings are broken when this returns
 * @problem: what it was
 *
 * Context: Any but NMI.
 */
void backend_break(struct backend *b, const char *problem);
/**
 * backend_break_ring() - the same for what vqueue_pop() has found
 * @ring: where
 *
 * Context: Any but NMI.
 */
void backend_break_ring(struct backend_ring *ring);

/**
 * backend_core_init() - listen to users and their doorbells
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int backend_core_init(void);
/**
 * backend_core_exit() - take all devices away from their users by force
 *
 * Context: May sleep.
 */
void backend_core_exit(void);

/**
 * backend_is_borrowed() - is a disk or network device of this kernel another kernel's?
 * @dev: the device
 *
 * Its owner reaches our memory, but no third kernel's: what users ask must not be
 * passed on to it in their own pages.
 *
 * Context: Any; the device is registered.
 * Return: whether it is.
 */
static inline bool backend_is_borrowed(const struct device *dev)
{
	return dev->parent && is_virtio_device(dev->parent) &&
	       dev_to_virtio(dev->parent)->id.vendor == SHIMOS_VIRTIO_VENDOR;
}

/* ---- net_add.c, net.c; disks and programs have headers of their own ---- */

/**
 * net_add() - share a network
 * @arg:  what is asked for, checked in part; gets id and name
 * @c: gets the reason if not
 *
 * Context: The caller's network namespace is used.  May sleep.
 * Return: 0 or a negative errno.
 */
int net_add(struct shimos_dev_add_net *arg, struct complaint *c);
/**
 * net_init() - watch which network devices of this kernel are another's
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int net_init(void);
/**
 * net_exit() - watch no more
 *
 * Context: May sleep.
 */
void net_exit(void);

/* ---- device.c: /dev/shimos-devices ---- */

/**
 * backend_device_init() - make /dev/shimos-devices
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int backend_device_init(void);
/**
 * backend_device_exit() - remove it; nobody has it open
 *
 * Context: May sleep.
 */
void backend_device_exit(void);

#endif
