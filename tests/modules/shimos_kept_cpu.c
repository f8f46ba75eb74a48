// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that cannot go offline while this is loaded, as Linux marks one on which the firmware's
 * Trusted OS resides (PSCI, MIGRATE_INFO_TYPE).
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/module.h>
#include <shimos/compat.h>

static unsigned int cpu;
module_param(cpu, uint, 0);

static struct device *kept;

static void kept_keep(bool keep)
{
	device_lock(kept);
	compat_keep_online(kept, keep);
	device_unlock(kept);
}

static int __init kept_init(void)
{
	kept = get_cpu_device(cpu);
	if (!kept)
		return -ENODEV;
	kept_keep(true);
	return 0;
}

static void __exit kept_exit(void)
{
	kept_keep(false);
}

module_init(kept_init);
module_exit(kept_exit);
MODULE_DESCRIPTION("SHIMOS tests: a CPU that stays online");
MODULE_LICENSE("GPL");
