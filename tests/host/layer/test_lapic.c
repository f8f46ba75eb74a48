// SPDX-License-Identifier: GPL-2.0
/* The local APIC in memory of a CPU of Linux's that is not at home. */
#include "test.h"
#include "arch/x86/apic.h"
#include "arch/x86/x86.h"

static _Alignas(LAYER_PAGE) struct x86_host host;
static u32 lapic_sent[LAYER_APIC_IDS], lapic_count, lapic_low;

u32 layer_apic_read(u32 reg)
{
	return reg;
}

void layer_apic_write(u32 reg, u32 value)
{
}

void layer_apic_send(u32 low, u32 destination)
{
	lapic_low = low;
	lapic_sent[lapic_count++ % LAYER_APIC_IDS] = destination;
}

void layer_vcpu_priority(u32 priority)
{
}

static void put(u32 reg, u32 value)
{
	*(u32 *)(host.apic + reg) = value;
	layer_lapic_write(&host, reg);
}

static u32 get(u32 reg)
{
	return *(u32 *)(host.apic + reg);
}

static void lapic_begin(void)
{
	core_reset();
	memset(&host, 0, sizeof(host));
	layer_lapic_begin(&host);
	*(u32 *)(host.apic + APIC_ID) = 1u << APIC_ID_SHIFT;
	*(u32 *)(host.apic + APIC_TPR) = 0;
	host.h.home = 1;
	layer_host_pages[1].shared.bell = 0xb0b;
	lapic_count = 0;
}

static void test_begin(void)
{
	lapic_begin();
	MUST(get(APIC_VERSION) == APIC_VERSION && get(APIC_LVT_ERROR) == APIC_LVT_ERROR);
	/* not what the processor has pending or in service */
	MUST(!get(APIC_IRR) && !get(APIC_ISR + 0x70) && layer_lapic_pending(&host) < 0);
	MUST(layer_lapic_quiet(&host));
}

/* As the manual says: what is in service keeps its class and those below away, and so does the TPR. */
static void test_priorities(void)
{
	lapic_begin();
	layer_lapic_raise(&host, 0x31, 0);
	layer_lapic_raise(&host, 0xec, 0);
	layer_lapic_raise(&host, 0x39, 0);
	MUST(layer_lapic_pending(&host) == 0xec);
	layer_lapic_take(&host, 0xec);
	MUST(layer_lapic_pending(&host) < 0 && !layer_lapic_quiet(&host));
	layer_lapic_raise(&host, 0xe0, 0);
	layer_lapic_raise(&host, 0xef, 0);
	MUST(layer_lapic_pending(&host) < 0);
	layer_lapic_raise(&host, 0xf0, 0);
	MUST(layer_lapic_pending(&host) == 0xf0);
	layer_lapic_take(&host, 0xf0);
	put(APIC_EOI, 0);
	MUST(layer_lapic_pending(&host) < 0);
	put(APIC_EOI, 0);
	MUST(layer_lapic_pending(&host) == 0xef);
	layer_lapic_take(&host, 0xef);
	put(APIC_EOI, 0);
	MUST(layer_lapic_pending(&host) == 0xe0);
	layer_lapic_take(&host, 0xe0);
	put(APIC_EOI, 0);
	put(APIC_TPR, 0x30);
	MUST(layer_lapic_pending(&host) < 0);
	put(APIC_TPR, 0x20);
	MUST(layer_lapic_pending(&host) == 0x39);
	/* an end of nothing */
	put(APIC_EOI, 0);
	MUST(layer_lapic_pending(&host) == 0x39 && layer_lapic_quiet(&host) && !core_rings);
}

static void test_levels(void)
{
	lapic_begin();
	layer_lapic_raise(&host, 0x29, 1);
	host.held[1] = 1u << 9;
	MUST(!layer_lapic_quiet(&host));
	layer_lapic_take(&host, 0x29);
	put(APIC_EOI, 0);
	/* home ends it */
	MUST(host.ended[1] == 1u << 9 && core_rang == 0xb0b && core_rings == 1);
	host.held[1] = host.ended[1] = 0;
	/* the next one at this vector is an edge */
	layer_lapic_raise(&host, 0x29, 0);
	layer_lapic_take(&host, 0x29);
	put(APIC_EOI, 0);
	MUST(!host.ended[1] && core_rings == 1);
}

static void test_sending(void)
{
	lapic_begin();
	host.move.apics[0] = 0xf;
	host.move.apics[3] = 1ull << 63;
	put(APIC_ICR_HIGH, 2u << APIC_ID_SHIFT);
	put(APIC_ICR, 0x40fd | APIC_ICR_BUSY);
	MUST(lapic_count == 1 && lapic_sent[0] == 2u << APIC_ID_SHIFT && lapic_low == 0x40fd);
	MUST(get(APIC_ICR) == 0x40fd);
	/* to itself: not to the core where it is */
	put(APIC_ICR, APIC_ICR_SELF | 0xf6);
	MUST(lapic_count == 1 && layer_lapic_pending(&host) == 0xf6);
	/* to all others: each but its own */
	put(APIC_ICR, APIC_ICR_OTHERS | APIC_ICR_LOGICAL | 0xfb);
	MUST(lapic_count == 5 && lapic_low == 0xfb);
	MUST(lapic_sent[1] == 0 && lapic_sent[2] == 2u << 24 && lapic_sent[3] == 3u << 24 &&
	     lapic_sent[4] == 255u << 24);
}

void test_lapic(void)
{
	test_begin();
	test_priorities();
	test_levels();
	test_sending();
}
