// SPDX-License-Identifier: GPL-2.0
/* Whose turn it is: an RTOS's, Linux's, or nobody's; and that it gets the core. */
#include "x86.h"

static int next_serves;	/* Linux has got an interrupt that may wake a task, and has not returned from it */
static int next_late;	/* something came while Linux was about to get the core: it does not yet */

/* An NMI that came meanwhile.  With something else on its way, layer_next_late_nmi() sees to it. */
static noinline __cold void next_give_nmi(void)
{
	if (!layer_vcpu_give_nmi(&layer_linux)) {
		if (layer_vcpu_returns(&layer_linux))
			layer_vectors_tell();
		return;
	}
	layer_nmi_pending = 0;
	layer_counts()->nmis++;
}

/**
 * layer_next_late_nmi() - an NMI waits for what is on its way to Linux
 *
 * It comes again as soon as that is there.  After the last window, for it would come into that,
 * and again without end.
 */
noinline __cold void layer_next_late_nmi(void)
{
	if (!(layer_vmcb.control.event & SVM_EVENT_VALID))
		return;		/* Linux is in one, and tells when it returns */
	layer_apic_nmi();
	layer_nmi_pending = 0;
}

/*
 * Has anything come meanwhile that changes whose turn it is?  So nobody waits for the whole
 * pass, and what was raised in it, as Linux's tick, needs no exit of its own.
 */
static int next_look_around(void)
{
	layer_came = 0;
	layer_window();
	return layer_came;
}

static void next_set_timer(void)
{
	next_late = !layer_timer_look();
}

/* This core's own CPU of Linux's. */
static void next_to_own(void)
{
	layer_tasks_go_on();
	layer_vcpu_hold(1);
	layer_vcpu_switch(&layer_linux);
	if (layer_nmi_pending)
		next_give_nmi();
	/* to look at all of them was long, and to set the timer is */
	if (layer_guests_several() && next_look_around())
		next_late = 1;
	else
		next_set_timer();
}

/* Linux does not wait for an RTOS, if it can go elsewhere; it may also just have come back. */
static noinline __cold void next_flee(void)
{
	if (!layer_user_only() && (!layer_current->guest || layer_hosts_own_visits()) &&
	    layer_host_flee())
		layer_hosts_fled();
}

static void next_to_rtos(struct layer_guest *g)
{
	struct x86_guest *x = x86_guest(g);

	if (layer_current == &layer_linux) {
		layer_rt_enters(g, !(layer_vmcb.save.rflags & X86_FLAGS_IF));
		if (layer_tasks_any())
			layer_tasks_stop();
	} else if (layer_current != &x->vcpu) {
		layer_rt_enters(g, 0);
	}
	if (LAYER_READ(layer_shared()->refuge))
		next_flee();
	/* Linux's interrupts wait, unless they may wake somebody */
	if (layer_tasks_any() && layer_hosts_alone())
		layer_vcpu_hold(!layer_tasks_heard(g));
	if (layer_current != &x->vcpu)
		layer_vcpu_switch_rtos(&x->vcpu);
}

/* It has the core, unless a more urgent one's deadline came meanwhile. */
static int next_runs(struct layer_guest *g)
{
	layer_vectors_clear_way();
	if (!layer_timer_look_rtos(g))
		return 0;
	/* the last thing, for how late it is counts up to here */
	layer_rtos_give(x86_guest(g));
	return 1;
}

int layer_arch_own_pending(void)
{
	return layer_nmi_pending || layer_vectors_any();
}

/* Of several, or of one that is not this core's own; 0: none of them wants it. */
static noinline __cold int next_to_host(void)
{
	struct layer_host *h;
	int ready;

	ready = layer_hosts_choose();
	h = layer_hosts_turn();
	if (!ready)
		return 0;
	if (h) {
		layer_vectors_clear_way();
		layer_vcpu_switch(&x86_host(h)->vcpu);
		next_set_timer();
		layer_host_give(x86_host(h), ready > 1);
		return 1;
	}
	layer_host_share(ready > 1);
	next_to_own();
	return 1;
}

static int next_to_linux(void)
{
	if (!layer_hosts_alone()) {
		layer_host_recall();
		layer_host_settle();
	}
	layer_user_keep_out();
	if (layer_hosts_alone()) {
		next_to_own();
		return 1;
	}
	layer_hosts_call_home();
	return next_to_host();
}

/* Nobody wants the core: until something comes. */
static noinline __cold void next_idle(void)
{
	layer_rt_leaves();
	layer_vcpu_switch(&layer_nobody);
	next_set_timer();
	if (!next_late && !layer_hosts_woken()) {
		/* if Linux's own has gone, it does not end them */
		layer_vectors_clear_way();
		layer_idle();
	}
	layer_budget_linux_left();
}

/* Linux has the core, unless something comes at the last moment. */
static int next_linux_runs(void)
{
	if (next_look_around() || next_late || layer_hosts_woken())
		return 0;
	layer_vectors_gather();
	return !layer_came;
}

/**
 * layer_next_returns() - Linux returns from an interrupt
 */
void layer_next_returns(void)
{
	next_serves = 0;
}

/*
 * It is left when it returns from what it has taken.  If it is about to return from something
 * else first, what is on its way cannot be taken before that: then as soon as it can.
 */
static noinline __cold void next_wait_for_return(void)
{
	if (layer_vcpu_returns(&layer_linux) && !layer_vectors_can_take(&layer_vmcb))
		layer_vectors_tell();
	else
		layer_vmcb.control.intercept_3 |= SVM_3_IRET;
}

/*
 * Linux has an interrupt until it returns from that, or has switched tasks, which is how it may
 * go on elsewhere first.  If it cannot take it yet, it goes on until it can.
 */
static noinline __cold void next_look_at_interrupt(void)
{
	if (layer_vectors_any()) {
		next_serves = 1;
		layer_tasks_interrupted();
	} else if (layer_tasks_switched()) {
		next_serves = 0;
	}
	if (next_serves)
		next_wait_for_return();
}

/*
 * Does Linux go before this RTOS, though that wants the core?  With an interrupt, too, for it may
 * wake a task: also with one that it took when no RTOS wanted the core.  NULL: none does now.
 */
static noinline __cold int next_is_linux(const struct layer_guest *g)
{
	if (g ? !layer_tasks_heard(g) : !layer_hosts_alone())
		return !g;
	next_look_at_interrupt();
	if (!g || next_serves || layer_tasks_first(g))
		return 1;
	/* it has become less urgent just now, in its scheduler and with a lock */
	if (!layer_tasks_were_first() || layer_vmcb.save.rflags & X86_FLAGS_IF)
		return 0;
	layer_vectors_tell();
	return 1;
}

/* The RTOS that has the core next; NULL: Linux has it, though one may want it. */
static struct layer_guest *next_rtos(void)
{
	struct layer_guest *g = layer_guests_look();

	if (layer_tasks_any() ? next_is_linux(g) : !g) {
		layer_tasks_wait(g);
		return NULL;
	}
	layer_tasks_wait(NULL);
	return g;
}

/**
 * layer_next() - decide whose turn it is, and prepare its run
 *
 * No RTOS waits until what Linux has not taken is sorted.
 */
void layer_next(void)
{
	struct layer_guest *g;

	for (;;) {
		g = next_rtos();
		if (g) {
			next_to_rtos(g);
			if (next_look_around())
				continue;
			if (next_runs(g))
				return;
			layer_window();
			continue;
		}
		if (layer_vectors_several()) {
			layer_vectors_gather();
			continue;
		}
		if (next_to_linux()) {
			if (next_linux_runs())
				return;
		} else if (!layer_tasks_were_first()) {
			next_idle();
		}
	}
}
