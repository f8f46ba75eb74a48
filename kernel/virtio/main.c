// SPDX-License-Identifier: GPL-2.0
/*
 * The transport by which stock virtio drivers of this kernel use devices that other
 * kernels own.
 */
#include <linux/module.h>

#include "transport.h"

static int __init transport_module_init(void)
{
	return transport_packets_init();
}

static void __exit transport_module_exit(void)
{
	transport_packets_exit();
}

module_init(transport_module_init);
module_exit(transport_module_exit);
MODULE_DESCRIPTION("SHIMOS virtio transport: devices that other kernels own");
MODULE_LICENSE("GPL");
