// SPDX-License-Identifier: GPL-2.0
/*
 * What owners and this kernel say to each other: devices that come and go, answers,
 * doorbells.
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

#include "transport.h"

#define PACKETS		64	/* of the queue that owners write to */
#define ANSWER_TIMEOUT	(20 * HZ)
#define VENDOR		0x4d494853	/* "SHIM", as our ACPI table */

/* Changed under devices_mutex; doorbells walk it under RCU. */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_mutex);
static struct device *root;
/* In order: a driver names its devices in the order in which they come. */
static struct workqueue_struct *add_wq;
static bool leaving;		/* the module is being unloaded: register nothing */

static void control(struct work_struct *work);
static DECLARE_WORK(control_work, control);

/* ---- objects ---- */

static void device_free(struct kref *ref)
{
	struct shimos_device *d = container_of(ref, struct shimos_device, ref);

	/* an owner that did not answer a reset may still write to it: then it is kept */
	if (d->state && (!d->started || d->dead))
		free_pages_exact(d->state, state_bytes(d));
	kfree(d);
}

void shimos_device_put(struct shimos_device *d)
{
	kref_put(&d->ref, device_free);
}

static struct shimos_device *find(u32 owner, u32 id)
{
	struct shimos_device *d, *found = NULL;

	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link)
		if (d->owner == owner && d->id == id) {
			kref_get(&d->ref);
			found = d;
			break;
		}
	mutex_unlock(&devices_mutex);
	return found;
}

/* ---- asking ---- */

static int send(u32 owner, u32 id, enum shimos_virtio_cmd cmd, u32 number, u32 value,
		void *block, u32 size)
{
	struct ikc_packet pkt = { .cmd = cmd, .param = { id, number, value } };
	int ret;

	if (block) {
		pkt.flags = IKC_DATA_SHARED;
		pkt.data = ikc_offset(block);
		pkt.size = size;
	}
	ret = ikc_write(&pkt, owner, SHIMOS_VIRTIO_OWNER);
	if (!ret)
		ikc_notify(owner, SHIMOS_VIRTIO_OWNER);
	else if (block)
		ikc_free(block);
	return ret;
}

int shimos_ask(struct shimos_device *d, enum shimos_virtio_cmd cmd, void *block, u32 size)
{
	u32 number = ++d->asked;	/* drivers take one step after the other */
	int ret;

	ret = send(d->owner, d->id, cmd, number, 0, block, size);
	if (ret)
		return ret;
	/* pairs with the release in take_answer() */
	if (!wait_event_timeout(d->changed, smp_load_acquire(&d->answered) == number ||
				READ_ONCE(d->dead), ANSWER_TIMEOUT))
		return -ETIME;
	return READ_ONCE(d->answered) == number ? d->answer : -EHOSTDOWN;
}

static void take_answer(struct shimos_device *d, const struct ikc_packet *pkt)
{
	d->answer = -(int)min_t(u32, pkt->param[2], MAX_ERRNO);
	/* pairs with the acquire in shimos_ask() */
	smp_store_release(&d->answered, pkt->param[1]);
	wake_up_all(&d->changed);
}

/* ---- registering and removing ---- */

static void release(struct device *dev)
{
	shimos_device_put(container_of(dev, struct shimos_device, vdev.dev));
}

static void add(struct shimos_device *d)
{
	int ret;

	d->vdev.dev.parent = root;
	d->vdev.dev.release = release;
	d->vdev.config = &shimos_config_ops;
	d->vdev.id.device = d->desc.type;
	d->vdev.id.vendor = VENDOR;
	kref_get(&d->ref);		/* release() drops it, in the error case as well */
	ret = register_virtio_device(&d->vdev);
	if (ret) {
		pr_err("%s cannot be registered: error %d\n", d->desc.name, ret);
		put_device(&d->vdev.dev);
		return;
	}
	d->registered = true;
}

static int is_open_disk(struct device *dev, void *data)
{
	return dev->type && !strcmp(dev->type->name, "disk") && disk_openers(dev_to_disk(dev));
}

/* Is it a disk that somebody has open: mounted, swapped to, part of another one? */
static bool is_in_use(struct shimos_device *d)
{
	if (!d->registered)
		return false;
	/* who looked for its partitions, a kernel thread, closes it only a moment later */
	flush_delayed_fput();
	return device_for_each_child(&d->vdev.dev, NULL, is_open_disk);
}

/* Answers and doorbells are needed until the driver has let go. */
static void let_go(struct shimos_device *d)
{
	if (d->registered)
		unregister_virtio_device(&d->vdev);
	d->registered = false;
	d->forgotten = true;
}

static void say_removed(struct shimos_device *d)
{
	bool listed;

	mutex_lock(&devices_mutex);
	listed = !d->unlisted;
	if (listed)
		list_del_rcu(&d->link);
	d->unlisted = true;
	mutex_unlock(&devices_mutex);
	if (!listed)
		return;
	synchronize_rcu();
	send(d->owner, d->id, SHIMOS_VIRTIO_REMOVED, 0, 0, NULL, 0);
	shimos_device_put(d);		/* the list's */
}

static int take_removal(struct shimos_device *d)
{
	int removal;

	spin_lock_irq(&d->lock);
	removal = d->removal;
	d->removal = -1;
	spin_unlock_irq(&d->lock);
	return removal;
}

static void step(struct work_struct *work)
{
	struct shimos_device *d = container_of(work, struct shimos_device, work);
	int removal = take_removal(d);

	mutex_lock(&d->mutex);
	if (d->forgotten)
		goto unlock;
	if (removal == SHIMOS_VIRTIO_ASK && is_in_use(d)) {
		send(d->owner, d->id, SHIMOS_VIRTIO_REMOVED, 0, EBUSY, NULL, 0);
	} else if (removal >= 0) {
		let_go(d);
		say_removed(d);
	} else if (!d->registered && !d->dead && !READ_ONCE(leaving)) {
		add(d);
	}
	if (d->registered && test_and_clear_bit(0, &d->config_changed))
		virtio_config_changed(&d->vdev);
unlock:
	mutex_unlock(&d->mutex);
	shimos_device_put(d);
}

/* The work has a reference of its own. */
static void wake(struct shimos_device *d, struct workqueue_struct *wq)
{
	kref_get(&d->ref);
	if (!queue_work(wq, &d->work))
		shimos_device_put(d);
}

/* Not in order: one that waits for its owner must not keep others from going. */
static void remove(struct shimos_device *d, enum shimos_virtio_remove how)
{
	spin_lock_irq(&d->lock);
	if (d->removal != SHIMOS_VIRTIO_GONE)
		d->removal = how;
	spin_unlock_irq(&d->lock);
	if (how == SHIMOS_VIRTIO_GONE)
		shimos_fail(d);
	wake(d, system_unbound_wq);
}

/* ---- packets from owners ---- */

static bool check_description(const struct shimos_virtio_device *desc, u32 owner)
{
	char name[IKC_NAME_LEN];

	if (desc->version == SHIMOS_VIRTIO_VERSION && desc->size == sizeof(*desc))
		return desc->queues && desc->queues <= SHIMOS_VIRTIO_QUEUES &&
		       is_power_of_2(desc->ring) && desc->ring <= SHIMOS_VIRTIO_RING &&
		       desc->config_len <= SHIMOS_VIRTIO_CONFIG;
	ikc_kernel_name(owner, name);
	pr_err("a device of '%s' is described in version %u with %u bytes, this transport knows version %u with %zu: install the same release on both sides\n",
	       name, desc->version, desc->size, SHIMOS_VIRTIO_VERSION, sizeof(*desc));
	return false;
}

/* Copy what came with a packet, once. */
static bool get_description(const struct ikc_packet *pkt, struct shimos_virtio_device *desc)
{
	if (pkt->flags != IKC_DATA_SHARED || pkt->size != sizeof(*desc))
		return false;
	memcpy(desc, ikc_pointer(pkt->data), sizeof(*desc));
	barrier();	/* what was copied is what is checked */
	desc->name[sizeof(desc->name) - 1] = '\0';
	return check_description(desc, pkt->sender);
}

static void handle_add(const struct ikc_packet *pkt)
{
	struct shimos_device *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return;
	kref_init(&d->ref);
	d->owner = pkt->sender;
	d->id = pkt->param[0];
	d->removal = -1;
	spin_lock_init(&d->lock);
	mutex_init(&d->mutex);
	init_waitqueue_head(&d->changed);
	INIT_WORK(&d->work, step);
	shimos_fail_init(d);
	if (!get_description(pkt, &d->desc))
		goto put;
	d->state = alloc_pages_exact(state_bytes(d), GFP_KERNEL | __GFP_ZERO);
	if (!d->state)
		goto put;
	mutex_lock(&devices_mutex);
	list_add_tail_rcu(&d->link, &devices);
	mutex_unlock(&devices_mutex);
	wake(d, add_wq);
	return;
put:
	shimos_device_put(d);
}

static void handle_change(struct shimos_device *d, const struct ikc_packet *pkt)
{
	struct shimos_virtio_device desc;

	if (!get_description(pkt, &desc))
		return;
	spin_lock_irq(&d->lock);
	memcpy(d->desc.config, desc.config, sizeof(desc.config));
	d->generation++;
	spin_unlock_irq(&d->lock);
	set_bit(0, &d->config_changed);
	wake(d, add_wq);
}

static void handle_packet(const struct ikc_packet *pkt)
{
	struct shimos_device *d = find(pkt->sender, pkt->param[0]);

	if (pkt->cmd == SHIMOS_VIRTIO_ADD && !d)
		handle_add(pkt);
	if (!d)
		return;
	switch (pkt->cmd) {
	case SHIMOS_VIRTIO_CHANGE:
		handle_change(d, pkt);
		break;
	case SHIMOS_VIRTIO_REMOVE:
		remove(d, pkt->param[2] == SHIMOS_VIRTIO_ASK ? SHIMOS_VIRTIO_ASK :
							      SHIMOS_VIRTIO_GONE);
		break;
	case SHIMOS_VIRTIO_ANSWER:
		take_answer(d, pkt);
		break;
	}
	shimos_device_put(d);
}

static void control(struct work_struct *work)
{
	struct ikc_packet pkt;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_USER)) {
			handle_packet(&pkt);
			if (pkt.flags == IKC_DATA_SHARED)
				ikc_free(ikc_pointer(pkt.data));
		}
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_USER));
}

static void control_rang(void *context, unsigned int kernel)
{
	schedule_work(&control_work);
}

/* An owner's kernel ended: its CPUs stand still, nothing writes to the rings. */
static void peer(void *context, unsigned int kernel, bool up)
{
	struct shimos_device *d;

	if (up)
		return;
	mutex_lock(&devices_mutex);
	list_for_each_entry(d, &devices, link)
		if (d->owner == kernel)
			remove(d, SHIMOS_VIRTIO_GONE);
	mutex_unlock(&devices_mutex);
}

static const struct ikc_queue_ops control_ops = {
	.notify	= control_rang,
	.peer	= peer,
};

/* ---- doorbells ---- */

/* Hard interrupt, RCU: kernel @owner rang bell @context. */
static void called(void *context, unsigned int owner)
{
	u32 bell = (unsigned long)context;
	struct shimos_device *d;
	u64 calls, mine;

	list_for_each_entry_rcu(d, &devices, link) {
		/* pairs with the release in find_vqs() */
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
	}
}

static const struct ikc_queue_ops call_ops = { .notify = called };

/* ---- the module ---- */

static void close_bells(unsigned int bells)
{
	while (bells--)
		ikc_queue_close(SHIMOS_VIRTIO_CALL + bells);
}

int shimos_packets_init(void)
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
	for (bell = 0; bell < SHIMOS_VIRTIO_BELLS; bell++) {
		ret = ikc_queue_open(SHIMOS_VIRTIO_CALL + bell, 0, &call_ops, (void *)bell);
		if (ret)
			goto close;
	}
	ret = ikc_queue_open(SHIMOS_VIRTIO_USER, PACKETS, &control_ops, NULL);
	if (!ret)
		return 0;
close:
	close_bells(bell);
	destroy_workqueue(add_wq);
unregister:
	root_device_unregister(root);
	return ret;
}

static struct shimos_device *first(bool forgotten)
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
void shimos_packets_exit(void)
{
	struct shimos_device *d;

	WRITE_ONCE(leaving, true);
	while ((d = first(false))) {
		mutex_lock(&d->mutex);
		if (!d->forgotten)
			let_go(d);
		mutex_unlock(&d->mutex);
		shimos_device_put(d);
	}
	ikc_queue_close(SHIMOS_VIRTIO_USER);
	cancel_work_sync(&control_work);
	while ((d = first(true))) {
		flush_work(&d->work);
		say_removed(d);
		shimos_device_put(d);
	}
	close_bells(SHIMOS_VIRTIO_BELLS);
	destroy_workqueue(add_wq);
	root_device_unregister(root);
}
