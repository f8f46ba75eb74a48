// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU of Linux's on a core that is not its own: what it takes along, and what it finds.
 *
 * All of it is in memory that both cores see.  It runs under nested paging there, which show
 * it a page of memory where its local APIC was.  It can read that.  When it writes, it
 * runs that instruction alone, with the page writable, and then lapic.c does what the
 * hardware would have done: no instruction is decoded.
 *
 * Home gets its interrupts, and sends them after it.  Those that are levels stay in service
 * there until Linux ends them, or they would come again at once.
 */
#include "apic.h"
#include "x86.h"

#define HOST_FIRST_ASID	(2 + LAYER_GUESTS)	/* behind the RTOSes' */

static struct x86_fpu host_fpu;		/* of a core whose CPU of Linux's never goes elsewhere */
static int host_expected;		/* others can come here at any moment */

static struct x86_host *host_at(u64 number)
{
	return (void *)(layer_host_memory + number * LAYER_HOST_SIZE);
}

struct layer_host *layer_arch_host(u64 number)
{
	return &host_at(number)->h;
}

/**
 * layer_host_own() - this core's own CPU of Linux's
 *
 * Return: it; only if the core's number is below LAYER_HOSTS.
 */
struct x86_host *layer_host_own(void)
{
	return host_at(layer_params.core);
}

/**
 * layer_host_init() - before the first run
 */
void layer_host_init(void)
{
	struct x86_host *own = layer_host_own();

	if (layer_params.core >= LAYER_HOSTS) {
		layer_fpu_init(&host_fpu);
		return;
	}
	layer_fpu_init(&own->state.fpu);
	layer_state_init(&own->state);
	layer_linux.state = &own->state;
	own->h = (struct layer_host) { .home = layer_params.core, .core = layer_params.core };
	own->vcpu.vmcb = &own->vmcb;
	own->vcpu.physical = layer_params.hosts_physical + layer_params.core * LAYER_HOST_SIZE;
	own->vcpu.state = &own->state;
	own->vcpu.host = own;
}

/* ---- from core to core ---- */

/* Its registers, and where it is in an NMI: of Linux's CPU as its hardware runs it, or as it visits. */
static void host_copy(struct x86_vcpu *to, const struct x86_vcpu *from)
{
	to->registers = from->registers;
	to->returns_at = from->returns_at;
	to->returns_stack = from->returns_stack;
}

/* This core's own is a visitor from now on, wherever.  Nothing waits that it has not taken. */
static void host_departs(struct x86_host *x, int owes)
{
	struct svm_control *c = &x->vmcb.control;

	layer_lapic_begin(x);
	if (owes)
		layer_lapic_keep(x);
	while (layer_apic_in_service())
		layer_apic_end();
	layer_apic_release(0);
	layer_vcpu_hold(0);
	layer_vcpu_leaves(&layer_linux);
	x->vmcb = layer_vmcb;
	host_copy(&x->vcpu, &layer_linux);
	c->asid = HOST_FIRST_ASID + x->h.home;
	c->nested = SVM_NESTED_PAGING;
	c->nested_cr3 = x->move.read_only;
	c->intercept_3 |= SVM_3_HLT;
	c->intercept_4 |= SVM_4_MWAIT | SVM_4_MWAIT_ARMED;
	x->given = 0;
	x->step_at = 0;
	x->nmi = layer_nmi_pending;
	layer_nmi_pending = 0;
}

/* Can one go there? */
static int host_can_go(u64 core)
{
	return core < LAYER_HOSTS && core != layer_params.core && layer_params.core < LAYER_HOSTS &&
	       layer_params.apic && LAYER_READ(layer_host_pages[core].shared.bell);
}

/**
 * layer_host_share() - for what this core's own is left
 * @shares: another one waits for the core, so it goes when this one halts or spins
 *
 * Else it halts by itself.  If it were left for that, it would be taken for halted when the next
 * one comes, wherever it is by then.
 *
 * Where others can come it is left when it spins, in any case.  It may do so in an interrupt that
 * it cannot end before it has a lock, which keeps the layer's bell away, and who has the lock may
 * be who has rung it.
 */
void layer_host_share(int shares)
{
	struct svm_control *c = &layer_vmcb.control;

	c->intercept_3 &= ~(SVM_3_HLT | SVM_3_PAUSE);
	if (shares)
		c->intercept_3 |= SVM_3_HLT | SVM_3_PAUSE;
	else if (host_expected)
		c->intercept_3 |= SVM_3_PAUSE;
}

static void host_shares_no_more(void)
{
	if (layer_hosts_alone())
		layer_host_share(0);
}

/**
 * layer_host_expect() - can others come to this core at any moment?
 * @expected: they can from now on; 0: they cannot any more
 */
void layer_host_expect(int expected)
{
	host_expected = expected;
	host_shares_no_more();
}

static void host_goes(struct x86_host *x, u64 core)
{
	layer_hosts_leaves(&x->h, core);
	host_shares_no_more();
}

/* This core's own.  What Linux says of it is read once. */
static int host_goes_away(u64 core, int owes)
{
	struct x86_host *x = layer_host_own();

	if (!host_can_go(core))
		return 0;
	x->move = layer_host_pages[x->h.home].shared.move;
	if (!x->move.read_only || !x->move.writable)
		return 0;
	/* what Linux has told the APIC is there again, if an RTOS has just halted */
	layer_vcpu_switch(&layer_linux);
	layer_vectors_put_back();
	host_departs(x, owes);
	host_goes(x, core);
	return 1;
}

/**
 * layer_host_send() - a CPU of Linux's goes to another core, as it has asked
 * @x: NULL: this core's own, which owes the APIC no end
 * @core: it stays if that is none where it can be
 */
void layer_host_send(struct x86_host *x, u64 core)
{
	if (!x) {
		host_goes_away(core, 0);
	} else if (host_can_go(core)) {
		layer_vcpu_leaves(&x->vcpu);
		host_goes(x, core);
	}
}

/**
 * layer_host_flee() - this core's own CPU of Linux's goes to its refuge
 *
 * Return: 1, or 0: it has none, or the APIC wants something of it that it can do here only.
 */
int layer_host_flee(void)
{
	u64 core = layer_hosts_refuge();

	if (core == LAYER_HOSTS)
		return 0;
	if (layer_hosts_own_visits()) {
		layer_host_send(layer_host_own(), core);
		return 1;
	}
	return layer_vectors_owed() && !layer_apic_level_in_service() && host_goes_away(core, 1);
}

/**
 * layer_host_recall() - those whose homes want them back go
 */
void layer_host_recall(void)
{
	struct layer_host *h;

	while ((h = layer_hosts_recalled()))
		layer_host_send(x86_host(h), h->home);
}

/* The processor remembers nothing of when it was here before. */
void layer_arch_host_comes(struct layer_host *h)
{
	x86_host(h)->vmcb.control.tlb = SVM_TLB_FLUSH_ALL;
}

/**
 * layer_host_settle() - let this core's own be what its hardware runs, if it can
 *
 * It is here, and can be that when nothing is in service.
 */
void layer_host_settle(void)
{
	struct x86_host *x = layer_host_own();
	struct svm_control *c = &layer_vmcb.control;

	if (!layer_hosts_own_visits() || x->step_at || !layer_lapic_quiet(x))
		return;
	c->event = x->vmcb.control.event;
	c->intercept_3 |= x->vmcb.control.intercept_3 & SVM_3_IRET;
	c->exit_event = 0;
	c->shadow = x->vmcb.control.shadow;
	c->tlb = SVM_TLB_FLUSH_ALL;
	layer_vmcb.save = x->vmcb.save;
	host_copy(&layer_linux, &x->vcpu);
	if (layer_current == &x->vcpu)
		layer_current = &layer_linux;
	layer_lapic_put_back(x);
	layer_vcpu_hold(1);
	if (__atomic_exchange_n(&x->nmi, 0, __ATOMIC_ACQUIRE))
		layer_apic_nmi();
	layer_hosts_settles(&x->h);
	/* it may have shared this core when it went */
	host_shares_no_more();
}

/* ---- its home ---- */

/**
 * layer_host_interrupt() - an interrupt of this core's own, which is away
 * @vector: in service here
 */
void layer_host_interrupt(unsigned int vector)
{
	struct x86_host *x = layer_host_own();
	int level;

	if (vector == LAYER_VECTORS - 1)
		return;		/* spurious: not in service */
	level = layer_apic_is_level(vector);
	if (level)
		x->held[vector / 32] |= 1u << vector % 32;
	else
		layer_apic_end();
	layer_lapic_raise(x, vector, level);
	layer_hosts_forward();
}

/**
 * layer_host_nmi() - an NMI of this core's own, which is away
 */
void layer_host_nmi(void)
{
	/* pairs with layer_host_give() */
	__atomic_store_n(&layer_host_own()->nmi, 1, __ATOMIC_RELEASE);
	layer_hosts_forward();
}

static int host_highest_held(const struct x86_host *x)
{
	int i;

	for (i = LAYER_VECTORS / 32 - 1; i >= 0; i--)
		if (x->held[i])
			return i * 32 + 31 - __builtin_clz(x->held[i]);
	return -1;
}

/* An end is that of the highest in service, so each waits for those above it. */
void layer_arch_host_ends(struct layer_host *h)
{
	struct x86_host *x = x86_host(h);
	int vector;

	while ((vector = host_highest_held(x)) >= 0) {
		u32 bit = 1u << vector % 32;

		/* pairs with lapic_end() */
		if (!(__atomic_fetch_and(&x->ended[vector / 32], ~bit, __ATOMIC_ACQUIRE) & bit))
			return;
		x->held[vector / 32] &= ~bit;
		layer_apic_end();
	}
}

/* ---- where it visits ---- */

int layer_arch_host_pending(struct layer_host *h)
{
	struct x86_host *x = x86_host(h);

	return LAYER_READ(x->nmi) || layer_lapic_pending(x) >= 0;
}

void layer_arch_host_tick(struct layer_host *h)
{
	layer_lapic_raise(x86_host(h), APIC_LINUX_TIMER, 0);
}

/* Was it taken?  If not, it is still pending, and so is one whose delivery an exit came into. */
static void host_take_back(struct x86_host *x)
{
	struct svm_control *c = &x->vmcb.control;
	u32 event = c->exit_event, vector = event & SVM_EVENT_VECTOR;

	if (event & SVM_EVENT_VALID && vector >= 32 &&
	    (event & SVM_EVENT_TYPE) != SVM_EVENT_SOFT) {
		c->exit_event = 0;
	} else if (x->given && !(c->interrupt & SVM_V_IRQ)) {
		layer_lapic_take(x, x->given);
		layer_host_pages[x->h.home].shared.counts.given[x->given]++;
	}
	c->interrupt &= ~SVM_V_IRQ;
	x->given = 0;
}

static void host_tables(struct x86_host *x, u64 root)
{
	x->vmcb.control.nested_cr3 = root;
	x->vmcb.control.tlb = SVM_TLB_FLUSH_ALL;
}

/**
 * layer_host_faulted() - has it touched its local APIC?
 * @x: it was left for touching something that its tables do not allow
 */
int layer_host_faulted(const struct x86_host *x)
{
	return (x->vmcb.control.exit_info_2 & ~(u64)(LAYER_PAGE - 1)) == x->move.controller;
}

/**
 * layer_host_step() - it writes its local APIC: run that instruction by itself
 * @x: as it faulted
 */
void layer_host_step(struct x86_host *x)
{
	struct svm_save *save = &x->vmcb.save;

	layer_host_pages[x->h.home].shared.counts.steps++;
	x->step_at = save->rip;
	x->step_register = x->vmcb.control.exit_info_2 & (LAYER_PAGE - 0x10);
	x->step_flags = save->rflags;
	x->step_debug = save->dr6;
	save->rflags |= X86_FLAGS_TF;
	x->vmcb.control.intercept_exceptions |= 1u << X86_EXCEPTION_DB;
	host_tables(x, x->move.writable);
}

/* It has, unless something came before: then it tries again. */
static void host_stepped(struct x86_host *x)
{
	struct svm_save *save = &x->vmcb.save;
	int done = save->rip != x->step_at;

	x->step_at = 0;
	save->dr6 = x->step_debug;
	save->rflags = (save->rflags & ~X86_FLAGS_TF) | (x->step_flags & X86_FLAGS_TF);
	x->vmcb.control.intercept_exceptions &= ~(1u << X86_EXCEPTION_DB);
	host_tables(x, x->move.read_only);
	if (!done)
		return;
	if (x->step_flags & X86_FLAGS_TF)
		layer_vcpu_inject(&x->vcpu, X86_EXCEPTION_DB, 0);
	layer_lapic_write(x, x->step_register);
}

/**
 * layer_host_exit() - it was left
 * @x: visits this core
 */
void layer_host_exit(struct x86_host *x)
{
	if (x->enters)
		layer_user_entered(x);
	host_take_back(x);
	if (x->step_at)
		host_stepped(x);
}

/* It is left as soon as it has interrupts enabled. */
static void host_tell(struct svm_control *c)
{
	c->interrupt_vector = X86_TOP_CLASS * 16;
	c->interrupt = SVM_V_MASKING | SVM_V_IRQ | SVM_V_IGNORE_TPR |
		       X86_TOP_CLASS << SVM_V_PRIORITY_SHIFT;
	c->intercept_3 |= SVM_3_VINTR;
}

/**
 * layer_host_give() - before it runs: an interrupt, if there is one
 * @x: visits, and gets the core
 * @shares: another one waits for this core, so it goes when this one spins
 */
void layer_host_give(struct x86_host *x, int shares)
{
	struct svm_control *c = &x->vmcb.control;
	int vector;

	if (shares)
		c->intercept_3 |= SVM_3_PAUSE;
	else
		c->intercept_3 &= ~SVM_3_PAUSE;
	c->intercept_3 &= ~SVM_3_VINTR;
	if (x->step_at)
		return;
	/* pairs with layer_host_nmi(); one that comes meanwhile is the same one */
	if (LAYER_READ(x->nmi) && layer_vcpu_give_nmi(&x->vcpu)) {
		__atomic_store_n(&x->nmi, 0, __ATOMIC_RELAXED);
		layer_host_pages[x->h.home].shared.counts.nmis++;
	} else if (LAYER_READ(x->nmi) && layer_vcpu_returns(&x->vcpu)) {
		host_tell(c);
		return;
	}
	vector = layer_lapic_pending(x);
	if (vector < 0)
		return;
	x->given = vector;
	c->interrupt_vector = vector;
	c->interrupt = SVM_V_MASKING | SVM_V_IRQ | SVM_V_IGNORE_TPR |
		       vector / 16 << SVM_V_PRIORITY_SHIFT;
}
