// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts on their way from the local APIC to Linux.
 *
 * An interrupt that comes while Linux runs ends its run, and is acknowledged in a
 * short window.  From then on it is in service, and Linux gets it as a virtual one
 * as soon as it can take it; its end of interrupt is Linux's own.
 *
 * One rule keeps those ends balanced: at most one vector is acknowledged and not
 * taken by Linux.  When a second comes, it has a higher priority than the first; all
 * are ended and put back into the APIC, and the highest is acknowledged anew.
 *
 * Linux may be about to end one when another is acknowledged.  Then its end is the other's,
 * and the other's is the first's: the order is not kept, the number is.  But one that was
 * ended so before Linux took it may come again at once: a level does.  Linux takes both
 * as one and writes one end, so one too many stays in service, and keeps all of its
 * priority and below away.  That is noticed, and put right when Linux runs with
 * interrupts enabled, for then it owes no end.
 */
#include "x86.h"

#define VECTORS_SPURIOUS	0xff	/* comes without being in service */

static u64 layer_vectors_waiting[LAYER_VECTORS / 64];
static unsigned int layer_vectors_given;	/* to the processor, as a virtual one; 0: none */
static int layer_vectors_stale;		/* there may be one too many in service */

static u64 vectors_bit(unsigned int vector)
{
	return 1ull << (vector % 64);
}

static int vectors_highest(void)
{
	int i;

	for (i = LAYER_VECTORS / 64 - 1; i >= 0; i--)
		if (layer_vectors_waiting[i])
			return i * 64 + 63 - __builtin_clzll(layer_vectors_waiting[i]);
	return -1;
}

static int vectors_more_than_one(void)
{
	int vector = vectors_highest(), i;

	if (vector < 0)
		return 0;
	for (i = 0; i < LAYER_VECTORS / 64; i++)
		if (layer_vectors_waiting[i] & ~(vector / 64 == i ? vectors_bit(vector) : 0))
			return 1;
	return 0;
}

static void vectors_wait(unsigned int vector)
{
	layer_vectors_waiting[vector / 64] |= vectors_bit(vector);
}

/* It is in service now, and Linux's. */
void layer_vectors_acknowledged(unsigned int vector)
{
	if (layer_vectors_waiting[vector / 64] & vectors_bit(vector)) {
		layer_counts()->merged++;
		layer_vectors_stale = 1;
	}
	vectors_wait(vector);
}

/* Linux owes no end and nothing waits, so nothing is in service. */
static void vectors_settle(struct svm_vmcb *vmcb)
{
	if (!(vmcb->save.rflags & X86_FLAGS_IF) || vectors_highest() >= 0)
		return;
	while (layer_apic_in_service())
		layer_apic_end();
	layer_vectors_stale = 0;
}

/**
 * layer_vectors_take_back() - after an exit: what was not delivered waits again
 *
 * An exit may also come into a delivery, which then begins anew.  The emulator
 * calls such an interrupt an exception, by a vector that no exception has.
 */
void layer_vectors_take_back(struct svm_vmcb *vmcb)
{
	u32 event = vmcb->control.exit_event, vector = event & SVM_EVENT_VECTOR;
	int interrupted = event & SVM_EVENT_VALID && vector >= 32 &&
			  (event & SVM_EVENT_TYPE) != SVM_EVENT_SOFT;

	if (interrupted) {
		layer_counts()->interrupted++;
		vectors_wait(vector);
		vmcb->control.exit_event = 0;
	} else if (layer_vectors_given) {
		if (vmcb->control.interrupt & SVM_V_IRQ)
			vectors_wait(layer_vectors_given);
		else
			layer_counts()->given[layer_vectors_given]++;
	}
	vmcb->control.interrupt &= ~SVM_V_IRQ;
	layer_vectors_given = 0;
	if (layer_vectors_stale)
		vectors_settle(vmcb);
}

/**
 * layer_vectors_put_back() - all that wait go back into the APIC
 *
 * They are the top of what is in service.  Levels are sent again by their I/O APIC,
 * edges are raised again by us.
 */
void layer_vectors_put_back(void)
{
	u64 level[LAYER_VECTORS / 64] = { 0 };
	int vector;

	/* the APIC forgets by the end which were levels */
	for (vector = LAYER_VECTORS - 1; vector >= 32; vector--)
		if (layer_vectors_waiting[vector / 64] & vectors_bit(vector) &&
		    layer_apic_is_level(vector))
			level[vector / 64] |= vectors_bit(vector);
	for (vector = LAYER_VECTORS - 1; vector >= 32; vector--) {
		if (!(layer_vectors_waiting[vector / 64] & vectors_bit(vector)))
			continue;
		layer_vectors_waiting[vector / 64] &= ~vectors_bit(vector);
		if (vector == VECTORS_SPURIOUS)
			continue;
		layer_apic_end();
		layer_counts()->given_back++;
		if (!(level[vector / 64] & vectors_bit(vector)))
			layer_apic_raise(vector);
	}
}

/* Before Linux runs on: let it have what waits, one at most. */
void layer_vectors_give(struct svm_vmcb *vmcb)
{
	int vector;

	while (vectors_more_than_one()) {
		layer_vectors_put_back();
		layer_window();
	}
	vector = vectors_highest();
	if (vector < 0)
		return;
	layer_vectors_waiting[vector / 64] &= ~vectors_bit(vector);
	layer_vectors_given = vector;
	vmcb->control.interrupt_vector = vector;
	vmcb->control.interrupt = (vmcb->control.interrupt & ~SVM_V_PRIORITY) | SVM_V_IRQ |
				  SVM_V_IGNORE_TPR | vector / 16 << SVM_V_PRIORITY_SHIFT;
}
