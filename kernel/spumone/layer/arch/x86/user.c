// SPDX-License-Identifier: GPL-2.0
/*
 * A core where Linux's CPU runs programs only, and its kernel elsewhere (SPUMONE 2011, section
 * 4.1.2): what the kernel does with interrupts is nothing that an RTOS there has to wait for.
 *
 * While it runs a program all ways into the kernel are closed: each ends its run, and nothing
 * has happened yet.  It goes to its refuge as it is, does the same instruction again, and comes
 * back when it is seen to run a program there.
 */
#include "x86.h"

#define USER_CPL	3
/* Of a turn, the part for which it stays in its refuge at least. */
#define USER_STAYS	16
/* All but NMIs and machine checks. */
#define USER_EXCEPTIONS	(~(1u << X86_EXCEPTION_NMI | 1u << X86_EXCEPTION_MC))

static int user_closed;		/* the ways into the kernel are, and would be open otherwise */
static int user_enters;		/* it was about to take one */

static int user_wanted(const struct layer_host *h)
{
	const struct layer_shared *shared = &layer_host_pages[h->home].shared;

	return LAYER_READ(shared->user_only) && LAYER_READ(shared->refuge);
}

/**
 * layer_user_only() - does this core's own go elsewhere because of the kernel, not of an RTOS?
 */
int layer_user_only(void)
{
	return LAYER_READ(layer_shared()->user_only) && LAYER_READ(layer_shared()->refuge) &&
	       layer_params.core < LAYER_HOSTS;
}

static void user_close(struct svm_vmcb *vmcb)
{
	vmcb->control.intercept_exceptions = USER_EXCEPTIONS;
	vmcb->control.intercept_3 |= SVM_3_INT;
	vmcb->control.intercept_4 |= SVM_4_ICEBP;
	vmcb->save.efer &= ~SVM_EFER_SYSCALL;
	user_closed = 1;
}

static void user_open(struct svm_vmcb *vmcb)
{
	vmcb->control.intercept_exceptions = 0;
	vmcb->control.intercept_3 &= ~SVM_3_INT;
	vmcb->control.intercept_4 &= ~SVM_4_ICEBP;
	vmcb->save.efer |= SVM_EFER_SYSCALL;
	user_closed = 0;
}

/**
 * layer_user_exit() - this core's own CPU of Linux's was left
 *
 * Return: 1 if that was because it was about to enter the kernel.
 */
int layer_user_exit(void)
{
	u64 code = layer_vmcb.control.exit_code;

	if (!user_closed)
		return 0;
	user_open(&layer_vmcb);
	if (code != SVM_EXIT_INT && code != SVM_EXIT_ICEBP &&
	    (code < SVM_EXIT_EXCEPTION || code > SVM_EXIT_EXCEPTION_LAST))
		return 0;
	/* the only one whose instruction is over: it does not come again */
	if (code == SVM_EXIT_EXCEPTION + X86_EXCEPTION_DB)
		layer_vcpu_inject(&layer_linux, X86_EXCEPTION_DB, 0);
	user_enters = 1;
	return 1;
}

/* Does it stay in the program that it runs? */
static int user_stays(void)
{
	return !user_enters && layer_vmcb.save.cpl == USER_CPL && !layer_arch_own_pending() &&
	       !(layer_vmcb.control.event & SVM_EVENT_VALID);
}

/**
 * layer_user_keep_out() - this core's own does not run the kernel here
 *
 * Before Linux has the core again.
 */
void layer_user_keep_out(void)
{
	struct x86_host *own;

	if (!layer_user_only() || layer_hosts_own_gone())
		return;
	own = layer_host_own();
	if (layer_hosts_own_visits()) {
		/* an interrupt came home together with it */
		layer_host_send(own, layer_hosts_refuge());
	} else if (!layer_hosts_own_away() && user_stays()) {
		user_close(&layer_vmcb);
	} else if (!layer_hosts_own_away()) {
		if (user_closed)
			user_open(&layer_vmcb);
		own->enters = user_enters;
		own->enters_at = layer_vmcb.save.rip;
		user_enters = 0;
		layer_host_flee();
	}
}

/**
 * layer_user_entered() - one that visits was left: has it entered the kernel meanwhile, as it was about to?
 * @x: it may not have run a single instruction, for what ended its run was there before
 */
void layer_user_entered(struct x86_host *x)
{
	const struct svm_save *save = &x->vmcb.save;

	if (save->cpl != USER_CPL || save->rip != x->enters_at)
		x->enters = 0;
}

/* Programs enter the kernel often, and each time are two moves: who has come stays for a while. */
static int user_has_stayed(struct layer_host *h)
{
	u64 slice = LAYER_READ(layer_host_pages[h->home].shared.move.slice);

	return layer_arch_now() - h->sent >= slice / USER_STAYS;
}

/* One that visits: does it run a program, so it can do that at home? */
int layer_arch_host_goes(struct layer_host *h)
{
	struct x86_host *x = x86_host(h);

	return user_wanted(h) && user_has_stayed(h) && !x->enters && x->vmcb.save.cpl == USER_CPL && !x->step_at &&
	       !(x->vmcb.control.event & SVM_EVENT_VALID) && !layer_arch_host_pending(h) &&
	       layer_lapic_quiet(x);
}
