// SPDX-License-Identifier: GPL-2.0
/* /dev/shimos-devices: the calls of uapi/shimos_devices.h. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <shimos/door.h>

#include "disk.h"
#include "program.h"

static int backend_check_user(u32 user, struct complaint *c)
{
	char name[IKC_NAME_LEN];

	if (user == ikc_self_number())
		return shimos_refuse(c, -EINVAL, "a kernel cannot share a device with itself");
	ikc_kernel_name(user, name);
	if (!*name)
		return shimos_refuse(c, -ENXIO, "there is no kernel with number %u", user);
	return user_memory_check(user, c);
}

static int backend_check_text(const char *text, size_t size, struct complaint *c)
{
	if (strnlen(text, size) == size)
		return shimos_refuse(c, -EINVAL, "a name has at most %zu characters", size - 1);
	return 0;
}

static int backend_ioctl_add_disk(void *session, void *data, struct complaint *c)
{
	struct shimos_dev_add_disk *arg = data;

	return shimos_door_check_flags(arg->flags, SHIMOS_DISK_READ_ONLY, c) ?:
	       shimos_door_check_reserved(arg->reserved, c) ?:
	       backend_check_text(arg->name, sizeof(arg->name), c) ?:
	       backend_check_user(arg->user, c) ?: disk_add(arg, c);
}

static int backend_ioctl_add_net(void *session, void *data, struct complaint *c)
{
	struct shimos_dev_add_net *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?:
	       backend_check_text(arg->ifname, sizeof(arg->ifname), c) ?:
	       backend_check_text(arg->bridge, sizeof(arg->bridge), c) ?:
	       backend_check_user(arg->user, c) ?: net_add(arg, c);
}

static int backend_ioctl_add_program(void *session, void *data, struct complaint *c)
{
	struct shimos_dev_add_program *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?:
	       backend_check_text(arg->name, sizeof(arg->name), c) ?:
	       backend_check_user(arg->user, c) ?: program_add(arg, c);
}

static int backend_ioctl_remove(void *session, void *data, struct complaint *c)
{
	struct shimos_dev_remove *arg = data;
	struct backend *b;
	int ret;

	ret = shimos_door_check_flags(arg->flags, SHIMOS_DEV_FORCE, c);
	if (ret)
		return ret;
	b = backend_find(arg->id);
	if (!b)
		return shimos_refuse(c, -ENOENT, "there is no shared device %u", arg->id);
	ret = backend_remove(b, arg->flags & SHIMOS_DEV_FORCE, c);
	backend_put(b);
	return ret;
}

/* Counters change while they are read; each by itself is right. */
static void backend_add_counters(struct shimos_dev_status *out, const struct backend *b)
{
	unsigned int n;

	for (n = 0; n < b->queues; n++) {
		const struct backend_counters *c = &b->ring[n].count;

		out->reads += READ_ONCE(c->reads);
		out->read_bytes += READ_ONCE(c->read_bytes);
		out->writes += READ_ONCE(c->writes);
		out->write_bytes += READ_ONCE(c->write_bytes);
		out->others += READ_ONCE(c->others);
		out->errors += READ_ONCE(c->errors);
		out->kicks += READ_ONCE(c->kicks);
		out->calls += READ_ONCE(c->calls);
		out->calls_saved += READ_ONCE(c->calls_saved);
		out->direct_bytes += READ_ONCE(c->direct_bytes);
		out->copied_bytes += READ_ONCE(c->copied_bytes);
		out->polled_ns += READ_ONCE(c->polled_ns);
	}
}

static int backend_ioctl_status(void *session, void *arg, struct complaint *c)
{
	struct shimos_dev_status *out = arg;
	u32 id = out->id, flags = out->flags;
	struct shimos_dev_header hdr = out->hdr;
	struct backend *b;
	int ret;

	ret = shimos_door_check_flags(flags, SHIMOS_DEV_NEXT, c);
	if (ret)
		return ret;
	b = flags & SHIMOS_DEV_NEXT ? backend_next(id) : backend_find(id);
	if (!b)
		return -ENOENT;
	*out = (struct shimos_dev_status){
		.hdr = hdr,
		.id = b->id,
		.user = b->user,
		.type = b->ops->type,
		.queues = b->queues,
	};
	strscpy(out->name, b->name, sizeof(out->name));
	strscpy(out->user_name, b->user_name, sizeof(out->user_name));
	spin_lock_irq(&b->lock);
	out->state = b->life;
	if (b->life == SHIMOS_DEV_RUNNING)
		out->features = b->accepted;
	if (b->life == SHIMOS_DEV_BROKEN)
		strscpy(out->problem, b->problem, sizeof(out->problem));
	spin_unlock_irq(&b->lock);
	backend_add_counters(out, b);
	/* not b->mutex: a step of its life may wait for I/O */
	mutex_lock(&b->finish_mutex);
	if (!b->finished)
		b->ops->status(b, out);
	mutex_unlock(&b->finish_mutex);
	backend_put(b);
	return 0;
}

static const struct shimos_door_call backend_calls[] = {
	{ SHIMOS_DEV_IOC_ADD_DISK, "add disk", 0, backend_ioctl_add_disk },
	{ SHIMOS_DEV_IOC_ADD_NET, "add net", 0, backend_ioctl_add_net },
	{ SHIMOS_DEV_IOC_ADD_PROGRAM, "add program", 0, backend_ioctl_add_program },
	{ SHIMOS_DEV_IOC_REMOVE, "remove", 0, backend_ioctl_remove },
	{ SHIMOS_DEV_IOC_STATUS, "status", 0, backend_ioctl_status },
};

static const struct shimos_door backend_door = {
	.module		= KBUILD_MODNAME,
	.version	= SHIMOS_DEV_VERSION,
	.error		= SHIMOS_DEV_IOC_ERROR,
	.calls		= backend_calls,
	.count		= ARRAY_SIZE(backend_calls),
};

static long backend_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	return shimos_door_ioctl(&backend_door, file->private_data, NULL, cmd, ptr);
}

static int backend_open(struct inode *inode, struct file *file)
{
	struct shimos_door_session *session;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	session = kzalloc(sizeof(*session), GFP_KERNEL);
	if (!session)
		return -ENOMEM;
	shimos_door_open(session);
	file->private_data = session;
	return nonseekable_open(inode, file);
}

static int backend_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations backend_fops = {
	.owner		= THIS_MODULE,
	.open		= backend_open,
	.release	= backend_release,
	.unlocked_ioctl	= backend_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice backend_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos-devices",
	.fops	= &backend_fops,
	.mode	= 0600,
};

int backend_device_init(void)
{
	return misc_register(&backend_device);
}

void backend_device_exit(void)
{
	misc_deregister(&backend_device);
}
