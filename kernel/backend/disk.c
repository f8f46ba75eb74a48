// SPDX-License-Identifier: GPL-2.0
/*
 * Shared disks: a block device of this kernel, claimed for its user, and a thread per
 * ring that takes requests.  The threads are ordinary tasks of the owner, so that its
 * own tools limit them (io.max of their cgroup) and its own accounting counts them.
 */
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_blk.h>

#include "disk.h"

#define RING_SIZE	256

/* All who share a disk read-only claim it in this name. */
static char readers;

/* ---- serving ---- */

/* There is no more: false if the user will ring for the next one, true if it is there.  q->mutex. */
static bool disk_rest(struct disk_queue *q)
{
	struct vqueue *v = &q->ring->v;

	q->ring->count.polled_ns += poll_for_more(&q->poll, v, &q->serving);
	return vqueue_has_more(v) || !vqueue_enable_notify(v);
}

/* All that is available; returns when the user will ring for more.  q->mutex. */
static void disk_serve(struct disk_queue *q)
{
	struct vqueue *v = &q->ring->v;
	struct blk_plug plug;
	bool more;
	int ret;

	do {
		int budget = DISK_BUDGET;

		poll_came(&q->poll);
		vqueue_disable_notify(v);
		q->batching = true;
		blk_start_plug(&plug);
		do {
			ret = vqueue_pop(v, &q->chain);
			if (ret > 0)
				disk_request(q);
		} while (ret > 0 && --budget);
		blk_finish_plug(&plug);
		q->batching = false;
		disk_end_batch(q);
		if (ret < 0) {
			backend_break_ring(q->ring);
			return;
		}
		more = disk_range_step(q);
		cond_resched();
		/* a user that never pauses must not keep its own stop() waiting */
	} while (READ_ONCE(q->serving) && (ret || more || disk_rest(q)));
}

static int disk_thread(void *data)
{
	struct disk_queue *q = data;

	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!READ_ONCE(q->kicked) && !kthread_should_stop()) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(q->kicked, false);
		smp_mb();	/* pairs with the wake-up's: a kick after this is seen */
		mutex_lock(&q->mutex);
		if (q->serving && !q->ring->v.broken)
			disk_serve(q);
		mutex_unlock(&q->mutex);
	}
	return 0;
}

static void disk_kick(struct backend *b, unsigned int n)
{
	struct disk *disk = b->private;
	struct disk_queue *q = &disk->queue[n];

	WRITE_ONCE(q->kicked, true);
	wake_up_process(q->thread);	/* a full barrier before it looks at the state */
}

static int disk_start(struct backend *b)
{
	struct disk *disk = b->private;
	unsigned int n;

	for (n = 0; n < b->queues; n++) {
		mutex_lock(&disk->queue[n].mutex);
		WRITE_ONCE(disk->queue[n].serving, b->ring[n].v.size);
		mutex_unlock(&disk->queue[n].mutex);
	}
	return 0;
}

static void disk_stop(struct backend *b)
{
	struct disk *disk = b->private;
	unsigned int n;

	for (n = 0; n < b->queues; n++) {
		struct disk_queue *q = &disk->queue[n];

		WRITE_ONCE(q->serving, false);	/* the thread looks without the mutex */
		mutex_lock(&q->mutex);
		disk_range_cancel(q);
		mutex_unlock(&q->mutex);
	}
	for (n = 0; n < b->queues; n++)
		wait_var_event(&disk->queue[n].in_flight,
			       !atomic_read(&disk->queue[n].in_flight));
	/* who completed last may still be in the ring's lock */
	for (n = 0; n < b->queues; n++) {
		spin_lock_irq(&b->ring[n].lock);
		spin_unlock_irq(&b->ring[n].lock);
	}
}

static void disk_status(struct backend *b, struct shimos_dev_status *out)
{
	struct disk *disk = b->private;

	out->flags = disk->read_only ? SHIMOS_DISK_READ_ONLY : 0;
	out->major = MAJOR(disk->bdev.bdev->bd_dev);
	out->minor = MINOR(disk->bdev.bdev->bd_dev);
	out->capacity = disk->sectors * SECTOR_SIZE;
}

static void disk_free(struct disk *disk, unsigned int queues)
{
	while (queues--)
		if (disk->queue[queues].thread)
			kthread_stop(disk->queue[queues].thread);
	compat_bdev_close(&disk->bdev);
	kfree(disk);
}

static void disk_release(struct backend *b)
{
	disk_free(b->private, b->queues);
}

static const struct backend_ops disk_ops = {
	.type		= SHIMOS_DEV_DISK,
	.start		= disk_start,
	.stop		= disk_stop,
	.kick		= disk_kick,
	.status		= disk_status,
	.release	= disk_release,
};

/* ---- describing it ---- */

static void disk_describe(struct backend *b, struct disk *disk)
{
	struct virtio_blk_config *config = (void *)b->config;
	struct block_device *bdev = disk->bdev.bdev;

	BUILD_BUG_ON(sizeof(*config) > SHIMOS_VIRTIO_CONFIG);
	b->config_len = sizeof(*config);
	/* a flush costs nothing where there is no cache, and a cache may be turned on */
	b->features = BIT_ULL(VIRTIO_BLK_F_SEG_MAX) | BIT_ULL(VIRTIO_BLK_F_BLK_SIZE) |
		      BIT_ULL(VIRTIO_BLK_F_TOPOLOGY) | BIT_ULL(VIRTIO_BLK_F_FLUSH);
	config->capacity = __cpu_to_virtio64(true, disk->sectors);
	config->seg_max = __cpu_to_virtio32(true, VQUEUE_SEGMENTS - 2);
	config->blk_size = __cpu_to_virtio32(true, disk->block);
	config->physical_block_exp = ilog2(bdev_physical_block_size(bdev) / disk->block);
	config->opt_io_size = __cpu_to_virtio32(true, bdev_io_opt(bdev) / disk->block);
	if (b->queues > 1) {
		b->features |= BIT_ULL(VIRTIO_BLK_F_MQ);
		config->num_queues = __cpu_to_virtio16(true, b->queues);
	}
	if (disk->read_only) {
		b->features |= BIT_ULL(VIRTIO_BLK_F_RO);
		return;
	}
	b->features |= BIT_ULL(VIRTIO_BLK_F_WRITE_ZEROES);
	config->max_write_zeroes_sectors = __cpu_to_virtio32(true, DISK_MAX_ZEROES);
	config->max_write_zeroes_seg = __cpu_to_virtio32(true, 1);
	config->write_zeroes_may_unmap = 1;
	if (bdev_max_discard_sectors(bdev)) {
		b->features |= BIT_ULL(VIRTIO_BLK_F_DISCARD);
		config->max_discard_sectors = __cpu_to_virtio32(true, bdev_max_discard_sectors(bdev));
		config->max_discard_seg = __cpu_to_virtio32(true, 1);
		config->discard_sector_alignment =
			__cpu_to_virtio32(true, max(bdev_discard_granularity(bdev), disk->block) / SECTOR_SIZE);
	}
}

/* ---- making one ---- */

struct claim {
	dev_t dev;
	struct backend *by;
};

static int disk_find_claim(struct backend *b, void *context)
{
	struct claim *claim = context;
	struct disk *disk = b->private;

	if (b->ops != &disk_ops || disk->bdev.bdev->bd_dev != claim->dev)
		return 0;
	claim->by = b;
	kref_get(&b->ref);
	return 1;
}

static int disk_refuse_busy(const struct shimos_dev_add_disk *arg, dev_t dev, int err,
			    struct complaint *c)
{
	struct claim claim = { .dev = dev };

	if (err != -EBUSY)
		return shimos_refuse(c, err, "%s cannot be opened %s: error %d",
				     arg->name, arg->flags & SHIMOS_DISK_READ_ONLY ?
				     "for reading" : "for writing", err);
	backend_for_each(disk_find_claim, &claim);
	if (claim.by) {
		err = shimos_refuse(c, err,
				    "%s is in use by %s: only disks that all share read-only can have several users",
				    arg->name, claim.by->user_name);
		backend_put(claim.by);
		return err;
	}
	return shimos_refuse(c, err,
			     "%s is in use by this kernel: mounted, swapped to or part of another device",
			     arg->name);
}

/* Open the device behind the caller's descriptor anew, claimed. */
static int disk_claim(struct disk *disk, const struct shimos_dev_add_disk *arg,
		      struct complaint *c)
{
	struct fd f = fdget(arg->fd);
	struct inode *inode;
	dev_t dev = 0;
	int ret;

	if (!compat_fd_file(f))
		return shimos_refuse(c, -EBADF, "the disk is not open");
	inode = compat_fd_file(f)->f_mapping->host;
	if (S_ISBLK(inode->i_mode))
		dev = inode->i_rdev;
	if (dev && !disk->read_only && !(compat_fd_file(f)->f_mode & FMODE_WRITE))
		dev = 0;
	fdput(f);
	if (!dev)
		return shimos_refuse(c, -ENOTBLK,
				     "%s is no block device that is open for what is asked",
				     arg->name);
	ret = compat_bdev_open(&disk->bdev, dev, !disk->read_only,
			       disk->read_only ? (void *)&readers : disk);
	if (ret)
		return disk_refuse_busy(arg, dev, ret, c);
	if (backend_is_borrowed(disk_to_dev(disk->bdev.bdev->bd_disk))) {
		compat_bdev_close(&disk->bdev);
		return shimos_refuse(c, -EOPNOTSUPP,
				     "%s is another kernel's: share it from there", arg->name);
	}
	disk->sectors = bdev_nr_sectors(disk->bdev.bdev);
	disk->block = bdev_logical_block_size(disk->bdev.bdev);
	if (disk->sectors >= disk->block / SECTOR_SIZE &&
	    (disk->read_only || !bdev_read_only(disk->bdev.bdev)))
		return 0;
	ret = disk->sectors ? shimos_refuse(c, -EROFS,
					    "%s is read-only: share it read-only", arg->name) :
			      shimos_refuse(c, -ENOMEDIUM, "%s has no contents",
					    arg->name);
	compat_bdev_close(&disk->bdev);
	return ret;
}

static int disk_start_threads(struct backend *b, struct disk *disk)
{
	unsigned int n;

	for (n = 0; n < b->queues; n++) {
		struct disk_queue *q = &disk->queue[n];
		struct task_struct *thread;

		q->disk = disk;
		q->ring = &b->ring[n];
		poll_init(&q->poll);
		INIT_LIST_HEAD(&q->ranges);
		mutex_init(&q->mutex);
		thread = kthread_run(disk_thread, q, "shm-%u/%u", b->id, n);
		if (IS_ERR(thread))
			return PTR_ERR(thread);
		q->thread = thread;
	}
	return 0;
}

int disk_add(struct shimos_dev_add_disk *arg, struct complaint *c)
{
	unsigned int queues = arg->queues ?: backend_user_cpus(arg->user);
	struct backend *b = backend_new(&disk_ops, arg->user, arg->name);
	struct disk *disk;
	int ret;

	if (!b)
		return -ENOMEM;
	if (queues > SHIMOS_VIRTIO_BELLS) {
		ret = shimos_refuse(c, -EINVAL, "a disk has at most %u queues",
				    SHIMOS_VIRTIO_BELLS);
		goto put;
	}
	disk = kzalloc(struct_size(disk, queue, queues), GFP_KERNEL);
	if (!disk) {
		ret = -ENOMEM;
		goto put;
	}
	disk->backend = b;
	disk->read_only = arg->flags & SHIMOS_DISK_READ_ONLY;
	ret = disk_claim(disk, arg, c);
	if (ret) {
		kfree(disk);
		goto put;
	}
	b->private = disk;
	b->queues = queues;
	b->ring_size = RING_SIZE;
	disk_describe(b, disk);
	ret = disk_start_threads(b, disk);
	if (!ret)
		ret = backend_announce(b);
	if (ret) {
		if (ret == -ENOSPC)
			shimos_refuse(c, ret, "%s has %u devices, which is the most",
				      b->user_name, SHIMOS_DEV_PER_USER);
		disk_free(disk, queues);
		goto put;
	}
	arg->id = b->id;
put:
	backend_put(b);
	return ret;
}
