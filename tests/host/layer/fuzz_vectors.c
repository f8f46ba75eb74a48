// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts between a local APIC, a Linux and an RTOS that are all made up, at random, and
 * all of the layer's exits between them.
 *
 * The rules: whatever is raised, Linux handles an interrupt of it afterwards; an edge
 * never more often than it was raised; nothing is left in service; and while somebody else
 * has the core, what is in service does not keep the layer's own vector away.
 */
#include "test.h"

#define FIRST		0x30
#define DEPTH		64

/* ---- devices ---- */

static bool wanted[LAYER_VECTORS];	/* was raised, and not handled since */
static unsigned int raised[LAYER_VECTORS], handled[LAYER_VECTORS];

static bool is_linuxs(unsigned int vector)
{
	return vector != LAYER_VECTOR && vector != LAYER_BELL_VECTOR && vector != LAYER_HOST_VECTOR;
}

static bool calm;			/* devices want nothing */

static void raise_some(void)
{
	unsigned int v = FIRST + random_below(0x100 - FIRST - 1);

	if (calm)
		return;
	if (!is_linuxs(v)) {
		layer_apic_raise(v);
	} else if (apic_request(v)) {
		wanted[v] = true;
		raised[v]++;
	}
}

/* ---- Linux ---- */

static int stack[DEPTH];	/* what it handles, the innermost last */
static bool ended[DEPTH];
static unsigned int depth;
static bool enabled;

/* It is about to end one of the highest class. */
static bool linux_ends_top(void)
{
	return depth && !ended[depth - 1] && stack[depth - 1] / 16 == X86_TOP_CLASS;
}

/* Another core's CPU of Linux's that shares this one. */
static struct x86_vcpu *visitor;

static void visitor_left(void)
{
	static const u64 codes[] = { SVM_EXIT_INTR, SVM_EXIT_HLT, SVM_EXIT_PAUSE };

	struct layer_shared *shared = &layer_host_pages[visitor->host->h.home].shared;

	visitor->vmcb->control.exit_code = codes[random_below(3)];
	core_host_pending[visitor->host->h.home] = random_below(2);
	/* it is woken by its deadline, too, and perhaps by nothing else */
	shared->deadline = core_now + 1 + random_below(3000);
}

static void visitor_comes(unsigned int number)
{
	struct x86_host *x = &core_host_memory[number];

	memset(x, 0, sizeof(*x));
	x->h.home = number;
	x->vcpu.vmcb = &x->vmcb;
	x->vcpu.host = x;
	x->vmcb.save.rflags = X86_FLAGS_IF;
	layer_host_pages[number].shared.move.slice = 500;
	core_host(CORE_NUMBER)->coming = 1ull << number;
	visitor = &x->vcpu;
	layer_hosts_receive();
}

/* Its tick at the latest: Linux does not halt without anything to come. */
static void linux_is_woken(void)
{
	if (!calm || !apic_quiet())
		return;
	calm = false;
	raise_some();
	calm = true;
}

/* The layer has the core, and then others may have it before Linux has it again. */
static void linux_left(u64 code)
{
	struct svm_control *c = &layer_vmcb.control;

	c->exit_code = code;
	layer_vmcb.save.rflags = enabled ? X86_FLAGS_IF : 0;
	MUST(!layer_exit());
	while (layer_current != &layer_linux) {
		MUST(!layer_apic_top_in_service());
		while (random_below(4))
			raise_some();
		if (code == SVM_EXIT_HLT)
			linux_is_woken();
		if (layer_current == visitor)
			visitor_left();
		MUST(!layer_exit());
	}
	MUST(!layer_apic_top_in_service() || linux_ends_top() ||
	     (enabled && c->interrupt & SVM_V_IRQ));
}

/* An interrupt may also come into a delivery: the emulator tells that in its own way. */
static void linux_interrupted(void)
{
	struct svm_control *c = &layer_vmcb.control;

	c->exit_event = 0;
	c->shadow = random_below(8) == 0;
	if (enabled && c->interrupt & SVM_V_IRQ && !(c->intercept_3 & SVM_3_VINTR) &&
	    random_below(4) == 0) {
		c->exit_event = SVM_EVENT_VALID | c->interrupt_vector;
		if (random_below(2))
			c->exit_event |= SVM_EVENT_EXCEPTION;	/* and V_IRQ stays */
		else
			c->interrupt &= ~SVM_V_IRQ;
	}
	linux_left(SVM_EXIT_INTR);
}

static void linux_takes(int v)
{
	MUST(depth < DEPTH);
	stack[depth] = v;
	ended[depth++] = false;
	enabled = false;
	handled[v]++;
	wanted[v] = false;
	apic_line[v] = false;	/* the device is served */
}

static void linux_steps(void)
{
	struct svm_control *c = &layer_vmcb.control;

	if (enabled && c->interrupt & SVM_V_IRQ) {
		if (c->intercept_3 & SVM_3_VINTR) {
			c->exit_event = 0;
			c->shadow = 0;
			linux_left(SVM_EXIT_VINTR);
			return;
		}
		c->interrupt &= ~SVM_V_IRQ;
		linux_takes(c->interrupt_vector);
		return;
	}
	if (depth && !ended[depth - 1] && c->intercept_3 & SVM_3_PAUSE && random_below(4) == 0) {
		/* it waits for a lock before that */
		c->exit_event = 0;
		linux_left(SVM_EXIT_PAUSE);
	} else if (depth && !ended[depth - 1]) {
		/* its end of interrupt, straight to the APIC */
		layer_apic_end();
		ended[depth - 1] = true;
		enabled = depth < DEPTH && random_below(4) == 0;	/* as softirqs do */
	} else if (depth) {
		depth--;
		enabled = true;
	} else if (enabled && c->intercept_3 & SVM_3_HLT && random_below(2)) {
		c->exit_event = 0;
		linux_left(random_below(2) ? SVM_EXIT_HLT : SVM_EXIT_PAUSE);
	} else {
		enabled = random_below(8) != 0;
	}
}

static void linux_calls(u64 call)
{
	struct svm_save *save = &layer_vmcb.save;

	layer_vmcb.control.exit_event = 0;
	layer_vmcb.control.shadow = 0;
	save->rax = call;
	linux_left(SVM_EXIT_VMMCALL);
}

/* It takes its interrupts itself, for a moment in which none comes; it owes no end. */
static void linux_is_alone(void)
{
	enabled = false;
	linux_calls(LAYER_CALL_TIMER_OFF);
	MUST(!layer_apic_in_service() && !(layer_vmcb.control.interrupt & SVM_V_IRQ));
	linux_calls(LAYER_CALL_TIMER_ON);
	enabled = true;
}

/* ---- all of them ---- */

static void begin(bool visited)
{
	core_reset();
	apic_reset();
	memset(wanted, 0, sizeof(wanted));
	memset(raised, 0, sizeof(raised));
	memset(handled, 0, sizeof(handled));
	memset(&layer_vmcb, 0, sizeof(layer_vmcb));
	layer_vmcb.control.interrupt = SVM_V_MASKING;
	layer_linux.vmcb = &layer_vmcb;
	layer_current = &layer_linux;
	layer_timer_own(1);
	core_begin(&(struct layer_rt_start) { .priority = 1 });
	core_step = 50;		/* so a deadline may come between any two looks at the clock */
	enabled = true;
	visitor = NULL;
	if (visited)
		visitor_comes(1);
	linux_interrupted();
}

static bool quiet(void)
{
	return apic_quiet() && !depth && !(layer_vmcb.control.interrupt & SVM_V_IRQ);
}

static void linux_runs(void)
{
	if (random_below(3) == 0)
		raise_some();
	/* in the end nothing leads into the layer but what it has asked for itself */
	if (apic_deliverable() || (!calm && random_below(16) == 0))
		linux_interrupted();
	linux_steps();
}

void fuzz_vectors(u64 seed, bool visited)
{
	unsigned int i, v, rounds;

	random_seed(seed);
	begin(visited);
	for (rounds = 0; rounds < 2000; rounds++) {
		calm = false;
		for (i = random_below(60); i; i--)
			linux_runs();
		if (!depth)
			linux_is_alone();
		calm = true;
		for (i = 0; !quiet(); i++) {
			MUST(i < 10000);
			linux_runs();
		}
		for (v = FIRST; v < LAYER_VECTORS; v++)
			MUST(!wanted[v]);
	}
	linux_interrupted();	/* the last delivery is counted at the next exit */
	for (v = FIRST; v < LAYER_VECTORS - 1; v++) {
		if (!is_linuxs(v))
			continue;
		MUST(raised[v]);
		MUST(v <= APIC_LEVEL_LAST || handled[v] <= raised[v]);
		MUST(core_shared.counts.given[v] == handled[v]);
	}
	MUST(core_shared.counts.given_back);
	MUST(core_shared.counts.set_aside);
	MUST(core_shared.counts.ended);
	MUST(core_first_shared.rt.timers);
	if (visited)
		layer_hosts_leaves(&visitor->host->h, 1);
}
