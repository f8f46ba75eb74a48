// SPDX-License-Identifier: GPL-2.0
/* Who can have the core, and the change from one to the other. */
#include "x86.h"

_Alignas(LAYER_PAGE) struct svm_vmcb layer_vmcb;

struct x86_vcpu layer_linux;
struct x86_vcpu layer_nobody;
struct x86_vcpu *layer_current;

static _Alignas(LAYER_PAGE) struct svm_vmcb vcpu_nobody;

static u32 vcpu_held_class;	/* up to which an RTOS keeps interrupts away; they wait, or are sent after */
static u32 vcpu_linux_priority;	/* what Linux has told the APIC to keep away */

/**
 * layer_vcpu_init() - before the first run: the core is Linux's
 */
void layer_vcpu_init(void)
{
	layer_linux.vmcb = &layer_vmcb;
	layer_linux.physical = layer_physical(&layer_vmcb);
	layer_nobody.vmcb = &vcpu_nobody;
	vcpu_nobody.save.rflags = X86_FLAGS_IF;
	layer_nobody.physical = layer_physical(&vcpu_nobody);
	layer_current = &layer_linux;
	layer_vcpu_hold(1);
}

/**
 * layer_vcpu_hold() - do Linux's interrupts wait while an RTOS runs?
 * @wait: they do.  If its CPU is on another core, or may be more urgent than that RTOS, they do
 *	not
 */
void layer_vcpu_hold(int wait)
{
	vcpu_held_class = wait ? X86_TOP_CLASS - 1 : 0;
}

static void vcpu_save(const struct x86_vcpu *v)
{
	asm volatile("vmsave %0" : : "a"(v->physical) : "memory");
}

static void vcpu_load(const struct x86_vcpu *v)
{
	asm volatile("vmload %0" : : "a"(v->physical) : "memory");
}

/**
 * layer_vcpu_switch() - the core is Linux's, or nobody's
 * @to: Linux's, one that visits, or layer_nobody
 *
 * VMRUN switches what is in the VMCB's first half; VMSAVE and VMLOAD switch the hidden
 * halves of segments and the MSRs of system calls.  While an RTOS runs, Linux's
 * interrupts stay in the APIC, all but those of the highest class; if Linux's CPU is on another
 * core, they are sent after it.
 */
void layer_vcpu_switch(struct x86_vcpu *to)
{
	if (to == layer_current)
		return;
	vcpu_save(layer_current);
	vcpu_load(to);
	if (layer_current->guest) {
		layer_fpu_give_back();
		layer_apic_release(vcpu_linux_priority);
	}
	if (to->state)
		layer_state_change(to->state);
	layer_current = to;
}

/**
 * layer_vcpu_switch_rtos() - the core is an RTOS's, which did not have it
 * @to: the RTOS's
 *
 * A deadline waits for this.
 */
void layer_vcpu_switch_rtos(struct x86_vcpu *to)
{
	vcpu_save(layer_current);
	vcpu_load(to);
	if (layer_current->guest) {
		layer_fpu_give_back();
		layer_apic_hold(vcpu_held_class);
	} else {
		vcpu_linux_priority = layer_apic_hold(vcpu_held_class);
	}
	layer_current = to;
}

/**
 * layer_vcpu_leaves() - one of Linux's is in this core no more, and all of it is in memory
 * @v: which; it need not have the core
 */
void layer_vcpu_leaves(struct x86_vcpu *v)
{
	if (layer_current == v) {
		vcpu_save(v);
		layer_current = &layer_nobody;
	}
	layer_fpu_give_back();
	layer_state_leaves(v->state);
}

/**
 * layer_vcpu_priority() - what Linux tells the APIC to keep away is this from now on
 * @priority: as in its task priority register
 */
void layer_vcpu_priority(u32 priority)
{
	vcpu_linux_priority = priority;
	if (!layer_current->guest)
		layer_apic_release(priority);
}

/**
 * layer_vcpu_give_nmi() - it takes an NMI when it runs
 * @v: one of Linux's
 *
 * One at a time: by itself the processor would keep a second one away until the first one's
 * IRET, but not one that we give it.
 *
 * Return: 1, or 0: it cannot now.
 */
int layer_vcpu_give_nmi(struct x86_vcpu *v)
{
	struct svm_control *c = &v->vmcb->control;

	if (c->event & SVM_EVENT_VALID || c->intercept_3 & SVM_3_IRET || layer_vcpu_returns(v))
		return 0;
	c->event = SVM_EVENT_VALID | SVM_EVENT_NMI | X86_EXCEPTION_NMI;
	c->intercept_3 |= SVM_3_IRET;
	return 1;
}

/**
 * layer_vcpu_ends_nmi() - it returns from an NMI, or from something within one
 * @v: has the core
 *
 * That also lets the next one in, but not before the IRET.  An NMI's frame is always at the same
 * place, so one that came to the IRET would have it return to itself, for ever.
 */
void layer_vcpu_ends_nmi(struct x86_vcpu *v)
{
	v->vmcb->control.intercept_3 &= ~SVM_3_IRET;
	v->returns_at = v->vmcb->save.rip;
	v->returns_stack = v->vmcb->save.rsp;
}

/**
 * layer_vcpu_returns() - is it about to run the IRET that it was left for?
 * @v: one of Linux's
 *
 * Then who has an NMI for it gives it at its next exit, and sees to it that there is one.
 */
int layer_vcpu_returns(const struct x86_vcpu *v)
{
	const struct svm_save *save = &v->vmcb->save;

	return save->rip == v->returns_at && save->rsp == v->returns_stack;
}

/**
 * layer_vcpu_inject() - it takes an exception when it runs
 * @vcpu: which
 * @vector: of the exception
 * @has_error: with an error code, which is 0
 */
void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error)
{
	vcpu->vmcb->control.event = SVM_EVENT_VALID | SVM_EVENT_EXCEPTION | vector |
				    (has_error ? SVM_EVENT_HAS_ERROR : 0);
}
