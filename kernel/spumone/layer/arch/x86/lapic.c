// SPDX-License-Identifier: GPL-2.0
/*
 * The local APIC of a CPU of Linux's that is not at home, in memory (AMD64 APM volume 2,
 * chapter 16).  Linux reads it as it is; of what it writes the hardware's answer is made
 * here.  Home puts interrupts into it meanwhile, so each bit of those changes as a whole.
 *
 * There is no timer in it: Linux's deadlines are the layer's already.
 */
#include "apic.h"
#include "x86.h"

/* What of it Linux can want to read, and the hardware lets it. */
static const u16 lapic_copied[] = {
	APIC_ID, APIC_VERSION, APIC_TPR, APIC_LOGICAL, APIC_FORMAT, APIC_SPURIOUS, APIC_ICR,
	APIC_ICR_HIGH, APIC_TIMER_INIT,
};

static u32 *lapic_at(const struct x86_host *x, u32 reg)
{
	return (u32 *)(x->apic + reg);
}

static u32 *lapic_word(const struct x86_host *x, u32 base, unsigned int vector)
{
	return lapic_at(x, base + (vector / 32 << 4));
}

static u32 lapic_bit(unsigned int vector)
{
	return 1u << vector % 32;
}

static int lapic_highest(const struct x86_host *x, u32 base)
{
	int i;

	for (i = LAYER_VECTORS / 32 - 1; i >= 0; i--) {
		u32 word = LAYER_READ(*lapic_at(x, base + (i << 4)));

		if (word)
			return i * 32 + 31 - __builtin_clz(word);
	}
	return -1;
}

/**
 * layer_lapic_begin() - make it as this core's own is now, with nothing pending or in service
 * @x: this core's own
 */
void layer_lapic_begin(struct x86_host *x)
{
	unsigned int i;
	u32 reg;

	for (i = 0; i < sizeof(x->apic) / 4; i++)
		((u32 *)x->apic)[i] = 0;
	for (i = 0; i < sizeof(lapic_copied) / sizeof(*lapic_copied); i++)
		*lapic_at(x, lapic_copied[i]) = layer_apic_read(lapic_copied[i]);
	for (reg = APIC_LVT_TIMER; reg <= APIC_LVT_ERROR; reg += 0x10)
		*lapic_at(x, reg) = layer_apic_read(reg);
}

/**
 * layer_lapic_keep() - it owes an end of each that this core has in service
 * @x: this core's own
 */
void layer_lapic_keep(struct x86_host *x)
{
	u32 at;

	for (at = 0; at < LAYER_VECTORS / 2; at += 0x10)
		*lapic_at(x, APIC_ISR + at) = layer_apic_read(APIC_ISR + at);
}

/**
 * layer_lapic_raise() - an interrupt is pending
 * @x: wherever it is; any core calls this
 * @vector: which
 * @level: it came as a level
 */
void layer_lapic_raise(struct x86_host *x, unsigned int vector, int level)
{
	if (level)
		__atomic_fetch_or(lapic_word(x, APIC_TMR, vector), lapic_bit(vector),
				  __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(lapic_word(x, APIC_TMR, vector), ~lapic_bit(vector),
				   __ATOMIC_RELAXED);
	/* pairs with layer_lapic_pending(): its kind is there before it */
	__atomic_fetch_or(lapic_word(x, APIC_IRR, vector), lapic_bit(vector), __ATOMIC_RELEASE);
}

/**
 * layer_lapic_pending() - what Linux gets when it has interrupts enabled
 * @x: visits
 *
 * Return: a vector, or -1.
 */
int layer_lapic_pending(const struct x86_host *x)
{
	int vector = lapic_highest(x, APIC_IRR), served = lapic_highest(x, APIC_ISR);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (vector / 16 <= (int)(*lapic_at(x, APIC_TPR) >> 4 & 15) ||
	    (served >= 0 && vector / 16 <= served / 16))
		return -1;
	return vector;
}

/**
 * layer_lapic_take() - the processor has given an interrupt to Linux
 * @x: has the core
 * @vector: of layer_lapic_pending()
 */
void layer_lapic_take(struct x86_host *x, unsigned int vector)
{
	__atomic_fetch_and(lapic_word(x, APIC_IRR, vector), ~lapic_bit(vector), __ATOMIC_RELAXED);
	*lapic_word(x, APIC_ISR, vector) |= lapic_bit(vector);
}

static void lapic_end(struct x86_host *x)
{
	int vector = lapic_highest(x, APIC_ISR);

	*lapic_at(x, APIC_EOI) = 0;
	if (vector < 0)
		return;
	*lapic_word(x, APIC_ISR, vector) &= ~lapic_bit(vector);
	if (!(LAYER_READ(*lapic_word(x, APIC_TMR, vector)) & lapic_bit(vector)))
		return;
	/* pairs with layer_arch_host_ends() */
	__atomic_fetch_or(&x->ended[vector / 32], lapic_bit(vector), __ATOMIC_RELEASE);
	layer_hosts_ring_home(&x->h);
}

/* One by one to all that Linux has online but itself: a shorthand means this core, not its own. */
static void lapic_send_others(struct x86_host *x, u32 low)
{
	u32 id, own = *lapic_at(x, APIC_ID) >> APIC_ID_SHIFT;

	for (id = 0; id < LAYER_APIC_IDS; id++)
		if (id != own && x->move.apics[id / 64] >> id % 64 & 1)
			layer_apic_send(low & ~(APIC_ICR_TO | APIC_ICR_LOGICAL),
					id << APIC_ID_SHIFT);
}

/*
 * An interrupt to others goes out of this core; one to itself by its own number goes by its
 * home.
 */
static void lapic_send(struct x86_host *x)
{
	u32 low = *lapic_at(x, APIC_ICR) & ~APIC_ICR_BUSY;

	*lapic_at(x, APIC_ICR) = low;
	switch (low & APIC_ICR_TO) {
	case APIC_ICR_SELF:
		layer_lapic_raise(x, low & 0xff, 0);
		break;
	case APIC_ICR_OTHERS:
		lapic_send_others(x, low);
		break;
	default:
		layer_apic_send(low, *lapic_at(x, APIC_ICR_HIGH));
	}
}

/**
 * layer_lapic_write() - Linux has written a register, and it is there
 * @x: has the core
 * @reg: its offset
 */
void layer_lapic_write(struct x86_host *x, u32 reg)
{
	switch (reg) {
	case APIC_EOI:
		lapic_end(x);
		break;
	case APIC_ICR:
		lapic_send(x);
		break;
	case APIC_ERRORS:
		*lapic_at(x, reg) = 0;	/* there have been none */
		break;
	}
}

/**
 * layer_lapic_quiet() - is nothing in service, neither here nor, for its sake, in its home's?
 * @x: visits
 */
int layer_lapic_quiet(const struct x86_host *x)
{
	u32 held = 0;
	int i;

	for (i = 0; i < LAYER_VECTORS / 32; i++)
		held |= x->held[i];
	return !held && lapic_highest(x, APIC_ISR) < 0;
}

/**
 * layer_lapic_put_back() - this core's own goes on from where it is
 * @x: home, and quiet
 */
void layer_lapic_put_back(struct x86_host *x)
{
	int vector;

	layer_vcpu_priority(*lapic_at(x, APIC_TPR));
	layer_apic_write(APIC_ICR_HIGH, *lapic_at(x, APIC_ICR_HIGH));
	while ((vector = lapic_highest(x, APIC_IRR)) >= 0) {
		*lapic_word(x, APIC_IRR, vector) &= ~lapic_bit(vector);
		layer_apic_raise(vector);
	}
}
