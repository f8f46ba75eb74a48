// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading. */
#include <linux/kernel.h>
#include <linux/module.h>
#include "kml.h"

static int __init kml_init(void)
{
	int err = kml_arch_init();

	if (err)
		return err;
	err = kml_gate_init();
	if (err)
		goto no_gate;
	err = kml_tasks_init();
	if (err)
		goto no_tasks;
	err = kml_events_init();
	if (err)
		goto no_events;
	err = kml_rights_init();
	if (err)
		goto no_rights;
	err = kml_device_init();
	if (err)
		goto no_device;
	return 0;
no_device:
	kml_rights_exit();
no_rights:
	kml_events_exit();
no_events:
	kml_tasks_exit();
no_tasks:
	kml_gate_exit();
no_gate:
	kml_arch_exit();
	return err;
}

/* Every trusted task holds the module, so there is none. */
static void __exit kml_exit(void)
{
	kml_device_exit();
	kml_rights_exit();
	kml_events_exit();
	kml_tasks_exit();
	kml_gate_exit();
	kml_arch_exit();
}

module_init(kml_init);
module_exit(kml_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel Mode Linux: trusted programs run in kernel mode");
