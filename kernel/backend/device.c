// SPDX-License-Identifier: GPL-2.0
/* /dev/shimos-devices: the calls of uapi/shimos_devices.h. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "backend.h"

struct session {
	struct mutex mutex;		/* one call at a time; guards text */
	char text[SHIMOS_DEV_ERROR_LEN];
};

union argument {
	struct shimos_dev_header hdr;
	struct shimos_dev_error error;
	struct shimos_dev_add_disk disk;
	struct shimos_dev_add_net net;
	struct shimos_dev_remove remove;
	struct shimos_dev_status status;
};

static int do_error(struct session *s, union argument *arg)
{
	strscpy_pad(arg->error.text, s->text, sizeof(arg->error.text));
	return 0;
}

static int check_user(struct session *s, u32 user)
{
	char name[IKC_NAME_LEN];

	if (user == ikc_self_number())
		return backend_refuse(s->text, sizeof(s->text), -EINVAL,
				      "a kernel cannot share a device with itself");
	ikc_kernel_name(user, name);
	if (!*name)
		return backend_refuse(s->text, sizeof(s->text), -ENXIO,
				      "there is no kernel with number %u", user);
	return 0;
}

static int do_add_disk(struct session *s, union argument *arg)
{
	if (arg->disk.flags & ~SHIMOS_DISK_READ_ONLY || arg->disk.reserved ||
	    strnlen(arg->disk.name, SHIMOS_DEV_NAME) == SHIMOS_DEV_NAME)
		return -EINVAL;
	return check_user(s, arg->disk.user) ?: disk_add(&arg->disk, s->text, sizeof(s->text));
}

static int do_add_net(struct session *s, union argument *arg)
{
	if (arg->net.reserved || strnlen(arg->net.ifname, SHIMOS_DEV_IFNAME) == SHIMOS_DEV_IFNAME ||
	    strnlen(arg->net.bridge, SHIMOS_DEV_IFNAME) == SHIMOS_DEV_IFNAME)
		return -EINVAL;
	return check_user(s, arg->net.user) ?: net_add(&arg->net, s->text, sizeof(s->text));
}

static int do_remove(struct session *s, union argument *arg)
{
	struct backend *b;
	int ret;

	if (arg->remove.flags & ~SHIMOS_DEV_FORCE)
		return -EINVAL;
	b = backend_find(arg->remove.id);
	if (!b)
		return backend_refuse(s->text, sizeof(s->text), -ENOENT,
				      "there is no shared device %u", arg->remove.id);
	ret = backend_remove(b, arg->remove.flags & SHIMOS_DEV_FORCE, s->text, sizeof(s->text));
	backend_put(b);
	return ret;
}

/* Counters change while they are read; each by itself is right. */
static void add_counters(struct shimos_dev_status *out, const struct backend *b)
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
	}
}

static int do_status(struct session *s, union argument *arg)
{
	u32 id = arg->status.id, flags = arg->status.flags;
	struct shimos_dev_status *out = &arg->status;
	struct shimos_dev_header hdr = out->hdr;
	struct backend *b;

	if (flags & ~SHIMOS_DEV_NEXT)
		return -EINVAL;
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
	add_counters(out, b);
	mutex_lock(&b->mutex);
	if (!b->finished)
		b->ops->status(b, out);
	mutex_unlock(&b->mutex);
	backend_put(b);
	return 0;
}

static const struct call {
	unsigned int cmd;
	int (*run)(struct session *s, union argument *arg);
} calls[] = {
	{ SHIMOS_DEV_IOC_ERROR, do_error },
	{ SHIMOS_DEV_IOC_ADD_DISK, do_add_disk },
	{ SHIMOS_DEV_IOC_ADD_NET, do_add_net },
	{ SHIMOS_DEV_IOC_REMOVE, do_remove },
	{ SHIMOS_DEV_IOC_STATUS, do_status },
};

/* Numbers identify calls across versions; sizes are compared afterwards. */
static const struct call *find_call(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (_IOC_TYPE(cmd) == SHIMOS_DEV_IOC_MAGIC &&
		    _IOC_NR(cmd) == _IOC_NR(calls[i].cmd))
			return &calls[i];
	return NULL;
}

static int check_version(struct session *s, const struct call *call, void __user *user)
{
	struct shimos_dev_header hdr, right = {
		.size = _IOC_SIZE(call->cmd),
		.version = SHIMOS_DEV_VERSION,
	};

	if (copy_from_user(&hdr, user, sizeof(hdr)))
		return -EFAULT;
	if (hdr.size == right.size && hdr.version == right.version)
		return 0;
	if (copy_to_user(user, &right, sizeof(right)))
		return -EFAULT;
	return backend_refuse(s->text, sizeof(s->text), -EPROTO,
			      "the caller knows version %u of the interface (%u bytes), module shimos_backend has version %u (%u bytes): install the same release of both",
			      hdr.version, hdr.size, right.version, right.size);
}

static int run(struct session *s, const struct call *call, void __user *user)
{
	size_t size = _IOC_SIZE(call->cmd);
	union argument *arg;
	int ret;

	ret = check_version(s, call, user);
	if (ret)
		return ret;
	arg = memdup_user(user, size);
	if (IS_ERR(arg))
		return PTR_ERR(arg);
	ret = call->run(s, arg);
	if (!ret && _IOC_DIR(call->cmd) & _IOC_READ && copy_to_user(user, arg, size))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct call *call = find_call(cmd);
	struct session *s = file->private_data;
	int ret;

	if (!call)
		return -ENOTTY;
	mutex_lock(&s->mutex);
	if (call->run != do_error)
		*s->text = '\0';
	ret = run(s, call, (void __user *)arg);
	mutex_unlock(&s->mutex);
	return ret;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct session *s;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	mutex_init(&s->mutex);
	file->private_data = s;
	return nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations device_fops = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos-devices",
	.fops	= &device_fops,
	.mode	= 0600,
};

int backend_device_init(void)
{
	return misc_register(&device);
}

void backend_device_exit(void)
{
	misc_deregister(&device);
}
