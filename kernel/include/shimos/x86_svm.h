/* SPDX-License-Identifier: GPL-2.0 */
/* What KLoader's guard and SPUMONE's layer both need of an AMD processor and of this kernel. */
#ifndef _SHIMOS_X86_SVM_H
#define _SHIMOS_X86_SVM_H

#include <linux/bits.h>
#include <linux/cc_platform.h>
#include <linux/errno.h>
#include <asm/cpufeature.h>
#include <shimos/compat_x86.h>
#include <shimos/complaint.h>

#define SHIMOS_VM_CR_DISABLED	BIT(4)	/* SVMDIS in MSR_VM_CR */

/**
 * shimos_svm_check() - can something of ours run under a kernel here?
 * @cpu: one that is online
 * @c: why not
 *
 * Our page tables have no bit that says what is encrypted.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
static inline int shimos_svm_check(unsigned int cpu, struct complaint *c)
{
	u64 vm_cr;

	if (!boot_cpu_has(X86_FEATURE_SVM))
		return shimos_refuse(c, -ENODEV,
				     "this processor has no SVM, or the firmware hides or locks it: AMD's have, look for 'SVM mode' in the firmware's settings");
	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		return shimos_refuse(c, -ENODEV,
				     "this kernel encrypts its memory (SME), which is not supported yet: boot it with mem_encrypt=off");
	if (compat_rdmsrq_safe_on_cpu(cpu, MSR_VM_CR, &vm_cr) || vm_cr & SHIMOS_VM_CR_DISABLED)
		return shimos_refuse(c, -EPERM,
				     "the firmware has locked SVM: switch it on in the firmware's settings");
	return 0;
}

#endif
