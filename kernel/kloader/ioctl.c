// SPDX-License-Identifier: GPL-2.0
/* /dev/shimos: the calls of uapi/shimos.h, but for those about real-time partitions. */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <shimos/door.h>

#include "arch.h"
#include "ioctl.h"
#include "passthrough.h"

/* An open /dev/shimos. */
struct session {
	struct shimos_door_session door;
};

int ioctl_check_permission(struct complaint *c)
{
	if (!capable(CAP_SYS_RAWIO) || !capable(CAP_SYS_BOOT))
		return shimos_refuse(c, -EPERM,
				     "starting kernels needs CAP_SYS_BOOT and CAP_SYS_RAWIO: use root");
	/* a partition's kernel is not held to the host's lockdown */
	if (security_locked_down(LOCKDOWN_KEXEC))
		return shimos_refuse(c, -EPERM,
				     "kernel lockdown forbids loading another kernel; it comes with Secure Boot or lockdown= on the kernel command line");
	return 0;
}

/* Those who got one give it back with table_put(). */
static struct partition *ioctl_find(u32 id, bool next, struct complaint *c)
{
	struct partition *p = table_get(id, next);

	if (!p)
		shimos_refuse(c, -ENOENT, "no partition has the id %u", id);
	return p;
}

int ioctl_with(u32 id, int (*run)(struct partition *p, void *arg, struct complaint *c),
	       void *arg, struct complaint *c)
{
	struct partition *p = ioctl_find(id, false, c);
	int ret;

	if (!p)
		return -ENOENT;
	ret = run(p, arg, c);
	table_put(p);
	return ret;
}

/* ---- about the host ---- */

static int ioctl_info(void *session, void *data, struct complaint *c)
{
	struct shimos_info *info = data;
	struct complaint problem = {}, rt_problem = {}, guard_problem = {};

	info->memory_min = kind_linux.memory_min;
	info->memory_align = MEMORY_ALIGN;
	info->partitions = table_count();
	info->capabilities = kloader_arch_capabilities();
	info->host_ok = !kind_linux.check_host(&problem);
	strscpy_pad(info->host_problem, info->host_ok ? "" : problem.text,
		    sizeof(info->host_problem));
	info->rt_memory_min = kind_rt.memory_min;
	info->rt_memory_max = kind_rt.memory_max;
	info->rt_ok = !kind_rt.check_host(&rt_problem);
	strscpy_pad(info->rt_problem, info->rt_ok ? "" : rt_problem.text,
		    sizeof(info->rt_problem));
	info->guard_ok = !kloader_arch_check_guard(&guard_problem);
	strscpy_pad(info->guard_problem, info->guard_ok ? "" : guard_problem.text,
		    sizeof(info->guard_problem));
	return 0;
}

static int ioctl_check_create(const struct partition_kind *kind, const struct shimos_create *arg,
			      struct complaint *c)
{
	u32 flags = arg->flags;
	int ret;

	if (kind != &kind_rt && (arg->watch[0] || flags & SHIMOS_CREATE_RENEW))
		return shimos_refuse(c, -EINVAL,
				     "only a real-time partition can watch another, or be watched");
	if (kind == &kind_rt && arg->node)
		return shimos_refuse(c, -EINVAL,
				     "a real-time partition has its memory near its CPU: it cannot be told a node");
	if (strnlen(arg->watch, sizeof(arg->watch)) == sizeof(arg->watch))
		return shimos_refuse(c, -ENAMETOOLONG,
				     "the name of whom it shall watch has no end");
	if (flags & SHIMOS_CREATE_PROTECTED & ~kind->flags)
		return shimos_refuse(c, -EINVAL,
				     "only a real-time partition can be protected from the host");
	if (arg->more_count && (kind == &kind_rt || flags & SHIMOS_CREATE_GUARDED))
		return shimos_refuse(c, -EINVAL,
				     "only a partition that is neither real-time nor guarded can get more CPUs later");
	if (flags & SHIMOS_CREATE_GUARDED & ~kind->flags)
		return shimos_refuse(c, -EINVAL,
				     "a real-time partition is guarded always: it sees nothing but what is its own");
	ret = shimos_door_check_flags(flags, kind->flags, c);
	if (ret || !(flags & SHIMOS_CREATE_GUARDED))
		return ret;
	return kloader_arch_check_guard(c);
}

/* A list of CPUs of the user's; an empty one is no error. */
static u32 *ioctl_cpus(u64 list, u32 count, struct complaint *c)
{
	u32 *cpus = memdup_user(u64_to_user_ptr(list), count * sizeof(*cpus));

	if (IS_ERR(cpus))
		shimos_refuse(c, PTR_ERR(cpus), "cannot read the list of CPUs");
	return cpus;
}

static int ioctl_check_more(const struct shimos_create *arg, const u32 *more, struct complaint *c)
{
	u32 i;
	int ret;

	for (i = 0; i < arg->more_count; i++) {
		ret = cpus_check_present(more[i], c) ?: kloader_arch_check_cpu(more[i], c);
		if (ret)
			return ret;
	}
	return 0;
}

static int ioctl_create_with(struct session *session, struct shimos_create *arg, const u32 *cpus,
			     struct complaint *c)
{
	u32 *more = ioctl_cpus(arg->more_cpus, arg->more_count, c);
	int ret;

	if (IS_ERR(more))
		return PTR_ERR(more);
	ret = ioctl_check_more(arg, more, c) ?: partition_create(session, arg, cpus, more, c);
	kfree(more);
	return ret;
}

static int ioctl_create(void *session, void *data, struct complaint *c)
{
	struct shimos_create *arg = data;
	const struct partition_kind *kind = partition_kind(arg->kind);
	u32 *cpus;
	int ret;

	if (!kind)
		return shimos_refuse(c, -EINVAL, "there is no kind %u of partitions", arg->kind);
	ret = ioctl_check_permission(c) ?: kind->check_host(c) ?:
	      ioctl_check_create(kind, arg, c) ?: kind->check_share(arg, c);
	if (ret)
		return ret;
	if (!arg->cpu_count || arg->cpu_count > SHIMOS_MAX_CPUS)
		return shimos_refuse(c, -EINVAL, "%u CPUs given; a partition takes 1 to %u",
				     arg->cpu_count, SHIMOS_MAX_CPUS);
	if (arg->more_count > SHIMOS_MAX_CPUS - arg->cpu_count)
		return shimos_refuse(c, -EINVAL, "%u CPUs and %u more given; a partition can have %u",
				     arg->cpu_count, arg->more_count, SHIMOS_MAX_CPUS);
	cpus = ioctl_cpus(arg->cpus, arg->cpu_count, c);
	if (IS_ERR(cpus))
		return PTR_ERR(cpus);
	ret = ioctl_create_with(session, arg, cpus, c);
	kfree(cpus);
	return ret;
}

/* ---- about one partition ---- */

static int ioctl_load_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_load *arg = data;
	char *cmdline;
	int ret;

	ret = ioctl_check_permission(c);
	if (ret)
		return ret;
	if (arg->cmdline_len >= SHIMOS_CMDLINE_LEN)
		return shimos_refuse(c, -E2BIG, "the command line has %u bytes; %u fit",
				     arg->cmdline_len, SHIMOS_CMDLINE_LEN - 1);
	cmdline = memdup_user_nul(u64_to_user_ptr(arg->cmdline), arg->cmdline_len);
	if (IS_ERR(cmdline))
		return shimos_refuse(c, PTR_ERR(cmdline), "cannot read the command line");
	if (strlen(cmdline) != arg->cmdline_len)
		ret = shimos_refuse(c, -EINVAL, "the command line has a zero byte in it");
	else
		ret = p->kind->load(p, arg, cmdline, c);
	kfree(cmdline);
	return ret;
}

static int ioctl_load(void *session, void *data, struct complaint *c)
{
	struct shimos_load *arg = data;

	return ioctl_with(arg->id, ioctl_load_found, arg, c);
}

static int ioctl_pci_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_pci *arg = data;

	if (!p->kind->devices)
		return shimos_refuse(c, -EINVAL, "'%s' shares a CPU and can have no device",
				     p->name);
	return ioctl_check_permission(c) ?: shimos_door_check_flags(arg->flags, SHIMOS_PCI_UNSAFE, c) ?:
	       shimos_door_check_reserved(arg->reserved, c) ?: kloader_arch_check_devices(c) ?:
	       passthrough_give(p, arg, c);
}

static int ioctl_pci(void *session, void *data, struct complaint *c)
{
	struct shimos_pci *arg = data;

	return ioctl_with(arg->id, ioctl_pci_found, arg, c);
}

static int ioctl_start_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_target *arg = data;

	return ioctl_check_permission(c) ?: p->kind->check_host(c) ?:
	       shimos_door_check_flags(arg->flags, SHIMOS_START_NO_AGENT, c) ?:
	       life_start(p, arg->flags, c);
}

static int ioctl_start(void *session, void *data, struct complaint *c)
{
	struct shimos_target *arg = data;

	return ioctl_with(arg->id, ioctl_start_found, arg, c);
}

/* A call that wants no more than a partition, and no flags. */
struct ioctl_plain {
	u32 flags;
	int (*run)(struct partition *p, struct complaint *c);
};

static int ioctl_target_found(struct partition *p, void *data, struct complaint *c)
{
	const struct ioctl_plain *plain = data;

	return shimos_door_check_flags(plain->flags, 0, c) ?: plain->run(p, c);
}

static int ioctl_target(struct shimos_target *arg,
			int (*run)(struct partition *p, struct complaint *c),
			struct complaint *c)
{
	struct ioctl_plain plain = { arg->flags, run };

	return ioctl_with(arg->id, ioctl_target_found, &plain, c);
}

static int ioctl_stop(void *session, void *data, struct complaint *c)
{
	return ioctl_target(data, life_stop, c);
}

static int ioctl_kill(void *session, void *data, struct complaint *c)
{
	return ioctl_target(data, life_kill, c);
}

static int ioctl_destroy(void *session, void *data, struct complaint *c)
{
	return ioctl_target(data, partition_destroy, c);
}

static int ioctl_console(void *session, void *data, struct complaint *c)
{
	return ioctl_target(data, console_open, c);
}

static int ioctl_memory(void *session, void *data, struct complaint *c)
{
	return ioctl_target(data, memory_file_open, c);
}

static int ioctl_status(void *session, void *data, struct complaint *c)
{
	struct shimos_status *arg = data;
	struct partition *p;
	int ret;

	ret = shimos_door_check_flags(arg->flags, SHIMOS_STATUS_NEXT, c);
	if (ret)
		return ret;
	p = ioctl_find(arg->id, arg->flags & SHIMOS_STATUS_NEXT, c);
	if (!p)
		return -ENOENT;
	partition_status(p, arg);
	table_put(p);
	return 0;
}

static int ioctl_wait_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_wait *arg = data;
	u64 seen = arg->event;
	long left;

	left = wait_event_interruptible_timeout(p->event_wait,
						READ_ONCE(p->event) != seen ||
						READ_ONCE(p->gone),
						msecs_to_jiffies(arg->timeout_ms));
	if (left < 0)
		return left;
	mutex_lock(&p->mutex);
	arg->event = p->event;
	arg->state = p->state;
	arg->cause = p->cause;
	mutex_unlock(&p->mutex);
	if (READ_ONCE(p->gone))
		return -ENOENT;
	return arg->event == seen ? -ETIME : 0;
}

static int ioctl_wait(void *session, void *data, struct complaint *c)
{
	struct shimos_wait *arg = data;

	return ioctl_with(arg->id, ioctl_wait_found, arg, c);
}

static int ioctl_platform_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_platform *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?: description_facts(p, arg, c);
}

static int ioctl_platform(void *session, void *data, struct complaint *c)
{
	struct shimos_platform *arg = data;

	return ioctl_with(arg->id, ioctl_platform_found, arg, c);
}

static int ioctl_describe_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_describe *arg = data;

	return ioctl_check_permission(c) ?: shimos_door_check_reserved(arg->reserved, c) ?:
	       description_take(p, arg, c);
}

static int ioctl_describe(void *session, void *data, struct complaint *c)
{
	struct shimos_describe *arg = data;

	return ioctl_with(arg->id, ioctl_describe_found, arg, c);
}

static int ioctl_resize_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_resize *arg = data;

	return ioctl_check_permission(c) ?: shimos_door_check_reserved(arg->reserved, c) ?:
	       resize_partition(p, arg, c);
}

static int ioctl_resize(void *session, void *data, struct complaint *c)
{
	struct shimos_resize *arg = data;

	return ioctl_with(arg->id, ioctl_resize_found, arg, c);
}

/* ---- the device ---- */

static const struct shimos_door_call ioctl_calls[] = {
	{ SHIMOS_IOC_INFO, "info", 0, ioctl_info },
	{ SHIMOS_IOC_CREATE, "create", 0, ioctl_create },
	{ SHIMOS_IOC_LOAD, "load", 0, ioctl_load },
	{ SHIMOS_IOC_START, "start", 0, ioctl_start },
	{ SHIMOS_IOC_STOP, "stop", 0, ioctl_stop },
	{ SHIMOS_IOC_KILL, "kill", 0, ioctl_kill },
	{ SHIMOS_IOC_DESTROY, "destroy", 0, ioctl_destroy },
	{ SHIMOS_IOC_STATUS, "status", 0, ioctl_status },
	{ SHIMOS_IOC_WAIT, "wait", SHIMOS_DOOR_QUIET, ioctl_wait },
	{ SHIMOS_IOC_CONSOLE, "console", 0, ioctl_console },
	{ SHIMOS_IOC_MEMORY, "memory", 0, ioctl_memory },
	{ SHIMOS_IOC_PCI, "pci", 0, ioctl_pci },
	{ SHIMOS_IOC_RT, "rt", 0, ioctl_rt },
	{ SHIMOS_IOC_RT_LATENCY, "rt_latency", 0, ioctl_rt_latency },
	{ SHIMOS_IOC_RT_MOVE, "rt_move", 0, ioctl_rt_move },
	{ SHIMOS_IOC_RT_CHECK, "rt_check", 0, ioctl_rt_check },
	{ SHIMOS_IOC_RT_PRIORITY, "rt_priority", 0, ioctl_rt_priority },
	{ SHIMOS_IOC_RT_VECTORS, "rt_vectors", 0, ioctl_rt_vectors },
	{ SHIMOS_IOC_HOST_MOVE, "host_move", 0, ioctl_host_move },
	{ SHIMOS_IOC_HOST_POLICY, "host_policy", 0, ioctl_host_policy },
	{ SHIMOS_IOC_HOST_CPUS, "host_cpus", 0, ioctl_host_cpus },
	{ SHIMOS_IOC_HOST_PRIORITY, "host_priority", 0, ioctl_host_priority },
	{ SHIMOS_IOC_PLATFORM, "platform", 0, ioctl_platform },
	{ SHIMOS_IOC_DESCRIBE, "describe", 0, ioctl_describe },
	{ SHIMOS_IOC_RESIZE, "resize", 0, ioctl_resize },
};

static const struct shimos_door ioctl_door = {
	.module		= KBUILD_MODNAME,
	.version	= SHIMOS_ABI_VERSION,
	.error		= SHIMOS_IOC_ERROR,
	.calls		= ioctl_calls,
	.count		= ARRAY_SIZE(ioctl_calls),
};

static long ioctl_call(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct session *s = file->private_data;

	return shimos_door_ioctl(&ioctl_door, &s->door, s, cmd, ptr);
}

static int ioctl_open(struct inode *inode, struct file *file)
{
	struct session *s;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	shimos_door_open(&s->door);
	file->private_data = s;
	return 0;
}

static int ioctl_release(struct inode *inode, struct file *file)
{
	struct session *s = file->private_data;

	partition_destroy_session(s);
	kfree(s);
	return 0;
}

static const struct file_operations ioctl_fops = {
	.owner		= THIS_MODULE,
	.open		= ioctl_open,
	.release	= ioctl_release,
	.unlocked_ioctl	= ioctl_call,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice ioctl_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "shimos",
	.mode	= 0600,
	.fops	= &ioctl_fops,
};

/**
 * ioctl_init() - make /dev/shimos
 *
 * Context: may sleep; all else is ready.
 * Return: 0 or an error.
 */
int ioctl_init(void)
{
	return misc_register(&ioctl_device);
}

/**
 * ioctl_exit() - take it away
 *
 * Context: may sleep.
 */
void ioctl_exit(void)
{
	misc_deregister(&ioctl_device);
}
