// SPDX-License-Identifier: GPL-2.0
/*
 * KLoader's door: the module, /dev/shimos and the dispatch of its ioctls.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>
#include <shimos/ikc.h>

#include "kloader.h"
#include "passthrough.h"

int refuse(struct complaint *c, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, args);
	va_end(args);
	return err;
}

static int check_permission(struct complaint *c)
{
	if (!capable(CAP_SYS_RAWIO) || !capable(CAP_SYS_BOOT))
		return refuse(c, -EPERM,
			      "starting kernels needs CAP_SYS_BOOT and CAP_SYS_RAWIO: use root");
	/* a partition's kernel is not held to the host's lockdown */
	if (security_locked_down(LOCKDOWN_KEXEC))
		return refuse(c, -EPERM,
			      "kernel lockdown forbids loading another kernel; it comes with Secure Boot or lockdown= on the kernel command line");
	return 0;
}

static int host_check(struct complaint *c)
{
	return kloader_arch->check_host(c);
}

static int do_info(struct session *s, void *data)
{
	struct shimos_info *info = data;
	struct complaint problem = {};

	info->hdr.version = SHIMOS_ABI_VERSION;
	info->memory_min = MEMORY_MIN;
	info->memory_align = MEMORY_ALIGN;
	info->partitions = partition_count();
	info->host_ok = !host_check(&problem);
	strscpy(info->host_problem, info->host_ok ? "" : problem.text,
		sizeof(info->host_problem));
	return 0;
}

static int do_error(struct session *s, void *data)
{
	struct shimos_error *error = data;

	error->hdr.version = SHIMOS_ABI_VERSION;
	memcpy(error->text, s->complaint.text, sizeof(error->text));
	return 0;
}

static int do_create(struct session *s, void *data)
{
	struct shimos_create *arg = data;
	struct complaint *c = &s->complaint;
	u32 *cpus;
	int ret;

	ret = check_permission(c) ?: host_check(c);
	if (ret)
		return ret;
	if (arg->reserved || arg->flags & ~SHIMOS_CREATE_RESTART)
		return refuse(c, -EINVAL, "unknown flags %#x or reserved field not zero",
			      arg->flags);
	if (!arg->cpu_count || arg->cpu_count > SHIMOS_MAX_CPUS)
		return refuse(c, -EINVAL, "%u CPUs given; a partition takes 1 to %u",
			      arg->cpu_count, SHIMOS_MAX_CPUS);
	cpus = memdup_user(u64_to_user_ptr(arg->cpus),
			   arg->cpu_count * sizeof(*cpus));
	if (IS_ERR(cpus))
		return refuse(c, PTR_ERR(cpus), "cannot read the list of CPUs");
	ret = partition_create(s, arg, cpus);
	kfree(cpus);
	return ret;
}

static int do_load(struct session *s, struct partition *p, void *data)
{
	struct shimos_load *arg = data;
	struct complaint *c = &s->complaint;
	char *cmdline;
	int ret;

	ret = check_permission(c);
	if (ret)
		return ret;
	if (arg->cmdline_len >= SHIMOS_CMDLINE_LEN)
		return refuse(c, -E2BIG, "the command line has %u bytes; %u fit",
			      arg->cmdline_len, SHIMOS_CMDLINE_LEN - 1);
	cmdline = memdup_user_nul(u64_to_user_ptr(arg->cmdline), arg->cmdline_len);
	if (IS_ERR(cmdline))
		return refuse(c, PTR_ERR(cmdline), "cannot read the command line");
	if (strlen(cmdline) != arg->cmdline_len)
		ret = refuse(c, -EINVAL, "the command line has a zero byte in it");
	else
		ret = image_load(p, arg, cmdline, c);
	kfree(cmdline);
	return ret;
}

static int do_pci(struct session *s, struct partition *p, void *data)
{
	struct shimos_pci *arg = data;
	struct complaint *c = &s->complaint;
	int ret;

	ret = check_permission(c);
	if (ret)
		return ret;
	if (arg->reserved || arg->flags)
		return refuse(c, -EINVAL, "unknown flags %#x or reserved field not zero",
			      arg->flags);
	return passthrough_give(p, arg, c);
}

static int do_start(struct session *s, struct partition *p, void *data)
{
	struct shimos_target *arg = data;
	struct complaint *c = &s->complaint;
	int ret;

	ret = check_permission(c) ?: host_check(c);
	if (ret)
		return ret;
	if (arg->flags & ~SHIMOS_START_NO_AGENT)
		return refuse(c, -EINVAL, "unknown flags %#x", arg->flags);
	return life_start(p, arg->flags, c);
}

static int check_no_flags(struct session *s, void *data)
{
	struct shimos_target *arg = data;

	if (arg->flags)
		return refuse(&s->complaint, -EINVAL, "unknown flags %#x", arg->flags);
	return 0;
}

static int do_stop(struct session *s, struct partition *p, void *data)
{
	return check_no_flags(s, data) ?: life_stop(p, &s->complaint);
}

static int do_kill(struct session *s, struct partition *p, void *data)
{
	return check_no_flags(s, data) ?: life_kill(p, &s->complaint);
}

static int do_destroy(struct session *s, struct partition *p, void *data)
{
	return check_no_flags(s, data) ?: partition_destroy(p, &s->complaint);
}

static int do_console(struct session *s, struct partition *p, void *data)
{
	return check_no_flags(s, data) ?: console_open(p);
}

static int do_memory(struct session *s, struct partition *p, void *data)
{
	return check_no_flags(s, data) ?: memory_file_open(p);
}

static int do_status(struct session *s, struct partition *p, void *data)
{
	partition_status(p, data);
	return 0;
}

static int do_wait(struct session *s, struct partition *p, void *data)
{
	struct shimos_wait *arg = data;
	u64 seen = arg->event;
	long left;

	left = wait_event_interruptible_timeout(p->event_wait,
						READ_ONCE(p->event) != seen,
						msecs_to_jiffies(arg->timeout_ms));
	if (left < 0)
		return left;
	mutex_lock(&p->mutex);
	arg->event = p->event;
	arg->state = p->state;
	arg->cause = p->cause;
	mutex_unlock(&p->mutex);
	if (arg->event == seen)
		return -ETIME;
	return 0;
}

/* Calls about one partition find its id in the same place of their argument. */
#define ID_OFFSET sizeof(struct shimos_header)

static const struct call {
	unsigned int cmd;
	const char *name;
	bool any_version;
	int (*host)(struct session *s, void *arg);
	int (*one)(struct session *s, struct partition *p, void *arg);
} calls[] = {
	{ SHIMOS_IOC_INFO, "info", true, .host = do_info },
	{ SHIMOS_IOC_ERROR, "error", true, .host = do_error },
	{ SHIMOS_IOC_CREATE, "create", .host = do_create },
	{ SHIMOS_IOC_LOAD, "load", .one = do_load },
	{ SHIMOS_IOC_START, "start", .one = do_start },
	{ SHIMOS_IOC_STOP, "stop", .one = do_stop },
	{ SHIMOS_IOC_KILL, "kill", .one = do_kill },
	{ SHIMOS_IOC_DESTROY, "destroy", .one = do_destroy },
	{ SHIMOS_IOC_STATUS, "status", .one = do_status },
	{ SHIMOS_IOC_WAIT, "wait", .one = do_wait },
	{ SHIMOS_IOC_CONSOLE, "console", .one = do_console },
	{ SHIMOS_IOC_MEMORY, "memory", .one = do_memory },
	{ SHIMOS_IOC_PCI, "pci", .one = do_pci },
};

static int call_one(struct session *s, const struct call *call, void *arg)
{
	u32 id = *(u32 *)(arg + ID_OFFSET);
	bool next = false;
	struct partition *p;
	int ret;

	if (call->one == do_status) {
		struct shimos_status *status = arg;

		if (status->flags & ~SHIMOS_STATUS_NEXT)
			return refuse(&s->complaint, -EINVAL, "unknown flags %#x",
				      status->flags);
		next = status->flags & SHIMOS_STATUS_NEXT;
	}
	p = partition_get(id, next);
	if (!p)
		return refuse(&s->complaint, -ENOENT, "no partition has the id %u", id);
	ret = call->one(s, p, arg);
	partition_put(p);
	return ret;
}

static int check_header(struct session *s, const struct call *call,
			const struct shimos_header *hdr, size_t size)
{
	if (hdr->size != size)
		return refuse(&s->complaint, -EPROTO,
			      "'%s' has %u bytes in the caller's ABI version %u, %zu in KLoader's version %u: use the shimos tool that came with the modules",
			      call->name, hdr->size, hdr->version, size,
			      SHIMOS_ABI_VERSION);
	if (hdr->version != SHIMOS_ABI_VERSION && !call->any_version)
		return refuse(&s->complaint, -EPROTO,
			      "the caller speaks ABI version %u, KLoader version %u: use the shimos tool that came with the modules",
			      hdr->version, SHIMOS_ABI_VERSION);
	return 0;
}

static long kloader_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct session *s = file->private_data;
	void __user *user = (void __user *)ptr;
	const struct call *call = NULL;
	size_t size = _IOC_SIZE(cmd);
	struct shimos_header *arg;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd == cmd)
			call = &calls[i];
	if (!call)
		return -ENOTTY;
	arg = memdup_user(user, size);
	if (IS_ERR(arg))
		return PTR_ERR(arg);

	/* A wait may last; others of the same file need not wait with it. */
	if (call->one == do_wait) {
		struct session *quiet = kzalloc(sizeof(*quiet), GFP_KERNEL);

		ret = quiet ? check_header(quiet, call, arg, size) ?:
			      call_one(quiet, call, arg) : -ENOMEM;
		kfree(quiet);
	} else {
		if (mutex_lock_killable(&s->mutex)) {
			kfree(arg);
			return -EINTR;
		}
		if (call->cmd != SHIMOS_IOC_ERROR)
			s->complaint.text[0] = '\0';
		ret = check_header(s, call, arg, size);
		if (!ret)
			ret = call->host ? call->host(s, arg) : call_one(s, call, arg);
		mutex_unlock(&s->mutex);
	}
	if (ret >= 0 && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, arg, size))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static int kloader_open(struct inode *inode, struct file *file)
{
	struct session *s;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	mutex_init(&s->mutex);
	file->private_data = s;
	return 0;
}

static int kloader_release(struct inode *inode, struct file *file)
{
	struct session *s = file->private_data;

	partition_destroy_session(s);
	kfree(s);
	return 0;
}

static const struct file_operations kloader_fops = {
	.owner		= THIS_MODULE,
	.open		= kloader_open,
	.release	= kloader_release,
	.unlocked_ioctl	= kloader_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice kloader_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos",
	.mode	= 0600,
	.fops	= &kloader_fops,
};

static const struct ikc_bell_user kloader_bell = {
	.rang	= life_rang,
	.moved	= life_bell_moved,
};

/* A reboot or kexec of the host ends its partitions; a panic does not. */
static int on_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	life_kill_all();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = {
	.notifier_call = on_reboot,
};

/* A host that sleeps takes the memory and CPUs of its partitions with it. */
static int on_suspend(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action != PM_SUSPEND_PREPARE && action != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	if (!life_any_up())
		return NOTIFY_DONE;
	pr_warn("the host cannot sleep while partitions run: stop them first\n");
	return NOTIFY_BAD;
}

static struct notifier_block suspend_notifier = {
	.notifier_call = on_suspend,
};

static int __init kloader_init(void)
{
	int ret;

	ret = kloader_arch->init();
	if (ret)
		return ret;
	ret = cpus_init();
	if (ret)
		goto exit_arch;
	ret = sysfs_init();
	if (ret)
		goto exit_cpus;
	ret = ikc_bell_open(&kloader_bell);
	if (ret)
		goto exit_sysfs;
	ret = ikc_host_init(THIS_MODULE);
	if (ret)
		goto close_bell;
	ret = passthrough_init();
	if (ret)
		goto exit_ikc;
	ret = misc_register(&kloader_device);
	if (ret)
		goto exit_passthrough;
	register_reboot_notifier(&reboot_notifier);
	register_pm_notifier(&suspend_notifier);
	return 0;

exit_passthrough:
	passthrough_exit();
exit_ikc:
	ikc_host_exit();
close_bell:
	ikc_bell_close();
exit_sysfs:
	sysfs_exit();
exit_cpus:
	cpus_exit();
exit_arch:
	kloader_arch->exit();
	return ret;
}

/* Every partition holds the module, so there are none here. */
static void __exit kloader_exit(void)
{
	unregister_pm_notifier(&suspend_notifier);
	unregister_reboot_notifier(&reboot_notifier);
	misc_deregister(&kloader_device);
	passthrough_exit();
	ikc_host_exit();
	ikc_bell_close();
	sysfs_exit();
	cpus_exit();
	kloader_arch->exit();
}

module_init(kloader_init);
module_exit(kloader_exit);
MODULE_DESCRIPTION("SHIMOS KLoader: starts other kernels on this machine's CPUs");
MODULE_LICENSE("GPL");
