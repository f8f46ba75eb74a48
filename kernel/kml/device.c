// SPDX-License-Identifier: GPL-2.0
/* /dev/shimos-kml: what is going on, and trust for the next exec. */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <shimos/door.h>
#include <uapi/shimos_kml.h>
#include "kml.h"

#define MAX_TASKS	65536U

static int kml_device_status(void *file, void *arg, struct complaint *c)
{
	struct shimos_kml_status *status = arg;
	struct kml_counts counts;

	kml_arch_count(&counts);
	status->syscalls = counts.syscalls;
	status->calls = counts.calls;
	status->promotions = counts.promotions;
	status->fixes = counts.fixes;
	status->retries = counts.retries;
	status->tasks = kml_trusted_tasks();
	kml_gate_status(status);
	return 0;
}

static int kml_device_tasks(void *file, void *arg, struct complaint *c)
{
	struct shimos_kml_tasks *tasks = arg;
	u32 room = min(tasks->room, MAX_TASKS);
	u32 *tids = kvcalloc(room ?: 1, sizeof(*tids), GFP_KERNEL);
	int err = 0;

	if (!tids)
		return -ENOMEM;
	tasks->count = kml_list_tasks(tids, room);
	if (copy_to_user(u64_to_user_ptr(tasks->tids), tids,
			 min(tasks->count, room) * sizeof(*tids)))
		err = -EFAULT;
	kvfree(tids);
	return err;
}

static int kml_device_trust(void *file, void *arg, struct complaint *c)
{
	return kml_gate_trust_next(c);
}

static int kml_device_entry(void *file, void *arg, struct complaint *c)
{
	struct shimos_kml_entry *entry = arg;

	preempt_disable();
	entry->entry = kml_current_trusted() ? kml_arch_entry() : 0;
	preempt_enable();
	entry->entry_3 = entry->entry ? kml_arch_entry_3() : 0;
	if (!entry->entry)
		return shimos_refuse(c, -EPERM, "this program does not run in kernel mode");
	return 0;
}

static const struct shimos_door_call kml_device_calls[] = {
	{ SHIMOS_KML_STATUS, "status", 0, kml_device_status },
	{ SHIMOS_KML_TASKS, "tasks", 0, kml_device_tasks },
	{ SHIMOS_KML_TRUST, "trust", 0, kml_device_trust },
	{ SHIMOS_KML_ENTRY, "entry", 0, kml_device_entry },
};

static const struct shimos_door kml_device_door = {
	.module		= KBUILD_MODNAME,
	.version	= SHIMOS_KML_VERSION,
	.error		= SHIMOS_KML_ERROR,
	.calls		= kml_device_calls,
	.count		= ARRAY_SIZE(kml_device_calls),
};

static_assert(sizeof(struct shimos_kml_error) == sizeof(struct shimos_door_error));

static long kml_device_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	return shimos_door_ioctl(&kml_device_door, file->private_data, file, cmd, ptr);
}

static int kml_device_open(struct inode *inode, struct file *file)
{
	struct shimos_door_session *session = kzalloc(sizeof(*session), GFP_KERNEL);

	if (!session)
		return -ENOMEM;
	shimos_door_open(session);
	file->private_data = session;
	return 0;
}

static int kml_device_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations kml_device_fops = {
	.owner		= THIS_MODULE,
	.open		= kml_device_open,
	.release	= kml_device_release,
	.unlocked_ioctl	= kml_device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice kml_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos-kml",
	.mode	= 0600,
	.fops	= &kml_device_fops,
};

/**
 * kml_device_init() - let programs ask for kernel mode by a device
 *
 * Context: process; all else is ready.
 * Return: 0 or why there is none.
 */
int kml_device_init(void)
{
	return misc_register(&kml_device);
}

/**
 * kml_device_exit() - take the device away
 *
 * Context: process.
 */
void kml_device_exit(void)
{
	misc_deregister(&kml_device);
}
