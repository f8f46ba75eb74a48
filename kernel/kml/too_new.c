// SPDX-License-Identifier: GPL-2.0
/*
 * All of this module on a kernel whose entry code it does not know: it says so.  Nobody
 * who builds or installs the modules has to leave one out.
 */
#include <linux/module.h>
#include <generated/utsrelease.h>

static int __init kml_init(void)
{
	/* where the tool looks for the reason */
	pr_err("refused: kernel %s is too new: trusted programs need 6.1 or 6.12\n", UTS_RELEASE);
	return -EOPNOTSUPP;
}

module_init(kml_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel Mode Linux: trusted programs run in kernel mode");
