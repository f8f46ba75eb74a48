// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts between a local APIC and a Linux that are both made up, at random.
 *
 * The rules: whatever is raised, Linux handles an interrupt of it afterwards; an edge
 * never more often than it was raised; nothing is left in service; and what is in service
 * never keeps the layer's own vector away but for Linux's few first instructions.
 */
#include "test.h"
#include "arch/x86/x86.h"

#define FIRST		0x30
#define LEVEL_FIRST	0x30	/* these have a line that stays up until their device is served */
#define LEVEL_LAST	0x3f
#define DEPTH		64

static struct svm_vmcb vmcb;

/* ---- the local APIC ---- */

static bool irr[LAYER_VECTORS], isr[LAYER_VECTORS], tmr[LAYER_VECTORS];
static bool line[LAYER_VECTORS];	/* of levels: the device wants to be served */
static bool wanted[LAYER_VECTORS];	/* was raised, and not handled since */
static int held;		/* classes up to this one have to wait */
static unsigned int raised[LAYER_VECTORS], handled[LAYER_VECTORS];

static int highest(const bool *set)
{
	int v;

	for (v = LAYER_VECTORS - 1; v >= 0 && !set[v]; v--)
		;
	return v;
}

static bool deliverable(void)
{
	int wants = highest(irr), has = highest(isr);

	return wants >= 0 && wants / 16 > has / 16 && wants / 16 > held;
}

static int acknowledge(void)
{
	int v = highest(irr);

	irr[v] = false;
	isr[v] = true;
	return v;
}

void layer_apic_end(void)
{
	int v = highest(isr);

	if (v < 0)
		return;		/* as the hardware does */
	isr[v] = false;
	if (tmr[v] && line[v])
		irr[v] = true;	/* the I/O APIC sends it again */
}

void layer_apic_raise(unsigned int vector)
{
	irr[vector] = true;
	tmr[vector] = false;
}

int layer_apic_is_level(unsigned int vector)
{
	return tmr[vector];
}

int layer_apic_in_service(void)
{
	return highest(isr) >= 0;
}

int layer_apic_top_in_service(void)
{
	return highest(isr) / 16 == LAYER_VECTOR / 16;
}

static void own_timer(void)
{
	layer_apic_raise(LAYER_VECTOR);
}

void layer_window(void)
{
	int v;

	while (deliverable()) {
		v = acknowledge();
		if (v == LAYER_VECTOR)
			layer_apic_end();
		else
			layer_vectors_acknowledged(v);
	}
}

/* A device wants something. */
static void raise_some(void)
{
	unsigned int v = FIRST + random_below(0x100 - FIRST - 1);

	if (v == LAYER_VECTOR) {
		own_timer();
	} else if (v <= LEVEL_LAST) {
		if (line[v])
			return;
		line[v] = true;
		tmr[v] = true;
		wanted[v] = true;
		raised[v]++;
		if (!isr[v])
			irr[v] = true;
	} else if (!irr[v]) {	/* else the APIC merges both */
		irr[v] = true;
		tmr[v] = false;
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
	return depth && !ended[depth - 1] && stack[depth - 1] / 16 == LAYER_VECTOR / 16;
}

static unsigned int waited;	/* times that it could not */

/* Meanwhile the APIC keeps all but the highest class away. */
static void the_rtos_runs(void)
{
	if (!layer_vectors_clear_way()) {
		MUST(linux_ends_top());
		waited++;
		return;
	}
	MUST(!layer_apic_top_in_service());
	held = LAYER_VECTOR / 16 - 1;
	while (random_below(4)) {
		raise_some();
		layer_window();
		layer_vectors_gather();
		MUST(layer_vectors_clear_way());
	}
	held = 0;
}

/* An exit, which may come into a delivery: the emulator tells that in its own way. */
static void leave_linux(void)
{
	struct svm_control *c = &vmcb.control;

	vmcb.save.rflags = enabled ? X86_FLAGS_IF : 0;
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
	layer_vectors_take_back(&vmcb);
	layer_window();
	layer_vectors_gather();
	if (random_below(4) == 0)
		the_rtos_runs();
	layer_vectors_give(&vmcb);
	MUST(!layer_apic_top_in_service() || linux_ends_top() ||
	     (enabled && vmcb.control.interrupt & SVM_V_IRQ));
}

static void linux_takes(int v)
{
	MUST(depth < DEPTH);
	stack[depth] = v;
	ended[depth++] = false;
	enabled = false;
	handled[v]++;
	wanted[v] = false;
	line[v] = false;	/* the device is served */
}

static void linux_steps(void)
{
	if (enabled && vmcb.control.interrupt & SVM_V_IRQ) {
		if (vmcb.control.intercept_3 & SVM_3_VINTR) {
			leave_linux();
			return;
		}
		vmcb.control.interrupt &= ~SVM_V_IRQ;
		linux_takes(vmcb.control.interrupt_vector);
		return;
	}
	if (depth && !ended[depth - 1]) {
		/* its end of interrupt, straight to the APIC */
		layer_apic_end();
		ended[depth - 1] = true;
		enabled = depth < DEPTH && random_below(4) == 0;	/* as softirqs do */
	} else if (depth) {
		depth--;
		enabled = true;
	} else {
		enabled = random_below(8) != 0;
	}
}

/* ---- both ---- */

static bool quiet(void)
{
	return highest(irr) < 0 && highest(isr) < 0 && !depth && !(vmcb.control.interrupt & SVM_V_IRQ);
}

void fuzz_vectors(u64 seed)
{
	unsigned int i, v, rounds;

	random_seed(seed);
	core_reset();
	memset(raised, 0, sizeof(raised));
	memset(handled, 0, sizeof(handled));
	enabled = true;
	for (rounds = 0; rounds < 2000; rounds++) {
		for (i = random_below(60); i; i--) {
			if (random_below(3) == 0)
				raise_some();
			if (deliverable() || random_below(16) == 0)
				leave_linux();
			linux_steps();
		}
		for (i = 0; !quiet(); i++) {
			MUST(i < 10000);
			/* an exit comes sooner or later, if only by the timer */
			if (deliverable() || i % 64 == 63)
				leave_linux();
			linux_steps();
		}
		for (v = FIRST; v < LAYER_VECTORS; v++)
			MUST(!wanted[v]);
	}
	leave_linux();	/* the last delivery is counted at the next exit */
	for (v = FIRST; v < LAYER_VECTORS - 1; v++) {
		if (v == LAYER_VECTOR)
			continue;
		MUST(raised[v]);
		MUST(v <= LEVEL_LAST || handled[v] <= raised[v]);
		MUST(core_shared.counts.given[v] == handled[v]);
	}
	MUST(core_shared.counts.given_back);
	MUST(core_shared.counts.set_aside);
	MUST(waited);
}
