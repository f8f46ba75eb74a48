// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ports.  All but those of devices that the partition was given are the machine's: what
 * is written there goes nowhere, and what is read is what an empty bus says.  One can be
 * read: the clock, which a kernel asks for the time once.
 */
#include "local.h"

#define PORTS_IN		(1u << 0)	/* of EXITINFO1 */
#define PORTS_STRING		(1u << 2)
#define PORTS_8			(1u << 4)
#define PORTS_16		(1u << 5)
#define PORTS_SHIFT		16

#define PORTS_TIMER		0x40		/* three counters of the PIT */
#define PORTS_TIMER_END		0x43
#define PORTS_CLOCK_INDEX	0x70
#define PORTS_CLOCK_DATA	0x71
#define PORTS_CLOCK_REGISTERS	0x0e		/* time, date and state; behind them is memory */
#define PORTS_CLOCK_MASK	0x7f		/* the bit above keeps NMIs away */

static u8 ports_read_clock(u8 index)
{
	u8 value;

	asm volatile("outb %1, $0x70; inb $0x71, %0" : "=a"(value) : "0"(index));
	return value;
}

static u32 ports_in(struct guard_cpu *cpu, u16 port, u32 info)
{
	if (port == PORTS_CLOCK_DATA && info & PORTS_8 && cpu->clock < PORTS_CLOCK_REGISTERS)
		return ports_read_clock(cpu->clock);
	/* a kernel that calibrates itself would wait long for all ones to change */
	if (port >= PORTS_TIMER && port < PORTS_TIMER_END)
		return 0;
	return ~0u;
}

static void ports_out(struct guard_cpu *cpu, u16 port, u32 info, u32 value)
{
	if (port == PORTS_CLOCK_INDEX && info & PORTS_8)
		cpu->clock = value & PORTS_CLOCK_MASK;
}

/**
 * guard_ports() - IN or OUT of a port that is not let through
 * @cpu: this CPU's
 *
 * Context: between two runs of the kernel, with GIF clear.
 */
void guard_ports(struct guard_cpu *cpu)
{
	struct svm_vmcb *vmcb = guard_vmcb(cpu);
	u32 info = vmcb->control.exit_info_1;
	u64 mask = info & PORTS_8 ? 0xff : info & PORTS_16 ? 0xffff : ~0ull;
	u64 rax = vmcb->save.rax;

	if (info & PORTS_STRING) {
		guard_raise(cpu, GUARD_EXCEPTION_GP);
		return;
	}
	if (info & PORTS_IN)
		vmcb->save.rax = (rax & ~mask) | (ports_in(cpu, info >> PORTS_SHIFT, info) & mask);
	else
		ports_out(cpu, info >> PORTS_SHIFT, info, rax);
	guard_skip(cpu, vmcb->control.exit_info_2);
}
