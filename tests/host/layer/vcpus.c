// SPDX-License-Identifier: GPL-2.0
/*
 * What vcpu.c, rtos.c, host.c and protect.c do with the hardware, for a Linux that stays at
 * home and an RTOS that does what it likes.
 */
#include "test.h"

struct svm_vmcb layer_vmcb;
struct x86_vcpu layer_linux, layer_nobody, *layer_current;

void layer_vcpu_switch(struct x86_vcpu *to)
{
	layer_current = to;
	apic_held = 0;
}

void layer_vcpu_switch_rtos(struct x86_vcpu *to)
{
	layer_current = to;
	apic_held = X86_TOP_CLASS - 1;
}

/* It runs on, or waits for a time not far away. */
void layer_rtos_exit(struct x86_guest *x)
{
	layer_rt_exited(&x->g);
	layer_window();
	if (random_below(2))
		return;
	layer_rt_call(&x->g, SHIMOS_RT_CALL_TIMER, core_now + random_below(2000), 0);
	layer_rt_halt(&x->g);
}

void layer_rtos_give(struct x86_guest *x)
{
	layer_rt_take(&x->g);
}

/* Nobody wants the core: the next thing that happens is the timer's, or a device's. */
void layer_idle(void)
{
	MUST(!layer_hosts_choose());
	apic_something();
	layer_window();
}

/* Visitors have their interrupts by core_host_pending[]. */
void layer_host_exit(struct x86_host *x)
{
}

void layer_host_settle(void)
{
}

/* Nobody flees here. */
int layer_host_flee(void)
{
	return 0;
}

int layer_user_exit(void)
{
	return 0;
}

void layer_user_keep_out(void)
{
}

int layer_user_only(void)
{
	return 0;
}

void layer_host_recall(void)
{
}

void layer_host_give(struct x86_host *x, int shares)
{
}

void layer_host_share(int shares)
{
	layer_vmcb.control.intercept_3 &= ~(SVM_3_HLT | SVM_3_PAUSE);
	if (shares)
		layer_vmcb.control.intercept_3 |= SVM_3_HLT | SVM_3_PAUSE;
}

void layer_vcpu_hold(int wait)
{
	MUST(wait);	/* nobody is more urgent than an RTOS here */
}

/* ---- nobody asks for these ---- */

void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error)
{
	MUST(0);
}

int layer_vcpu_give_nmi(struct x86_vcpu *v)
{
	MUST(0);
	return 0;
}

int layer_vcpu_returns(const struct x86_vcpu *v)
{
	return 0;
}

void layer_vcpu_ends_nmi(struct x86_vcpu *v)
{
	MUST(0);
}

void layer_protect(u64 root)
{
	MUST(0);
}

void layer_protect_fault(struct x86_vcpu *v)
{
	MUST(0);
}

void layer_host_send(struct x86_host *x, u64 core)
{
	MUST(0);
}

void layer_host_expect(int expected)
{
	MUST(0);
}

void layer_host_interrupt(unsigned int vector)
{
	MUST(0);
}

void layer_host_nmi(void)
{
	MUST(0);
}

void layer_host_step(struct x86_host *x)
{
	MUST(0);
}

int layer_host_faulted(const struct x86_host *x)
{
	MUST(0);
	return 0;
}
