// SPDX-License-Identifier: GPL-2.0
/* The firmware, which starts CPUs and says whether they are off. */
#include <shimos/arm64_psci.h>

#include "arm64.h"

#define PSCI_ADVICE	"a partition's CPUs are started by it, and it alone can say that one is off"

static enum arm_smccc_conduit arm64_psci_how;

/**
 * arm64_psci_conduit() - how this machine's PSCI is called
 *
 * Context: any; after arm64_psci_init().
 */
enum arm_smccc_conduit arm64_psci_conduit(void)
{
	return arm64_psci_how;
}

static long arm64_psci(u32 function, u64 first, u64 second, u64 third)
{
	return shimos_psci_call(arm64_psci_how, function, first, second, third);
}

/**
 * arm64_psci_check() - has this machine a PSCI that can be used?
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EOPNOTSUPP.
 */
int arm64_psci_check(struct complaint *c)
{
	long version;

	if (arm64_psci_how == SMCCC_CONDUIT_NONE)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "this machine's firmware has no PSCI: " PSCI_ADVICE);
	version = arm64_psci(PSCI_0_2_FN_PSCI_VERSION, 0, 0, 0);
	if (version < PSCI_VERSION(0, 2))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "this machine's firmware has PSCI 0.1, and 0.2 is needed: "
				     PSCI_ADVICE "; update the firmware");
	return 0;
}

/**
 * arm64_psci_cpu_on() - let a CPU run
 * @mpidr: which; it is off
 * @entry: physical address
 * @argument: what it finds in x0
 *
 * Context: any.
 * Return: 0 or an error of PSCI's, negative.
 */
long arm64_psci_cpu_on(u64 mpidr, u64 entry, u64 argument)
{
	return arm64_psci(PSCI_0_2_FN64_CPU_ON, mpidr, entry, argument);
}

/**
 * arm64_psci_is_off() - is a CPU neither on nor about to be?
 * @mpidr: which
 *
 * Context: any.
 */
bool arm64_psci_is_off(u64 mpidr)
{
	return arm64_psci(PSCI_0_2_FN64_AFFINITY_INFO, mpidr, 0, 0) ==
	       PSCI_0_2_AFFINITY_LEVEL_OFF;
}

/**
 * arm64_psci_init() - find out how PSCI is called
 *
 * Context: may sleep.
 */
void arm64_psci_init(void)
{
	arm64_psci_how = shimos_psci_conduit();
}
