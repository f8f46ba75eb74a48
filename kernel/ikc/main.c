// SPDX-License-Identifier: GPL-2.0
/*
 * IKC as a module.  It has doorbells and a device from the start; it takes part
 * when KLoader or the agent attaches it to the shared area.
 */
#include <linux/module.h>

#include "local.h"

static int __init ikc_init(void)
{
	int ret = ikc_bells_init();

	if (ret)
		return ret;
	ret = ikc_device_init();
	if (ret)
		ikc_bells_exit();
	return ret;
}

static void __exit ikc_exit(void)
{
	ikc_device_exit();
	ikc_bells_exit();
}

module_init(ikc_init);
module_exit(ikc_exit);
MODULE_DESCRIPTION("SHIMOS inter-kernel communication");
MODULE_LICENSE("GPL");
