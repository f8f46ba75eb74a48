/* SPDX-License-Identifier: GPL-2.0 */
/* Where the page pools of network devices are declared: in a directory of their own since 6.6. */
#ifndef _SHIMOS_COMPAT_PAGE_POOL_H
#define _SHIMOS_COMPAT_PAGE_POOL_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#include <net/page_pool.h>
#else
#include <net/page_pool/helpers.h>
#endif

#endif
