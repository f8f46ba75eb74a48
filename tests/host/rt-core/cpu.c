// SPDX-License-Identifier: GPL-2.0
/*
 * What a process may not do: the few privileged instructions that images of ours have, and
 * interrupts, through the tables that the image has loaded.
 */
#include <string.h>
#include "core.h"

#define CPU_IF	0x200

static __u64 cpu_word(__u64 address)
{
	__u64 word;

	if (address < CORE_FIRST || address > CORE_MEMORY - sizeof(word))
		core_broken("the image uses the address 0x%llx", address);
	memcpy(&word, (void *)address, sizeof(word));
	return word;
}

static void cpu_push(struct core *core, __u64 word)
{
	core->regs.rsp -= 8;
	cpu_word(core->regs.rsp);
	memcpy((void *)core->regs.rsp, &word, sizeof(word));
}

static __u64 cpu_pop(struct core *core)
{
	__u64 word = cpu_word(core->regs.rsp);

	core->regs.rsp += 8;
	return word;
}

/* What the descriptor of 16 bytes says that LTR named. */
static __u64 cpu_tss(struct core *core, unsigned int selector)
{
	__u64 low = cpu_word(core->gdt + selector), high = cpu_word(core->gdt + selector + 8);

	if ((low >> 40 & 0xff) != 0x89)
		core_broken("0x%x is no free 64-bit TSS", selector);
	if ((low & 0xffff) < 103)
		core_broken("the TSS is too short");
	return (low >> 16 & 0xffffff) | (low >> 56 & 0xff) << 24 | high << 32;
}

/**
 * core_raise() - an interrupt or an exception, by the image's IDT
 * @error: error code, or NULL if the vector has none
 */
void core_raise(struct core *core, unsigned int vector, const __u64 *error)
{
	__u64 low, high, stack = core->regs.rsp, flags = core->regs.eflags & ~CPU_IF;

	if (!core->idt)
		core_broken("vector %u, and there is no IDT", vector);
	low = cpu_word(core->idt + vector * 16);
	high = cpu_word(core->idt + vector * 16 + 8);
	if ((low >> 40 & 0xff) != 0x8e || (low >> 16 & 0xffff) != SHIMOS_RT_CODE_SELECTOR)
		core_broken("vector %u has no interrupt gate", vector);
	if (low >> 32 & 7)
		core->regs.rsp = cpu_word(core->tss + 36 + 8 * ((low >> 32 & 7) - 1));
	core->regs.rsp &= ~15ULL;
	cpu_push(core, SHIMOS_RT_DATA_SELECTOR);
	cpu_push(core, stack);
	cpu_push(core, flags | (core->interrupts ? CPU_IF : 0));
	cpu_push(core, SHIMOS_RT_CODE_SELECTOR);
	cpu_push(core, core->regs.rip);
	if (error)
		cpu_push(core, *error);
	core->regs.rip = (low & 0xffff) | (low >> 32 & 0xffff0000) | high << 32;
	core->interrupts = false;
	core->shadow = false;
}

static void cpu_iret(struct core *core)
{
	__u64 flags;

	core->regs.rip = cpu_pop(core);
	if (cpu_pop(core) != SHIMOS_RT_CODE_SELECTOR)
		core_broken("iretq to another code segment");
	flags = cpu_pop(core);
	core->interrupts = flags & CPU_IF;
	core->regs.eflags = flags;
	core->regs.rsp = cpu_pop(core);
}

/* LGDT and LIDT: the address that the operand holds behind the limit; advances RIP. */
static __u64 cpu_table(struct core *core, const unsigned char *code)
{
	__u64 operand;
	__s32 offset;

	memcpy(&offset, code + 4, sizeof(offset));
	if ((code[2] & 0xc7) == 0x44 && code[3] == 0x24) {
		operand = core->regs.rsp + (signed char)code[4];
		core->regs.rip += 5;
	} else if ((code[2] & 0xc7) == 0x04 && code[3] == 0x25) {
		operand = offset;
		core->regs.rip += 8;
	} else {
		core_broken("a table is loaded in a way that is not known here");
	}
	return cpu_word(operand + 2);
}

static void cpu_call(struct core *core)
{
	__u64 argument = core->regs.rdi;

	switch (core->regs.rax) {
	case SHIMOS_RT_CALL_TIMER:
		core->deadline = argument;
		break;
	case SHIMOS_RT_CALL_READY:
		core->ready = true;
		break;
	case SHIMOS_RT_CALL_END:
		core->ended = argument;
		break;
	case SHIMOS_RT_CALL_RING:
		core_talk_rung();
		break;
	default:
		core_broken("there is no call %llu", core->regs.rax);
	}
	core->regs.rax = 0;
	core->regs.rip += 3;
}

/**
 * core_instruction() - do the instruction at RIP, over which the process stumbled
 *
 * Return: false if it is none that is known here, so the image itself is wrong
 */
bool core_instruction(struct core *core)
{
	const unsigned char *code = (const unsigned char *)core->regs.rip;
	unsigned int length = 1;

	core->shadow = false;
	if (core->regs.rip < CORE_FIRST || core->regs.rip > CORE_MEMORY - 16)
		return false;
	if (code[0] == 0xfa) {				/* cli */
		core->interrupts = false;
	} else if (code[0] == 0xfb) {			/* sti */
		core->shadow = !core->interrupts;
		core->interrupts = true;
	} else if (code[0] == CORE_PUSHF) {
		cpu_push(core, (core->regs.eflags & ~CPU_IF) | (core->interrupts ? CPU_IF : 0));
	} else if (code[0] == CORE_VMMCALL) {
		cpu_call(core);
		return true;
	} else if (code[0] == 0xcd) {			/* int */
		core->regs.rip += 2;
		core_raise(core, code[1], NULL);
		return true;
	} else if (code[0] == 0x8e) {			/* mov to a segment register */
		length = 2;
		if (core->regs.rax != SHIMOS_RT_DATA_SELECTOR)
			return false;
	} else if (code[0] == 0x48 && code[1] == 0xcb) {	/* lretq */
		core->regs.rip = cpu_pop(core);
		return cpu_pop(core) == SHIMOS_RT_CODE_SELECTOR;
	} else if (code[0] == 0x48 && code[1] == 0xcf) {
		cpu_iret(core);
		return true;
	} else if (code[0] == 0x0f && code[1] == 0x00 && code[2] == 0xd8) {	/* ltr %ax */
		core->tss = cpu_tss(core, core->regs.rax & 0xffff);
		length = 3;
	} else if (code[0] == 0x0f && code[1] == 0x01 && (code[2] & 0x38) == 0x10) {
		core->gdt = cpu_table(core, code);
		return true;
	} else if (code[0] == 0x0f && code[1] == 0x01 && (code[2] & 0x38) == 0x18) {
		core->idt = cpu_table(core, code);
		return true;
	} else if ((code[0] & 0xfe) == 0x40 && code[1] == 0x0f && code[2] == 0x20) {
		length = 4;				/* from %cr2, only shown: left as it is */
	} else if (code[0] == 0x0f && code[1] == 0x20) {
		length = 3;
	} else {
		return false;
	}
	core->regs.rip += length;
	return true;
}
