// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/ikc: the door for user programs, and the answers about kernels, queues and
 * the shared area.  Who may open it is for the device's mode to say.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <shimos/door.h>

#include "channel.h"
#include "local.h"

/* An open /dev/ikc. */
struct ikc_device_file {
	struct shimos_door_session door;
	struct ikc_channel *ch;
};

static struct ikc_channel *ikc_device_channel(void *file)
{
	return ((struct ikc_device_file *)file)->ch;
}

static int ikc_device_open_channel(void *file, void *data, struct complaint *c)
{
	struct ikc_open *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?:
	       ikc_channel_open(ikc_device_channel(file), arg, c);
}

static int ikc_device_connect(void *file, void *data, struct complaint *c)
{
	struct ikc_connect *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?:
	       ikc_channel_connect(ikc_device_channel(file), arg, c);
}

static int ikc_device_eventfd(void *file, void *data, struct complaint *c)
{
	struct ikc_eventfd *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?:
	       ikc_channel_eventfd(ikc_device_channel(file), arg->fd);
}

static int ikc_device_kernel(void *file, void *data, struct complaint *c)
{
	struct ikc_kernel_info *info = data;
	const struct ikc_facts *facts;
	u32 number = info->number;
	int ret;

	ret = shimos_door_check_flags(info->flags, IKC_KERNEL_NEXT, c);
	if (ret)
		return ret;
	while (info->flags && number < IKC_MAX_KERNELS &&
	       READ_ONCE(ikc_facts(number)->state) == IKC_ABSENT)
		number++;
	if (number >= IKC_MAX_KERNELS)
		return -ENOENT;
	facts = ikc_facts(number);
	info->number = number;
	ikc_kernel_name(number, info->name);
	info->state = READ_ONCE(facts->state);
	info->life = READ_ONCE(facts->life);
	info->self = number == ikc_self.number;
	info->ready = info->self || !ikc_check_peer(number);
	return 0;
}

static int ikc_device_queue(void *file, void *data, struct complaint *c)
{
	struct ikc_queue_info *info = data;
	const u32 ports = IKC_MAX_KERNELS * IKC_MAX_KERNELS * IKC_QUEUES;
	struct ikc_ring *ring;
	struct ikc_port *port;
	u32 at, offset = 0;

	if (info->receiver >= IKC_MAX_KERNELS || info->sender >= IKC_MAX_KERNELS ||
	    info->queue > IKC_QUEUES)
		return -EINVAL;
	at = (info->receiver * IKC_MAX_KERNELS + info->sender) * IKC_QUEUES + info->queue;
	for (; at < ports; at++) {
		offset = READ_ONCE(ikc_self.ports[at].ring);
		/* what is no ring is not looked into */
		if (offset && !(offset % IKC_RING_ALIGN) &&
		    ikc_heap_size(&ikc_self.heap, offset) >= IKC_RING_ALIGN)
			break;
	}
	if (at >= ports)
		return -ENOENT;
	port = &ikc_self.ports[at];
	ring = ikc_pointer(offset);
	info->receiver = at / IKC_QUEUES / IKC_MAX_KERNELS;
	info->sender = at / IKC_QUEUES % IKC_MAX_KERNELS;
	info->queue = at % IKC_QUEUES;
	info->slots = READ_ONCE(ring->slots);
	info->slot_size = READ_ONCE(ring->slot_size);
	info->attached = READ_ONCE(port->attached) == offset;
	info->broken = !!READ_ONCE(port->broken);
	info->packets = READ_ONCE(ring->packets);
	info->rung = READ_ONCE(ring->rung);
	info->saved = READ_ONCE(ring->saved);
	info->full = READ_ONCE(ring->full);
	return 0;
}

static int ikc_device_area(void *file, void *data, struct complaint *c)
{
	struct ikc_area_info *info = data;

	info->bytes = (u64)READ_ONCE(ikc_self.heap.chunks) * IKC_CHUNK_SIZE;
	ikc_heap_used(&ikc_self.heap, &info->blocks, &info->used);
	info->failed = atomic64_read(&ikc_self.failed);
	info->too_large = atomic64_read(&ikc_self.too_large);
	info->double_free = atomic64_read(&ikc_self.double_free);
	info->foreign_free = atomic64_read(&ikc_self.foreign_free);
	info->reclaimed = atomic64_read(&ikc_self.reclaimed);
	return 0;
}

static const struct shimos_door_call ikc_device_calls[] = {
	{ IKC_IOC_OPEN, "open", 0, ikc_device_open_channel },
	{ IKC_IOC_CONNECT, "connect", 0, ikc_device_connect },
	{ IKC_IOC_EVENTFD, "eventfd", 0, ikc_device_eventfd },
	{ IKC_IOC_KERNEL, "kernel", 0, ikc_device_kernel },
	{ IKC_IOC_QUEUE, "queue", 0, ikc_device_queue },
	{ IKC_IOC_AREA, "area", 0, ikc_device_area },
};

/* The area stays as long as a call looks at it. */
static int ikc_device_enter(void *file)
{
	return ikc_get();
}

static void ikc_device_leave(void *file)
{
	ikc_put();
}

static const struct shimos_door ikc_device_door = {
	.module		= KBUILD_MODNAME,
	.version	= IKC_VERSION,
	.error		= IKC_IOC_ERROR,
	.calls		= ikc_device_calls,
	.count		= ARRAY_SIZE(ikc_device_calls),
	.enter		= ikc_device_enter,
	.leave		= ikc_device_leave,
};

static long ikc_device_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct ikc_device_file *f = file->private_data;

	/* no argument, and the one that has to be quick */
	if (cmd == IKC_IOC_NOTIFY)
		return ikc_channel_notify(f->ch);
	return shimos_door_ioctl(&ikc_device_door, &f->door, f, cmd, ptr);
}

static int ikc_device_open(struct inode *inode, struct file *file)
{
	struct ikc_device_file *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->ch = ikc_channel_new();
	if (!f->ch) {
		kfree(f);
		return -ENOMEM;
	}
	shimos_door_open(&f->door);
	file->private_data = f;
	return 0;
}

static int ikc_device_release(struct inode *inode, struct file *file)
{
	struct ikc_device_file *f = file->private_data;

	ikc_channel_free(f->ch);
	kfree(f);
	return 0;
}

static int ikc_device_mmap(struct file *file, struct vm_area_struct *vma)
{
	return ikc_channel_mmap(ikc_device_channel(file->private_data), vma);
}

static __poll_t ikc_device_poll(struct file *file, struct poll_table_struct *table)
{
	return ikc_channel_poll(ikc_device_channel(file->private_data), file, table);
}

static const struct file_operations ikc_device_fops = {
	.owner		= THIS_MODULE,
	.open		= ikc_device_open,
	.release	= ikc_device_release,
	.unlocked_ioctl	= ikc_device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= ikc_device_mmap,
	.poll		= ikc_device_poll,
	.llseek		= noop_llseek,
};

static struct miscdevice ikc_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "ikc",
	.mode	= 0600,
	.fops	= &ikc_device_fops,
};

/**
 * ikc_device_init() - let programs use IKC
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ikc_device_init(void)
{
	return misc_register(&ikc_device);
}

/**
 * ikc_device_exit() - take the device away
 *
 * Context: may sleep; nobody has it open.
 */
void ikc_device_exit(void)
{
	misc_deregister(&ikc_device);
}
