// SPDX-License-Identifier: GPL-2.0
/* Which ports and registers of the processor a guarded kernel does not reach. */
#include <linux/string.h>

#include "guard.h"
#include "../../guard/guard.h"

#define MAPS_READ	BIT(0)
#define MAPS_WRITE	BIT(1)
#define MAPS_MSRS	0x2000		/* in each of the three ranges that the map has */

/* What is the machine's or the guard's; guard/msr.c says what becomes of it. */
static const struct {
	u32 first, last, what;
} guard_maps_registers[] = {
	{ GUARD_MSR_APIC_BASE, GUARD_MSR_APIC_BASE, MAPS_WRITE },
	{ 0x79, 0x79, MAPS_WRITE },			/* microcode */
	{ 0x200, 0x21f, MAPS_WRITE },			/* MTRRs */
	{ 0x250, 0x26f, MAPS_WRITE },
	{ 0x2ff, 0x2ff, MAPS_WRITE },
	{ SVM_MSR_EFER, SVM_MSR_EFER, MAPS_READ | MAPS_WRITE },
	{ 0xc0010010, 0xc0010010, MAPS_WRITE },		/* SYSCFG */
	{ 0xc0010015, 0xc0010020, MAPS_WRITE },		/* HWCR, IORRs, TOP_MEM, microcode */
	{ 0xc0010050, 0xc0010074, MAPS_WRITE },		/* SMI traps, MMIO base, P-states */
	{ 0xc0010111, 0xc0010113, MAPS_WRITE },		/* SMM's memory */
	{ SVM_MSR_VM_CR, SVM_MSR_VM_CR, MAPS_READ | MAPS_WRITE },
	{ 0xc0010115, 0xc001011b, MAPS_READ | MAPS_WRITE },	/* SVM's and SMM's */
	{ 0xc0010130, 0xc0010137, MAPS_WRITE },		/* SEV's */
	{ 0xc00102b0, 0xc00102b4, MAPS_WRITE },		/* performance levels */
};

static void guard_maps_watch(u8 *map, u32 msr, u32 what)
{
	u32 base = msr < MAPS_MSRS ? 0 : msr < 0xc0010000 ? SVM_MSR_MAP_C0000000 :
							     SVM_MSR_MAP_C0010000;
	u32 bit = (msr & (MAPS_MSRS - 1)) * 2;

	map[base + bit / 8] |= what << bit % 8;
}

/**
 * x86_guard_allow_ports() - let ports through to the hardware
 * @g: its kernel does not run
 * @first: the first one
 * @last: the last one
 *
 * Context: any.
 */
void x86_guard_allow_ports(struct x86_guard *g, u32 first, u32 last)
{
	u8 *map = g->ports;
	u32 port;

	for (port = first; port <= last; port++)
		map[port / 8] &= ~BIT(port % 8);
}

/**
 * x86_guard_fill_maps() - let no port through, and watch the MSRs that reach beyond a CPU
 * @g: its kernel does not run
 *
 * Context: any.
 */
void x86_guard_fill_maps(struct x86_guard *g)
{
	u32 i, msr;

	memset(g->ports, 0xff, SVM_PORT_MAP_SIZE);
	memset(g->registers, 0, SVM_MSR_MAP_SIZE);
	for (i = 0; i < ARRAY_SIZE(guard_maps_registers); i++)
		for (msr = guard_maps_registers[i].first; msr <= guard_maps_registers[i].last; msr++)
			guard_maps_watch(g->registers, msr, guard_maps_registers[i].what);
}
