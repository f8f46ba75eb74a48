// SPDX-License-Identifier: GPL-2.0
/* Whether this CPU, as this kernel uses it, can run programs in kernel mode. */
#include <linux/cc_platform.h>
#include <linux/kernel.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>
#include "kml.h"
#include "x86.h"

/* bits of CR4 that older headers do not name */
#define CR4_LASS	BIT_ULL(27)
#define CR4_FRED	BIT_ULL(32)

static const char *kml_support_objection(void)
{
	unsigned long cr4 = native_read_cr4();
	u64 cet = 0;

	/* tracepoints' callbacks must not sleep, and there all locks may */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return "a real-time kernel";
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "a Xen PV guest does not run in ring 0";
	if (boot_cpu_has(X86_FEATURE_PTI))
		return "page table isolation is on: programs' page tables lack the kernel (pti=off, if this CPU is to be trusted)";
	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		return "memory encryption (SME, SEV, TDX) is on";
	if (cr4 & CR4_FRED)
		return "FRED is on: events do not use the IDT (fred=off)";
	if (cr4 & CR4_LASS)
		return "LASS is on: kernel mode must not use programs' addresses (clearcpuid=lass)";
#ifdef X86_FEATURE_KERNEL_IBRS
	if (boot_cpu_has(X86_FEATURE_KERNEL_IBRS))
		return "legacy IBRS is on, which changes with each system call (spectre_v2=retpoline)";
#endif
#ifdef X86_CR4_CET
	if (cr4 & X86_CR4_CET) {
		rdmsrl(MSR_IA32_S_CET, cet);
		if (cet & CET_ENDBR_EN)
			return "indirect branch tracking is on (ibt=off)";
	}
#endif
#ifdef X86_FEATURE_USER_SHSTK
	if (boot_cpu_has(X86_FEATURE_USER_SHSTK))
		return "programs have shadow stacks (clearcpuid=shstk)";
#endif
	return NULL;
}

/**
 * kml_support_check() - can this processor and this kernel run programs in kernel mode?
 *
 * Says in the log why not.
 *
 * Context: process.
 * Return: 0 or -EOPNOTSUPP.
 */
int kml_support_check(void)
{
	const char *why = kml_support_objection();

	if (!why)
		return 0;
	pr_err("refused: %s\n", why);
	return -EOPNOTSUPP;
}
