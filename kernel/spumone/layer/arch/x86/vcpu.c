// SPDX-License-Identifier: GPL-2.0
/* Who can have the core, and the change from one to the other. */
#include "x86.h"

_Alignas(LAYER_PAGE) struct svm_vmcb layer_vmcb;

struct x86_vcpu layer_linux;
struct x86_vcpu *layer_current;

static u32 vcpu_linux_priority;	/* what Linux has told the APIC to keep away */

/* Before the first run. */
void layer_vcpu_init(void)
{
	layer_linux.vmcb = &layer_vmcb;
	layer_linux.physical = layer_physical(&layer_vmcb);
	layer_current = &layer_linux;
}

/**
 * layer_vcpu_switch() - the core is somebody else's
 *
 * VMRUN switches what is in the VMCB's first half; VMSAVE and VMLOAD switch the hidden
 * halves of segments and the MSRs of system calls.  While an RTOS runs, Linux's
 * interrupts stay in the APIC, all but those of the highest class.
 */
void layer_vcpu_switch(struct x86_vcpu *to)
{
	if (to == layer_current)
		return;
	asm volatile("vmsave %0" : : "a"(layer_current->physical) : "memory");
	asm volatile("vmload %0" : : "a"(to->physical) : "memory");
	if (layer_current == &layer_linux) {
		vcpu_linux_priority = layer_apic_hold(X86_TOP_CLASS - 1);
	} else {
		layer_fpu_give_back();
		if (to == &layer_linux)
			layer_apic_release(vcpu_linux_priority);
	}
	layer_current = to;
}

/* It takes an exception when it runs. */
void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error)
{
	vcpu->vmcb->control.event = SVM_EVENT_VALID | SVM_EVENT_EXCEPTION | vector |
				    (has_error ? SVM_EVENT_HAS_ERROR : 0);
}
