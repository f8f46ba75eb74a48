// SPDX-License-Identifier: GPL-2.0
/*
 * What owners say to this kernel: devices that come and go, answers, doorbells.
 */
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_ring.h>
#include <shimos/compat.h>

#include "transport.h"

#define PACKETS		64	/* of the queue that owners write to */

/* Changed under devices_mutex; doorbells walk it under RCU. */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_mutex);
static struct device *root;
/* In order: a driver names its devices in the order in which they come. */
static struct workqueue_struct *add_wq;
static bool leaving;		/* the module is being unloaded: register nothing */

static void transport_control(struct work_struct *work);
static DECLARE_WORK(control_work, transport_control);

/* ---- objects ---- */

static void transport_free(struct kref *ref)
{
	struct shimos_device *d = container_of(ref, struct shimos_device, ref);

	if (d->state)
		free_pages_exact(d->state, transport_state_bytes(d));
	kfree(d);
}

void transport_put(struct shimos_device *d)
{
	kref_put(&d->ref, transport_free);
}

static struct shimos_device *transport_find(u32 owner, u32 id)
{
	struct shimos_device *d, *found = NULL;

	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link)
		if (d->owner == owner && d->id == id && !d->orphaned) {
			kref_get(&d->ref);
			found = d;
			break;
		}
	mutex_unlock(&devices_mutex);
	return found;
}

/* ---- registering and removing ---- */

static void transport_release(struct device *dev)
{
	transport_put(container_of(dev, struct shimos_device, vdev.dev));
}

static void transport_register(struct shimos_device *d)
{
	int ret;

	d->vdev.dev.parent = root;
	d->vdev.dev.release = transport_release;
	d->vdev.config = &transport_config_ops;
	d->vdev.id.device = d->desc.type;
	d->vdev.id.vendor = SHIMOS_VIRTIO_VENDOR;
	kref_get(&d->ref);	/* transport_release() drops it, in the error case as well */
	ret = register_virtio_device(&d->vdev);
	if (ret) {
		pr_err("%s cannot be registered: error %d\n", d->desc.name, ret);
		put_device(&d->vdev.dev);
		return;
	}
	d->registered = true;
}

static int transport_is_open_disk(struct device *dev, void *data)
{
	return dev->type && !strcmp(dev->type->name, "disk") && disk_openers(dev_to_disk(dev));
}

/* Is it a disk that somebody has open: mounted, swapped to, part of another one? */
static bool transport_is_in_use(struct shimos_device *d)
{
	if (!d->registered)
		return false;
	/* who looked for its partitions, a kernel thread, closes it only a moment later */
	flush_delayed_fput();
	return device_for_each_child(&d->vdev.dev, NULL, transport_is_open_disk);
}

/* Answers and doorbells are needed until the driver has let go. */
static void transport_unregister(struct shimos_device *d)
{
	if (d->registered)
		unregister_virtio_device(&d->vdev);
	d->registered = false;
	d->forgotten = true;
}

static void transport_say_removed(struct shimos_device *d)
{
	bool listed, orphaned;

	mutex_lock(&devices_mutex);
	listed = !d->unlisted;
	orphaned = d->orphaned;
	if (listed)
		list_del_rcu(&d->link);
	d->unlisted = true;
	mutex_unlock(&devices_mutex);
	if (!listed)
		return;
	synchronize_rcu();
	/* the owner's number may be another kernel's by now */
	if (!orphaned)
		transport_send(d->owner, d->id, SHIMOS_VIRTIO_REMOVED, 0, 0, NULL, 0);
	transport_put(d);		/* the list's */
}

static int transport_take_removal(struct shimos_device *d)
{
	int removal;

	spin_lock_irq(&d->lock);
	removal = d->removal;
	d->removal = -1;
	spin_unlock_irq(&d->lock);
	return removal;
}

static void transport_step(struct work_struct *work)
{
	struct shimos_device *d = container_of(work, struct shimos_device, work);
	int removal = transport_take_removal(d);

	mutex_lock(&d->mutex);
	if (d->forgotten)
		goto unlock;
	if (removal == SHIMOS_VIRTIO_ASK && transport_is_in_use(d)) {
		transport_send(d->owner, d->id, SHIMOS_VIRTIO_REMOVED, 0, EBUSY, NULL, 0);
	} else if (removal >= 0) {
		transport_unregister(d);
		transport_say_removed(d);
	} else if (!d->registered && !d->dead && !READ_ONCE(leaving)) {
		transport_register(d);
	}
	if (d->registered && test_and_clear_bit(0, &d->config_changed))
		virtio_config_changed(&d->vdev);
unlock:
	mutex_unlock(&d->mutex);
	transport_put(d);
}

/* The work has a reference of its own. */
static void transport_wake(struct shimos_device *d, struct workqueue_struct *wq)
{
	kref_get(&d->ref);
	if (!queue_work(wq, &d->work))
		transport_put(d);
}

/* Not in order: one that waits for its owner must not keep others from going. */
static void transport_remove(struct shimos_device *d, enum shimos_virtio_remove how)
{
	spin_lock_irq(&d->lock);
	if (d->removal != SHIMOS_VIRTIO_GONE)
		d->removal = how;
	spin_unlock_irq(&d->lock);
	if (how == SHIMOS_VIRTIO_GONE)
		fail_device(d);
	transport_wake(d, compat_system_dfl_wq);
}

/* ---- packets from owners ---- */

/* Copy what came with a packet, once. */
static int transport_get_description(const struct ikc_packet *pkt,
				     struct shimos_virtio_device *desc)
{
	if (pkt->flags != IKC_DATA_SHARED || pkt->size != sizeof(*desc))
		return -EINVAL;
	memcpy(desc, ikc_pointer(pkt->data), sizeof(*desc));
	barrier();	/* what was copied is what is checked */
	desc->name[sizeof(desc->name) - 1] = '\0';
	return accept_version(desc, pkt->sender);
}

static unsigned int transport_count_devices(u32 owner)
{
	struct shimos_device *d;
	unsigned int count = 0;

	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link)
		count += d->owner == owner && !d->orphaned;
	mutex_unlock(&devices_mutex);
	return count;
}

/* Only one work makes devices, so that nobody is counted while he comes. */
static int transport_new_device(const struct ikc_packet *pkt)
{
	struct shimos_device *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	kref_init(&d->ref);
	d->owner = pkt->sender;
	d->id = pkt->param[0];
	d->removal = -1;
	spin_lock_init(&d->lock);
	mutex_init(&d->mutex);
	init_waitqueue_head(&d->changed);
	INIT_WORK(&d->work, transport_step);
	fail_init(d);
	ret = transport_get_description(pkt, &d->desc) ?:
	      accept_device(&d->desc, d->owner, transport_count_devices(d->owner));
	if (ret)
		goto put;
	ret = -ENOMEM;
	d->state = alloc_pages_exact(transport_state_bytes(d), GFP_KERNEL | __GFP_ZERO);
	if (!d->state)
		goto put;
	mutex_lock(&devices_mutex);
	list_add_tail_rcu(&d->link, &devices);
	mutex_unlock(&devices_mutex);
	transport_wake(d, add_wq);
	return 0;
put:
	transport_put(d);
	return ret;
}

static void transport_handle_add(const struct ikc_packet *pkt)
{
	int ret = transport_new_device(pkt);

	/* the owner says so to whoever has shared it */
	if (ret)
		transport_send(pkt->sender, pkt->param[0], SHIMOS_VIRTIO_REMOVED, 0, -ret, NULL, 0);
}

static void transport_handle_change(struct shimos_device *d, const struct ikc_packet *pkt)
{
	struct shimos_virtio_device desc;

	if (transport_get_description(pkt, &desc))
		return;
	spin_lock_irq(&d->lock);
	memcpy(d->desc.config, desc.config, sizeof(desc.config));
	d->generation++;
	spin_unlock_irq(&d->lock);
	set_bit(0, &d->config_changed);
	transport_wake(d, add_wq);
}

static void transport_handle_packet(const struct ikc_packet *pkt)
{
	struct shimos_device *d = transport_find(pkt->sender, pkt->param[0]);

	if (pkt->cmd == SHIMOS_VIRTIO_ADD && !d)
		transport_handle_add(pkt);
	if (!d)
		return;
	switch (pkt->cmd) {
	case SHIMOS_VIRTIO_CHANGE:
		transport_handle_change(d, pkt);
		break;
	case SHIMOS_VIRTIO_REMOVE:
		transport_remove(d, pkt->param[2] == SHIMOS_VIRTIO_ASK ? SHIMOS_VIRTIO_ASK :
							      SHIMOS_VIRTIO_GONE);
		break;
	case SHIMOS_VIRTIO_ANSWER:
		transport_take_answer(d, pkt);
		break;
	}
	transport_put(d);
}

static void transport_control(struct work_struct *work)
{
	struct ikc_packet pkt;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_USER)) {
			transport_handle_packet(&pkt);
			if (pkt.flags == IKC_DATA_SHARED)
				ikc_free(ikc_pointer(pkt.data));
		}
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_USER));
}

static void transport_control_rang(void *context, unsigned int kernel)
{
	schedule_work(&control_work);
}

/*
 * An owner's kernel ended: its CPUs stand still, nothing writes to the rings; if not
 * even that is sure, they stay its own.  What comes from a kernel of that number from
 * now on is about other devices.
 */
static void transport_owner_changed(void *context, unsigned int kernel, bool up)
{
	struct shimos_device *d;

	if (up)
		return;
	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link) {
		if (d->owner != kernel || (d->orphaned && !d->stuck))
			continue;
		d->orphaned = true;
		if (ikc_kernel_stuck(kernel))
			fail_stuck(d);
		else
			transport_remove(d, SHIMOS_VIRTIO_GONE);
	}
	mutex_unlock(&devices_mutex);
}

static const struct ikc_queue_ops control_ops = {
	.notify	= transport_control_rang,
	.peer	= transport_owner_changed,
};

/* ---- doorbells ---- */

/* Hard interrupt, RCU: kernel @owner rang bell @context. */
static void transport_called(void *context, unsigned int owner)
{
	u32 bell = (unsigned long)context;
	struct shimos_device *d;
	u64 calls, mine;

	list_for_each_entry_rcu(d, &devices, link) {
		/* pairs with the release in transport_find_vqs() */
		if (d->owner != owner || !smp_load_acquire(&d->live))
			continue;
		mine = shimos_virtio_bell_queues(d->desc.type, bell);
		if (!(READ_ONCE(d->state->calls) & mine))
			continue;
		/* a full barrier: the ring is read after the bit is cleared */
		calls = atomic64_fetch_andnot(mine, (atomic64_t *)&d->state->calls) & mine;
		for (; calls; calls &= calls - 1) {
			unsigned int n = __ffs64(calls);

			if (n < d->desc.queues && d->vq[n])
				vring_interrupt(0, d->vq[n]);
		}
		if (d->desc.type == VIRTIO_ID_NET)
			transport_net_called();
	}
}

static const struct ikc_queue_ops call_ops = { .notify = transport_called };

/* ---- the module ---- */

static void transport_close_bells(unsigned int bells)
{
	while (bells--)
		ikc_queue_close(SHIMOS_VIRTIO_CALL + bells);
}

int transport_packets_init(void)
{
	unsigned long bell;
	int ret;

	root = root_device_register("shimos-virtio");
	if (IS_ERR(root))
		return PTR_ERR(root);
	add_wq = alloc_ordered_workqueue("shimos_virtio", 0);
	ret = -ENOMEM;
	if (!add_wq)
		goto unregister;
	ret = transport_threaded_init(root);
	if (ret)
		goto destroy;
	for (bell = 0; bell < SHIMOS_VIRTIO_BELLS; bell++) {
		ret = ikc_queue_open(SHIMOS_VIRTIO_CALL + bell, 0, &call_ops, (void *)bell);
		if (ret)
			goto close;
	}
	ret = ikc_queue_open(SHIMOS_VIRTIO_USER, PACKETS, &control_ops, NULL);
	if (!ret)
		return 0;
close:
	transport_close_bells(bell);
	transport_threaded_exit();
destroy:
	destroy_workqueue(add_wq);
unregister:
	root_device_unregister(root);
	return ret;
}

static struct shimos_device *transport_next_to_leave(bool forgotten)
{
	struct shimos_device *d, *found = NULL;

	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link)
		if (forgotten || !READ_ONCE(d->forgotten)) {
			kref_get(&d->ref);
			found = d;
			break;
		}
	mutex_unlock(&devices_mutex);
	return found;
}

/*
 * An owner that hears that we let go of a device announces it anew at once: tell it
 * only when nobody reads that any more, so that it waits for our return.
 */
void transport_packets_exit(void)
{
	struct shimos_device *d;

	WRITE_ONCE(leaving, true);
	while ((d = transport_next_to_leave(false))) {
		mutex_lock(&d->mutex);
		if (!d->forgotten)
			transport_unregister(d);
		mutex_unlock(&d->mutex);
		transport_put(d);
	}
	ikc_queue_close(SHIMOS_VIRTIO_USER);
	cancel_work_sync(&control_work);
	while ((d = transport_next_to_leave(true))) {
		flush_work(&d->work);
		transport_say_removed(d);
		transport_put(d);
	}
	transport_close_bells(SHIMOS_VIRTIO_BELLS);
	transport_threaded_exit();
	destroy_workqueue(add_wq);
	root_device_unregister(root);
}
