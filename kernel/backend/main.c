// SPDX-License-Identifier: GPL-2.0
/*
 * The back ends: devices of this kernel that other kernels use (SHIMOS 2009,
 * "Shared Devices", section 4).  Loaded in the kernel that owns the devices, which
 * may be the host or a partition.
 */
#include <linux/module.h>

#include "disk.h"

static int __init backend_init(void)
{
	int ret = disk_requests_init();

	if (ret)
		return ret;
	ret = net_init();
	if (ret)
		goto exit_requests;
	ret = backend_core_init();
	if (ret)
		goto exit_net;
	ret = backend_device_init();
	if (ret)
		goto exit_core;
	return 0;

exit_core:
	backend_core_exit();
exit_net:
	net_exit();
exit_requests:
	disk_requests_exit();
	return ret;
}

/* Users see their devices vanish, and errors for what they still ask. */
static void __exit backend_exit(void)
{
	backend_device_exit();
	backend_core_exit();
	net_exit();
	disk_requests_exit();
}

module_init(backend_init);
module_exit(backend_exit);
MODULE_DESCRIPTION("SHIMOS back ends: disks and networks for other kernels");
MODULE_LICENSE("GPL");
