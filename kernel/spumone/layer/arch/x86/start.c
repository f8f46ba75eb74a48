// SPDX-License-Identifier: GPL-2.0
/* What an instance makes for itself before its first run: its own table of interrupts. */
#include "x86.h"

#define START_GATE	0x8e	/* present, interrupt gate */

struct start_gate {
	u16 low;
	u16 selector;
	u8 stack;
	u8 type;
	u16 middle;
	u32 high;
	u32 zero;
};

/* Used by entry.S. */
__visible _Alignas(16) struct start_gate layer_idt[LAYER_VECTORS];

/* Writing no more than MSR's bits: two for each, the upper one for writes. */
static void start_watch_msr(u32 base, u32 first, u32 msr)
{
	u32 bit = (msr - first) * 2 + 1;

	layer_msr_map[base + bit / 8] |= 1u << bit % 8;
}

/**
 * layer_start() - make the instance ready for its first run
 *
 * Called by entry.S, on the instance's own stack and in its own memory.
 */
void layer_start(void)
{
	u64 stub = (u64)layer_stubs;
	int i;

	for (i = 0; i < LAYER_VECTORS; i++, stub += LAYER_STUB_SIZE) {
		layer_idt[i].low = stub;
		layer_idt[i].selector = 8;
		layer_idt[i].type = START_GATE;
		layer_idt[i].middle = stub >> 16;
		layer_idt[i].high = stub >> 32;
	}
	layer_vcpu_init();
	layer_rtos_init();
	layer_host_init();
	start_watch_msr(SVM_MSR_MAP_C0000000, 0xc0000000, SVM_MSR_EFER);
	start_watch_msr(SVM_MSR_MAP_C0010000, 0xc0010000, SVM_MSR_VM_CR);
	start_watch_msr(SVM_MSR_MAP_C0010000, 0xc0010000, SVM_MSR_VM_HSAVE_PA);
}
