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
 * priority and below away.  That is noticed, and put right as soon as Linux has interrupts
 * enabled, which the processor tells, for then it owes no end.
 *
 * The layer's own vector, by which the RTOS gets the core, is of the highest class, and
 * one of Linux's of that class that is in service keeps it away.  So none may be while
 * Linux has interrupts disabled: it is ended and set aside, and raised again when Linux
 * can take it, which the processor tells.  One that Linux has taken is ended in its place.
 */
#include "x86.h"

#define VECTORS_SPURIOUS	0xff	/* comes without being in service */

static u64 layer_vectors_waiting[LAYER_VECTORS / 64];
static unsigned int layer_vectors_count;	/* of those */
static unsigned int layer_vectors_given;	/* to the processor, as a virtual one; 0: none */
static u64 layer_vectors_aside;		/* ended; of the highest class, by their lowest bits */
static int layer_vectors_told;		/* its run ends as soon as Linux could take one */
static int layer_vectors_stale;		/* there may be one too many in service */

static u64 vectors_bit(unsigned int vector)
{
	return 1ull << (vector % 64);
}

static int vectors_highest(void)
{
	int i;

	if (!layer_vectors_count)
		return -1;
	for (i = LAYER_VECTORS / 64 - 1; !layer_vectors_waiting[i]; i--)
		;
	return i * 64 + 63 - __builtin_clzll(layer_vectors_waiting[i]);
}

static int vectors_waits(unsigned int vector)
{
	return (layer_vectors_waiting[vector / 64] & vectors_bit(vector)) != 0;
}

static void vectors_wait(unsigned int vector)
{
	layer_vectors_count += !vectors_waits(vector);
	layer_vectors_waiting[vector / 64] |= vectors_bit(vector);
}

/* One that waits does so no more. */
static void vectors_take(unsigned int vector)
{
	layer_vectors_count--;
	layer_vectors_waiting[vector / 64] &= ~vectors_bit(vector);
}

/**
 * layer_vectors_acknowledged() - an interrupt is in service now, and Linux's
 * @vector: which
 */
void layer_vectors_acknowledged(unsigned int vector)
{
	if (vectors_waits(vector)) {
		layer_counts()->merged++;
		layer_vectors_stale = 1;
	}
	vectors_wait(vector);
}

static void vectors_raise_aside(void)
{
	for (; layer_vectors_aside; layer_vectors_aside &= layer_vectors_aside - 1)
		layer_apic_raise(X86_TOP_CLASS * 16 + __builtin_ctzll(layer_vectors_aside));
}

/* The one with the highest priority. */
static void vectors_put_back(int vector)
{
	int level;

	if (vector == VECTORS_SPURIOUS)
		return;
	/* by the end the APIC forgets that */
	level = layer_apic_is_level(vector);
	layer_apic_end();
	layer_counts()->given_back++;
	if (!level)
		layer_apic_raise(vector);
}

/**
 * layer_vectors_put_back() - all that wait go back into the APIC
 *
 * They are the top of what is in service.  Levels are sent again by their I/O APIC,
 * edges are raised again by us.
 */
noinline void layer_vectors_put_back(void)
{
	unsigned int bit;
	u64 left;
	int i;

	/* as the APIC ends them */
	for (i = LAYER_VECTORS / 64 - 1; layer_vectors_count; i--) {
		for (left = layer_vectors_waiting[i]; left; left &= ~(1ull << bit)) {
			bit = 63 - __builtin_clzll(left);
			layer_vectors_count--;
			vectors_put_back(i * 64 + bit);
		}
		layer_vectors_waiting[i] = 0;
	}
	vectors_raise_aside();
}

/**
 * layer_vectors_settle() - nothing is in service, and what Linux has not taken is in the APIC again
 *
 * For when Linux owes no end: then no more is in service than it has not taken, or one too many.
 */
void layer_vectors_settle(void)
{
	layer_vectors_put_back();
	while (layer_apic_in_service())
		layer_apic_end();
	layer_vectors_stale = 0;
}

/**
 * layer_vectors_take_back() - after an exit: what was not delivered waits again
 * @vmcb: Linux's
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
	vmcb->control.intercept_3 &= ~SVM_3_VINTR;
	layer_vectors_given = 0;
	if (layer_vectors_stale && vmcb->save.rflags & X86_FLAGS_IF)
		layer_vectors_settle();
}

/**
 * layer_vectors_owed() - is what is in service just what Linux owes an end?
 */
int layer_vectors_owed(void)
{
	return !layer_vectors_stale;
}

/**
 * layer_vectors_any() - does anything wait that Linux has not taken?
 */
int layer_vectors_any(void)
{
	return layer_vectors_count || layer_vectors_aside;
}

/**
 * layer_vectors_several() - does more than one interrupt wait?
 */
int layer_vectors_several(void)
{
	return layer_vectors_count > 1;
}

/**
 * layer_vectors_gather() - let one wait at most
 */
noinline void layer_vectors_gather(void)
{
	while (layer_vectors_several()) {
		layer_vectors_put_back();
		layer_window();
	}
}

/* Linux gets it later, and what is in its way gets through. */
static void vectors_set_aside(unsigned int vector)
{
	vectors_take(vector);
	layer_vectors_aside |= 1ull << vector % 16;
	layer_apic_end();
	layer_counts()->set_aside++;
}

static int vectors_is_top(int vector)
{
	return vector >= 0 && vector / 16 == X86_TOP_CLASS && vector != VECTORS_SPURIOUS;
}

/**
 * layer_vectors_clear_way() - nothing keeps the layer's own vector away from now on
 *
 * One of the highest class that Linux has taken and not ended yet is ended in its place.
 * Linux would do so soon, but not in its first instructions: it may wait for a lock before,
 * and who has the lock may be the one that waits for this core.  Linux's own end finds
 * nothing in service then, or that of another one that it has not taken yet, which does not mind.
 */
void layer_vectors_clear_way(void)
{
	int vector = vectors_highest();

	if (vectors_is_top(vector))
		vectors_set_aside(vector);
	if (!layer_apic_top_in_service())
		return;
	layer_apic_end();
	layer_counts()->ended++;
}

/**
 * layer_vectors_can_take() - does Linux take an interrupt before its next instruction?
 * @vmcb: Linux's
 */
int layer_vectors_can_take(const struct svm_vmcb *vmcb)
{
	return vmcb->save.rflags & X86_FLAGS_IF && !(vmcb->control.shadow & SVM_SHADOW) &&
	       !(vmcb->control.event & SVM_EVENT_VALID);
}

/**
 * layer_vectors_tell() - Linux, which has interrupts disabled, is left as soon as it enables them
 */
void layer_vectors_tell(void)
{
	layer_vectors_told = 1;
}

static void vectors_to_processor(struct svm_vmcb *vmcb, unsigned int vector)
{
	vmcb->control.interrupt_vector = vector;
	vmcb->control.interrupt = (vmcb->control.interrupt & ~SVM_V_PRIORITY) | SVM_V_IRQ |
				  SVM_V_IGNORE_TPR | vector / 16 << SVM_V_PRIORITY_SHIFT;
}

/**
 * layer_vectors_give() - before Linux runs on: let it have what waits, one at most
 * @vmcb: Linux's
 */
void layer_vectors_give(struct svm_vmcb *vmcb)
{
	int vector = vectors_highest(), now = layer_vectors_can_take(vmcb);

	if (vectors_is_top(vector) && !now) {
		vectors_set_aside(vector);
		vector = vectors_highest();
	}
	if (layer_vectors_aside && now)
		vectors_raise_aside();
	if (layer_vectors_aside || layer_vectors_told || layer_vectors_stale) {
		layer_vectors_told = 0;
		/* not delivered: it ends Linux's run as soon as Linux could take it */
		vectors_to_processor(vmcb, X86_TOP_CLASS * 16);
		vmcb->control.intercept_3 |= SVM_3_VINTR;
		return;
	}
	if (vector < 0)
		return;
	vectors_take(vector);
	layer_vectors_given = vector;
	vectors_to_processor(vmcb, vector);
}
