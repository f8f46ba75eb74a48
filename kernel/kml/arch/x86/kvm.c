// SPDX-License-Identifier: GPL-2.0
/*
 * KVM of Intel CPUs and we exclude each other. When KVM begins to use a CPU (6.12: when
 * it is loaded, 6.1: with the first guest) it takes what MSR_LSTAR has there for the
 * kernel's own entry, and writes that after each guest: were a trusted program current,
 * all programs would come by our entry from then on, and leave by it to CPL 0.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include "kml.h"
#include "x86.h"

static int kml_kvm_on_module(struct notifier_block *notifier, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event != MODULE_STATE_COMING || strcmp(module->name, "kvm_intel"))
		return NOTIFY_DONE;
	pr_warn("kvm_intel is not let in, programs may run in kernel mode: rmmod shimos_kml first\n");
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block modules = { .notifier_call = kml_kvm_on_module };

/**
 * kml_kvm_init() - keep KVM of Intel CPUs out
 *
 * Context: process; may sleep.
 * Return: 0; -EOPNOTSUPP: it is there already.
 */
int kml_kvm_init(void)
{
	int err = register_module_notifier(&modules);

	if (err)
		return err;
	/* whoever comes from now on is refused; is it here, or a part of the kernel? */
	if (!kml_symbol("vmx_vcpu_load"))
		return 0;
	unregister_module_notifier(&modules);
	pr_err("refused: kvm_intel is there, which confuses our entry with the kernel's (rmmod kvm_intel)\n");
	return -EOPNOTSUPP;
}

/**
 * kml_kvm_exit() - let it come again
 *
 * Context: process; may sleep.
 */
void kml_kvm_exit(void)
{
	unregister_module_notifier(&modules);
}
