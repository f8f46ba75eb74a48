// SPDX-License-Identifier: GPL-2.0
/*
 * The transport by which stock virtio drivers of this kernel use devices that other
 * kernels own.
 */
#include <linux/module.h>

#include "transport.h"

static int __init shimos_virtio_init(void)
{
	return shimos_packets_init();
}

static void __exit shimos_virtio_exit(void)
{
	shimos_packets_exit();
}

module_init(shimos_virtio_init);
module_exit(shimos_virtio_exit);
MODULE_DESCRIPTION("SHIMOS virtio transport: devices that other kernels own");
MODULE_LICENSE("GPL");
