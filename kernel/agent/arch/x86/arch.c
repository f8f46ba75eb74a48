// SPDX-License-Identifier: GPL-2.0
/*
 * The agent on x86: ACPI says where the shared area is; a kprobe catches the
 * one way to reset the machine that no notifier announces.
 */
#include <linux/acpi.h>
#include <linux/kprobes.h>

#include "agent.h"

int agent_arch_find_shared(u64 *addr, u64 *size)
{
	struct acpi_table_header *header;
	struct shimos_acpi_table *table;
	int ret = 0;

	if (ACPI_FAILURE(acpi_get_table(SHIMOS_ACPI_SIGNATURE, 1, &header)))
		return -ENODEV;
	table = (void *)header;
	if (header->length < sizeof(*table)) {
		ret = -EPROTO;
	} else {
		*addr = table->shared;
		*size = table->size;
	}
	acpi_put_table(header);
	return ret;
}

static int on_restart(struct kprobe *probe, struct pt_regs *regs)
{
	agent_end(SHIMOS_CAUSE_REBOOT);
	return 0;
}

static struct kprobe restart_probe = {
	.symbol_name	= "native_machine_emergency_restart",
	.pre_handler	= on_restart,
};

int agent_arch_catch_restart(void)
{
	int ret = register_kprobe(&restart_probe);

	if (ret)
		pr_err("no kprobe on %s: error %d\n", restart_probe.symbol_name, ret);
	return ret;
}
