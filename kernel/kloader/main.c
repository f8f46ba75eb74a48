// SPDX-License-Identifier: GPL-2.0
/* KLoader as a module: what comes up with it, and what it hears of the host. */
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/suspend.h>
#include <shimos/ikc_host.h>

#include "arch.h"
#include "passthrough.h"

static const struct ikc_bell_user kloader_bell = {
	.rang	= life_rang,
	.moved	= life_bell_moved,
};

/* Those who see no more memory than they are shown see IKC's area. */
static void kloader_share(unsigned int chunk, u64 physical)
{
	kind_rt_share(chunk, physical);
	kloader_arch_share(chunk, physical);
}

/* A reboot or kexec of the host ends its partitions; a panic does not. */
static int kloader_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	life_shut();
	return NOTIFY_DONE;
}

static struct notifier_block kloader_reboot_notifier = {
	.notifier_call = kloader_reboot,
};

/* A host that sleeps takes the memory and CPUs of its partitions with it. */
static int kloader_suspend(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		if (!life_sleep())
			return NOTIFY_DONE;
		pr_warn("the host cannot sleep while partitions run: stop them first\n");
		return NOTIFY_BAD;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		life_wake();
	}
	return NOTIFY_DONE;
}

static struct notifier_block kloader_suspend_notifier = {
	.notifier_call = kloader_suspend,
};

static int __init kloader_init(void)
{
	int ret;

	ret = kloader_arch_init();
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
	ret = ikc_host_init(THIS_MODULE, kloader_share);
	if (ret)
		goto unshare;
	ret = passthrough_init(life_lost);
	if (ret)
		goto exit_ikc;
	ret = ioctl_init();
	if (ret)
		goto exit_passthrough;
	register_reboot_notifier(&kloader_reboot_notifier);
	register_pm_notifier(&kloader_suspend_notifier);
	return 0;

exit_passthrough:
	passthrough_exit();
exit_ikc:
	ikc_host_exit();
unshare:
	kind_rt_unshare();
	ikc_bell_close();
exit_sysfs:
	sysfs_exit();
exit_cpus:
	cpus_exit();
exit_arch:
	kloader_arch_exit();
	return ret;
}

/* Every partition holds the module, so there are none here. */
static void __exit kloader_exit(void)
{
	unregister_pm_notifier(&kloader_suspend_notifier);
	unregister_reboot_notifier(&kloader_reboot_notifier);
	ioctl_exit();
	passthrough_exit();
	ikc_host_exit();
	kind_rt_unshare();
	ikc_bell_close();
	sysfs_exit();
	cpus_exit();
	kloader_arch_exit();
}

module_init(kloader_init);
module_exit(kloader_exit);
MODULE_DESCRIPTION("SHIMOS KLoader: starts other kernels on this machine's CPUs");
MODULE_LICENSE("GPL");
