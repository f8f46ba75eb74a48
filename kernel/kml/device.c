// SPDX-License-Identifier: GPL-2.0
/* /dev/shimos-kml: what is going on, and trust for the next exec. */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/shimos_kml.h>
#include "kml.h"

#define MAX_TASKS	65536U

static int do_status(void *arg)
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

static int do_tasks(void *arg)
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

static int do_trust(void *arg)
{
	return kml_gate_trust_next();
}

static int do_entry(void *arg)
{
	struct shimos_kml_entry *entry = arg;

	preempt_disable();
	entry->entry = kml_current_trusted() ? kml_arch_entry() : 0;
	preempt_enable();
	entry->entry_3 = entry->entry ? kml_arch_entry_3() : 0;
	return entry->entry ? 0 : -EPERM;
}

static const struct call {
	unsigned int cmd;
	int (*one)(void *arg);
} calls[] = {
	{ SHIMOS_KML_STATUS, do_status },
	{ SHIMOS_KML_TASKS, do_tasks },
	{ SHIMOS_KML_TRUST, do_trust },
	{ SHIMOS_KML_ENTRY, do_entry },
};

static long kml_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	void __user *user = (void __user *)ptr;
	const struct call *call = NULL;
	struct shimos_kml_header *hdr;
	size_t size = _IOC_SIZE(cmd);
	int i, err;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd == cmd)
			call = &calls[i];
	if (!call)
		return -ENOTTY;
	hdr = memdup_user(user, size);
	if (IS_ERR(hdr))
		return PTR_ERR(hdr);
	if (hdr->size == size && hdr->version == SHIMOS_KML_VERSION) {
		err = call->one(hdr);
	} else {
		hdr->size = size;
		hdr->version = SHIMOS_KML_VERSION;
		err = -EPROTO;
	}
	if ((!err || err == -EPROTO) && copy_to_user(user, hdr, err ? sizeof(*hdr) : size))
		err = -EFAULT;
	kfree(hdr);
	return err;
}

static const struct file_operations fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= kml_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos-kml",
	.mode	= 0600,
	.fops	= &fops,
};

int kml_device_init(void)
{
	return misc_register(&device);
}

void kml_device_exit(void)
{
	misc_deregister(&device);
}
