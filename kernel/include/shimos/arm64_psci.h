/* SPDX-License-Identifier: GPL-2.0 */
/* The firmware's interface for CPUs (Arm DEN 0022, PSCI), as KLoader and the agent use it. */
#ifndef _SHIMOS_ARM64_PSCI_H
#define _SHIMOS_ARM64_PSCI_H

#include <linux/acpi.h>
#include <linux/arm-smccc.h>
#include <linux/of.h>
#include <linux/string.h>
#include <uapi/linux/psci.h>

/**
 * shimos_psci_conduit_of_acpi() - how PSCI is called, as ACPI's FADT says
 *
 * Context: any.
 */
static inline enum arm_smccc_conduit shimos_psci_conduit_of_acpi(void)
{
	if (!(acpi_gbl_FADT.arm_boot_flags & ACPI_FADT_PSCI_COMPLIANT))
		return SMCCC_CONDUIT_NONE;
	return acpi_gbl_FADT.arm_boot_flags & ACPI_FADT_PSCI_USE_HVC ? SMCCC_CONDUIT_HVC :
								       SMCCC_CONDUIT_SMC;
}

/**
 * shimos_psci_conduit_of_tree() - how PSCI is called, as the device tree says
 *
 * Context: may sleep.
 */
static inline enum arm_smccc_conduit shimos_psci_conduit_of_tree(void)
{
	static const char *const names[] = { "arm,psci-1.0", "arm,psci-0.2", "arm,psci" };
	enum arm_smccc_conduit conduit = SMCCC_CONDUIT_NONE;
	struct device_node *node = NULL;
	const char *method;
	int i;

	for (i = 0; !node && i < ARRAY_SIZE(names); i++)
		node = of_find_compatible_node(NULL, NULL, names[i]);
	if (node && !of_property_read_string(node, "method", &method))
		conduit = strcmp(method, "hvc") ? SMCCC_CONDUIT_SMC : SMCCC_CONDUIT_HVC;
	of_node_put(node);
	return conduit;
}

/**
 * shimos_psci_conduit() - how PSCI is called
 *
 * What Linux knows is of firmware that speaks SMCCC 1.1 only, and no partition is told that its
 * does.
 *
 * Context: may sleep.
 * Return: SMCCC_CONDUIT_NONE: there is none, or none that is known.
 */
static inline enum arm_smccc_conduit shimos_psci_conduit(void)
{
	enum arm_smccc_conduit conduit = arm_smccc_1_1_get_conduit();

	if (conduit != SMCCC_CONDUIT_NONE)
		return conduit;
	return acpi_disabled ? shimos_psci_conduit_of_tree() : shimos_psci_conduit_of_acpi();
}

/**
 * shimos_psci_call() - call the firmware (Arm DEN 0022)
 * @conduit: of shimos_psci_conduit()
 * @function: PSCI_*
 * @first: its first argument
 * @second: the second
 * @third: the third
 *
 * Context: any.
 * Return: what it says; PSCI_RET_NOT_SUPPORTED without a conduit.
 */
static inline long shimos_psci_call(enum arm_smccc_conduit conduit, u32 function, u64 first,
				    u64 second, u64 third)
{
	struct arm_smccc_res res = { .a0 = PSCI_RET_NOT_SUPPORTED };

	if (conduit == SMCCC_CONDUIT_HVC)
		arm_smccc_hvc(function, first, second, third, 0, 0, 0, 0, &res);
	else if (conduit == SMCCC_CONDUIT_SMC)
		arm_smccc_smc(function, first, second, third, 0, 0, 0, 0, &res);
	/* numbers of 32 bits, whatever stands above them */
	return (s32)res.a0;
}

#endif
