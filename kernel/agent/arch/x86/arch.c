// SPDX-License-Identifier: GPL-2.0
/*
 * The agent on x86: ACPI says where the shared area is; a kprobe catches the one way
 * to reset the machine that no notifier announces; an NMI stops a CPU that INIT does
 * not.
 */
#include <linux/acpi.h>
#include <linux/kprobes.h>
#include <asm/asm.h>
#include <asm/nmi.h>
#include <asm/processor-flags.h>
#include <asm/smp.h>
#include <asm/special_insns.h>
#include <uapi/shimos_acpi.h>

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

u64 agent_arch_hardware_id(unsigned int cpu)
{
	return per_cpu(x86_cpu_to_apicid, cpu);
}

/* ---- restarts ---- */

static void (*x86_restart_end)(enum shimos_cause cause);

static int x86_on_restart(struct kprobe *probe, struct pt_regs *regs)
{
	x86_restart_end(SHIMOS_CAUSE_REBOOT);
	return 0;
}

static struct kprobe x86_restart_probe = {
	.symbol_name	= "native_machine_emergency_restart",
	.pre_handler	= x86_on_restart,
};

int agent_arch_catch_restart(void (*end)(enum shimos_cause cause))
{
	int ret;

	x86_restart_end = end;
	ret = register_kprobe(&x86_restart_probe);
	if (ret)
		pr_err("no kprobe on %s: error %d\n", x86_restart_probe.symbol_name, ret);
	return ret;
}

/* ---- standing still ---- */

static void (*x86_stop)(void);

/* KLoader sends an NMI to a CPU that INIT does not stop; others are not ours. */
static int x86_on_nmi(unsigned int type, struct pt_regs *regs)
{
	x86_stop();
	return NMI_DONE;
}

int agent_arch_catch_stop(void (*stop)(void))
{
	x86_stop = stop;
	return register_nmi_handler(NMI_LOCAL, x86_on_nmi, NMI_FLAG_FIRST, "shimos");
}

/* Both may be called for what has not been caught: they say so and do nothing. */
void agent_arch_release(void)
{
	if (x86_stop)
		unregister_nmi_handler(NMI_LOCAL, "shimos");
	x86_stop = NULL;
	unregister_kprobe(&x86_restart_probe);
}

/*
 * In VMX operation a CPU takes no INIT (Intel SDM 3C, 24.8).  KVM enters it when the
 * module is loaded, and a panic leaves it there.
 */
void agent_arch_let_go(void)
{
	if (__read_cr4() & X86_CR4_VMXE)
		asm volatile("1: vmxoff\n2:\n" _ASM_EXTABLE(1b, 2b) ::: "cc", "memory");
}
