// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/ikc: the door for user programs, and the answers about kernels, queues and
 * the shared area.  Who may open it is for the device's mode to say.
 */
#include <linux/compat.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "local.h"

static int do_open(struct ikc_channel *ch, void *arg)
{
	return ikc_channel_open(ch, arg);
}

static int do_connect(struct ikc_channel *ch, void *arg)
{
	return ikc_channel_connect(ch, arg);
}

static int do_eventfd(struct ikc_channel *ch, void *arg)
{
	return ikc_channel_eventfd(ch, arg);
}

/* A name that lies in shared memory, made safe to print. */
static void copy_name(char *to, const char *from)
{
	int i;

	for (i = 0; i < IKC_NAME_LEN - 1; i++) {
		char ch = READ_ONCE(from[i]);

		if (!ch)
			break;
		to[i] = isascii(ch) && isprint(ch) ? ch : '?';
	}
	memset(to + i, 0, IKC_NAME_LEN - i);
}

static int do_kernel(struct ikc_channel *ch, void *data)
{
	struct ikc_kernel_info *info = data;
	struct ikc_kernel *entry;
	u32 number = info->number;

	if (info->flags & ~IKC_KERNEL_NEXT)
		return -EINVAL;
	while (info->flags && number < IKC_MAX_KERNELS &&
	       READ_ONCE(ikc_entry(number)->state) == IKC_ABSENT)
		number++;
	if (number >= IKC_MAX_KERNELS)
		return -ENOENT;
	entry = ikc_entry(number);
	info->number = number;
	copy_name(info->name, entry->name);
	info->state = READ_ONCE(entry->state);
	info->life = READ_ONCE(entry->life);
	info->self = number == ikc_self.number;
	info->ready = info->self || !ikc_check_peer(number);
	return 0;
}

static int do_queue(struct ikc_channel *ch, void *data)
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
		if (offset && !(offset % PAGE_SIZE) &&
		    ikc_heap_size(&ikc_self.heap, offset) >= PAGE_SIZE)
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

static int do_area(struct ikc_channel *ch, void *data)
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

static const struct call {
	unsigned int cmd;
	int (*run)(struct ikc_channel *ch, void *arg);
} calls[] = {
	{ IKC_IOC_OPEN, do_open },
	{ IKC_IOC_CONNECT, do_connect },
	{ IKC_IOC_EVENTFD, do_eventfd },
	{ IKC_IOC_KERNEL, do_kernel },
	{ IKC_IOC_QUEUE, do_queue },
	{ IKC_IOC_AREA, do_area },
};

/* A caller of another version may use another size: by type and number only. */
static const struct call *find_call(unsigned int cmd)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (_IOC_TYPE(calls[i].cmd) == _IOC_TYPE(cmd) &&
		    _IOC_NR(calls[i].cmd) == _IOC_NR(cmd))
			return &calls[i];
	return NULL;
}

/* 0, or -EPROTO after telling the caller what would be right. */
static int check_header(struct ikc_header __user *user, unsigned int cmd)
{
	struct ikc_header right = { _IOC_SIZE(cmd), IKC_VERSION }, hdr;

	if (copy_from_user(&hdr, user, sizeof(hdr)))
		return -EFAULT;
	if (hdr.size == right.size && hdr.version == right.version)
		return 0;
	return copy_to_user(user, &right, sizeof(right)) ? -EFAULT : -EPROTO;
}

static long ikc_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	void __user *user = (void __user *)ptr;
	const struct call *call;
	size_t size;
	void *arg;
	int ret;

	if (cmd == IKC_IOC_NOTIFY)
		return ikc_channel_notify(file->private_data);
	call = find_call(cmd);
	if (!call)
		return -ENOTTY;
	ret = check_header(user, call->cmd);
	if (ret)
		return ret;
	size = _IOC_SIZE(call->cmd);
	arg = memdup_user(user, size);
	if (IS_ERR(arg))
		return PTR_ERR(arg);
	ret = ikc_get();
	if (!ret) {
		ret = call->run(file->private_data, arg);
		ikc_put();
	}
	if (!ret && copy_to_user(user, arg, size))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static int ikc_open(struct inode *inode, struct file *file)
{
	struct ikc_channel *ch = ikc_channel_new();

	if (!ch)
		return -ENOMEM;
	file->private_data = ch;
	return 0;
}

static int ikc_release(struct inode *inode, struct file *file)
{
	ikc_channel_free(file->private_data);
	return 0;
}

static int ikc_mmap(struct file *file, struct vm_area_struct *vma)
{
	return ikc_channel_mmap(file->private_data, vma);
}

static __poll_t ikc_poll(struct file *file, struct poll_table_struct *table)
{
	return ikc_channel_poll(file->private_data, file, table);
}

static const struct file_operations ikc_fops = {
	.owner		= THIS_MODULE,
	.open		= ikc_open,
	.release	= ikc_release,
	.unlocked_ioctl	= ikc_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= ikc_mmap,
	.poll		= ikc_poll,
	.llseek		= noop_llseek,
};

static struct miscdevice ikc_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "ikc",
	.mode	= 0600,
	.fops	= &ikc_fops,
};

int ikc_device_init(void)
{
	return misc_register(&ikc_device);
}

void ikc_device_exit(void)
{
	misc_deregister(&ikc_device);
}
