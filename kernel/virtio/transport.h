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

/**
 * struct shimos_device - a device that another kernel owns and this one uses
 * @vdev: while registered: for virtio's core
 * @ref: who knows it
 * @link: devices_mutex of packets.c; doorbells under RCU
 * @owner: the owner's kernel
 * @id: of the owner's
 * @desc: as the owner described it; config: lock
 * @generation: of config; lock
 * @lock: guards config, answer, removal
 * @mutex: the steps of its life: guards @registered and @forgotten
 * @registered: with virtio's core
 * @forgotten: the driver has let go
 * @unlisted: devices_mutex of packets.c
 * @orphaned: the same: its owner's kernel has ended
 * @started: the owner works on the rings
 * @status: as the driver sees it
 * @asked: number of the request that waits
 * @answered: the same of the last answer
 * @answer: 0 or a negative errno
 * @changed: for who waits for an answer
 * @dead: the owner does no more
 * @stuck: it is over, but may still write; devices_mutex
 * @removal: enum shimos_virtio_remove, or -1; lock
 * @config_changed: bit 0: the driver has to be told
 * @work: registering and removing
 * @state: shared with the owner
 * @vq: the driver's virtqueues
 * @live: vq[] may be called; doorbells look under RCU
 * @fail_work: fails requests after the owner's end
 * @fail_lock: playing the device; guards recovered
 * @recovered: what the owner had begun with was failed
 */
struct shimos_device {
	struct virtio_device vdev;
	struct kref ref;
	struct list_head link;
	u32 owner, id;
	struct shimos_virtio_device desc;
	u32 generation;
	spinlock_t lock;
	struct mutex mutex;
	bool registered;
	bool forgotten;
	bool unlisted;
	bool orphaned;
	bool started;
	u8 status;

	u32 asked;
	u32 answered;
	int answer;
	wait_queue_head_t changed;

	bool dead;
	bool stuck;
	int removal;
	unsigned long config_changed;
	struct work_struct work;

	struct shimos_virtio_state *state;
	struct virtqueue *vq[SHIMOS_VIRTIO_QUEUES];
	bool live;

	/* fail.c: after the owner's end */
	struct irq_work fail_work;
	spinlock_t fail_lock;
	bool recovered;
};

/**
 * transport_device() - the device behind virtio's
 * @vdev: of one that is shared
 */
static inline struct shimos_device *transport_device(struct virtio_device *vdev)
{
	return container_of(vdev, struct shimos_device, vdev);
}

/**
 * transport_state_bytes() - how large the state that is shared with the owner is
 * @d: described
 *
 * Return: bytes.
 */
static inline size_t transport_state_bytes(const struct shimos_device *d)
{
	return struct_size(d->state, ring, d->desc.queues);
}

/* ---- accept.c: which devices this kernel accepts ---- */

/**
 * accept_version() - is this a description that can be used?
 * @desc:  as @owner has sent it, a copy
 * @owner: number of its kernel
 *
 * Context: May sleep.
 * Return: 0, -EPROTO: another version, or -EINVAL.
 */
int accept_version(const struct shimos_virtio_device *desc, u32 owner);
/**
 * accept_device() - is the device wanted here?
 * @desc:   its description, for which accept_version() has returned 0
 * @owner:  number of the owner's kernel
 * @others: how many devices of that owner there are already
 *
 * Context: May sleep.
 * Return: 0; -EINVAL: a type that nobody may offer, -EPERM: not from that kernel,
 * -ENOSPC: it has too many.
 */
int accept_device(const struct shimos_virtio_device *desc, u32 owner, unsigned int others);

/* ---- transport.c: virtio's view ---- */

extern const struct virtio_config_ops transport_config_ops;

/* ---- ask.c: what this kernel asks owners ---- */

/**
 * transport_send() - say something to an owner
 * @owner:  number of its kernel
 * @id:     of the device, as the owner has it
 * @cmd:    what is said
 * @number: of the request
 * @value:  depends on @cmd
 * @block:  of the shared area, which changes hands and is freed if nobody gets it; or NULL
 * @size:   bytes at @block
 *
 * Context: Any but NMI.
 * Return: 0, or as ikc_write().
 */
int transport_send(u32 owner, u32 id, enum shimos_virtio_cmd cmd, u32 number, u32 value,
		   void *block, u32 size);
/**
 * transport_ask_start() - ask the owner to work on the rings, and wait for its answer
 * @d:   the device
 * @msg: where the rings are; a block of the shared area, which changes hands
 *
 * Context: May sleep.
 * Return: 0; -ETIME: no answer yet, the owner may begin at any time; or another
 * negative errno.
 */
int transport_ask_start(struct shimos_device *d, struct shimos_virtio_start *msg);
/**
 * transport_ask_reset() - have the owner stop, and wait until it has or is dead
 * @d: the device
 *
 * Waits for ever, with warnings: as long as the owner may write to this kernel's
 * memory, nothing of it may be freed.
 *
 * Context: May sleep.
 */
void transport_ask_reset(struct shimos_device *d);
/**
 * transport_take_answer() - an owner has answered: wake who waits for it
 * @d:   the device
 * @pkt: the answer; may say anything
 *
 * Context: Any but NMI.
 */
void transport_take_answer(struct shimos_device *d, const struct ikc_packet *pkt);

/* ---- packets.c: the owners' view ---- */

/**
 * transport_packets_init() - listen to owners
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int transport_packets_init(void);
/**
 * transport_packets_exit() - let go of all devices and tell their owners
 *
 * Context: May sleep.
 */
void transport_packets_exit(void);
/**
 * transport_put() - drop a reference
 * @d: the device
 *
 * Context: Any.
 */
void transport_put(struct shimos_device *d);

/* ---- threaded.c: networks of a kernel with one CPU ---- */

/**
 * transport_threaded_init() - know the networks, those that are there and those that come
 * @root: parent of all virtio devices that are ours
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int transport_threaded_init(const struct device *root);
/**
 * transport_threaded_exit() - forget them; they stay as they are
 *
 * Context: May sleep; no doorbell comes any more.
 */
void transport_threaded_exit(void);
/**
 * transport_net_called() - an owner rang for a network: look whether packets take all time
 *
 * Context: Any.
 */
void transport_net_called(void);

/* ---- fail.c: after the owner's end ---- */

/**
 * fail_init() - prepare a device that nobody knows yet
 * @d: the device
 *
 * Context: Any.
 */
void fail_init(struct shimos_device *d);
/**
 * fail_device() - the owner does nothing any more: answer all requests with errors
 * @d: the device
 *
 * From now on, and for those that it had begun with.
 *
 * Context: Any but NMI.
 */
void fail_device(struct shimos_device *d);
/**
 * fail_more() - the same for requests that came since
 * @d: the device
 *
 * Context: Any but NMI.
 */
void fail_more(struct shimos_device *d);
/**
 * fail_stuck() - the owner is over, but may still write
 * @d: the device
 *
 * Its rings are broken: the driver asks nothing more.  What was asked is not answered,
 * so its memory stays the owner's, and this module is not unloaded.  fail_device() may
 * follow, once the owner is sure to be dead.
 *
 * Context: Any but NMI.
 */
void fail_stuck(struct shimos_device *d);

#endif
