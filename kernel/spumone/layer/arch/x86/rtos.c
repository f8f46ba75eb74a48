// SPDX-License-Identifier: GPL-2.0
/*
 * An RTOS's turn on the core.  It sees its own memory only, by nested paging; all that
 * it could touch of the core but its registers ends its run.
 */
#include "x86.h"

#define RTOS_CR0	0x80010033	/* paging, write protection */
#define RTOS_CR4	0x00000020	/* 64-bit page tables */
#define RTOS_EFER	(0xd00ull | SVM_EFER_SVME)	/* 64 bits, memory that is not run */
#define RTOS_PAT	0x0007040600070406ull	/* as after a reset */
#define RTOS_DR6	0xffff0ff0ull
#define RTOS_DR7	0x400ull
#define RTOS_FIRST_ASID	2	/* Linux has 1 */

#define RTOS_HLT_LEN	1
#define RTOS_VMMCALL_LEN 3

/* All that is set belongs to somebody else. */
static _Alignas(LAYER_PAGE) u8 rtos_msr_map[SVM_MSR_MAP_SIZE];
static _Alignas(LAYER_PAGE) u8 rtos_port_map[SVM_PORT_MAP_SIZE];

/**
 * layer_rtos_init() - before the first run
 */
void layer_rtos_init(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(rtos_msr_map); i++)
		rtos_msr_map[i] = 0xff;
	for (i = 0; i < sizeof(rtos_port_map); i++)
		rtos_port_map[i] = 0xff;
	/* FS, GS and the other GS: 0xc0000100 to 0xc0000102, two bits each */
	rtos_msr_map[SVM_MSR_MAP_C0000000 + 0x100 * 2 / 8] &= ~0x3f;
}

static void rtos_fill_control(struct svm_control *c, u64 nested)
{
	c->intercept_cr = SVM_CR_WRITE(0) | SVM_CR_WRITE(4) | SVM_CR_WRITE(8);
	c->intercept_dr = ~0u;
	c->intercept_exceptions = 1u << X86_EXCEPTION_NM;
	c->intercept_3 = SVM_3_INTR | SVM_3_NMI | SVM_3_RDPMC | SVM_3_INVD | SVM_3_HLT |
			 SVM_3_INVLPGA | SVM_3_PORTS | SVM_3_MSR | SVM_3_SHUTDOWN;
	c->intercept_4 = SVM_4_VMRUN | SVM_4_VMMCALL | SVM_4_VMLOAD | SVM_4_VMSAVE | SVM_4_STGI |
			 SVM_4_CLGI | SVM_4_SKINIT | SVM_4_WBINVD | SVM_4_MONITOR | SVM_4_MWAIT |
			 SVM_4_MWAIT_ARMED | SVM_4_XSETBV | SVM_4_RDPRU;
	c->interrupt = SVM_V_MASKING;
	c->nested = SVM_NESTED_PAGING;
	c->nested_cr3 = nested;
}

static void rtos_fill_segment(struct svm_segment *s, u16 selector, u16 attributes)
{
	s->selector = selector;
	s->attributes = attributes;
	s->limit = ~0u;
}

static void rtos_fill_state(struct svm_save *s, const struct layer_rt_start *start)
{
	rtos_fill_segment(&s->cs, SHIMOS_RT_CODE_SELECTOR, SVM_ATTRIBUTES_CODE);
	rtos_fill_segment(&s->ss, SHIMOS_RT_DATA_SELECTOR, SVM_ATTRIBUTES_DATA);
	s->ds = s->ss;
	s->es = s->ss;
	s->cr0 = RTOS_CR0;
	s->cr3 = start->tables;
	s->cr4 = RTOS_CR4;
	s->efer = RTOS_EFER;
	s->pat = RTOS_PAT;
	s->dr6 = RTOS_DR6;
	s->dr7 = RTOS_DR7;
	s->rflags = X86_FLAGS_FIXED;
	s->rip = start->entry;
	s->rsp = start->stack;
}

struct layer_guest *layer_arch_guest(u64 number)
{
	return &((struct x86_guest *)(layer_guest_memory + number * LAYER_GUEST_SIZE))->g;
}

void layer_arch_guest_begin(struct layer_guest *g, const struct layer_rt_start *start)
{
	struct x86_guest *x = x86_guest(g);

	x->vmcb = (struct svm_vmcb) { 0 };
	x->vcpu.registers = (struct x86_registers) { .rdi = start->argument };
	x->vcpu.vmcb = &x->vmcb;
	x->vcpu.guest = x;
	x->vcpu.physical = layer_params.pool_physical + ((u64)&x->vmcb - (u64)layer_coming);
	x->given = 0;
	rtos_fill_control(&x->vmcb.control, start->nested);
	rtos_fill_state(&x->vmcb.save, start);
	layer_fpu_begin(x);
}

/* The maps are each core's own; what this one remembers of its memory is from another time. */
void layer_arch_guest_comes(struct layer_guest *g)
{
	struct svm_control *c = &x86_guest(g)->vmcb.control;

	c->msr_map = layer_physical(rtos_msr_map);
	c->io_map = layer_physical(rtos_port_map);
	c->asid = RTOS_FIRST_ASID + g->number;
	c->tlb = SVM_TLB_FLUSH_ALL;
}

static void rtos_crashed(struct x86_guest *x)
{
	layer_rt_end(&x->g, LAYER_RT_CRASHED, x->vmcb.control.exit_code, x->vmcb.save.rip,
		     x->vmcb.control.exit_info_2);
}

static void rtos_call(struct x86_guest *x)
{
	struct svm_save *save = &x->vmcb.save;
	u64 at = save->rip;

	save->rip += RTOS_VMMCALL_LEN;
	save->rax = layer_rt_call(&x->g, save->rax, x->vcpu.registers.rdi, at);
}

static void rtos_halt(struct x86_guest *x)
{
	if (!(x->vmcb.save.rflags & X86_FLAGS_IF)) {
		rtos_crashed(x);	/* nothing would wake it */
		return;
	}
	x->vmcb.save.rip += RTOS_HLT_LEN;
	x->vmcb.control.shadow = 0;
	layer_rt_halt(&x->g);
}

/* What was not delivered is on its way again. */
static void rtos_take_back(struct x86_guest *x)
{
	struct svm_control *c = &x->vmcb.control;
	u32 event = c->exit_event, vector = event & SVM_EVENT_VECTOR;

	c->event = 0;
	if (event & SVM_EVENT_VALID && vector >= 32 &&
	    (event & SVM_EVENT_TYPE) != SVM_EVENT_SOFT) {
		layer_rt_raise(&x->g, x->given);	/* the emulator calls it an exception */
	} else {
		if (event & SVM_EVENT_VALID)
			c->event = event;
		if (x->given && c->interrupt & SVM_V_IRQ)
			layer_rt_raise(&x->g, x->given);
	}
	c->interrupt = SVM_V_MASKING;
	x->given = 0;
}

/**
 * layer_rtos_exit() - an RTOS was left: do what it asks for, or end it
 * @x: had the core
 */
void layer_rtos_exit(struct x86_guest *x)
{
	layer_rt_exited(&x->g);
	x->vmcb.control.tlb = 0;
	rtos_take_back(x);
	switch (x->vmcb.control.exit_code) {
	case SVM_EXIT_INTR:
	case SVM_EXIT_NMI:
		break;		/* it comes into the window */
	case SVM_EXIT_EXCEPTION + X86_EXCEPTION_NM:
		layer_fpu_take(x);
		break;
	case SVM_EXIT_HLT:
		rtos_halt(x);
		break;
	case SVM_EXIT_VMMCALL:
		rtos_call(x);
		break;
	case SVM_EXIT_MSR:
	case SVM_EXIT_PORTS:
		layer_vcpu_inject(&x->vcpu, X86_EXCEPTION_GP, 1);
		break;
	default:
		rtos_crashed(x);
	}
}

/**
 * layer_rtos_give() - before it runs: one interrupt, if there is one
 * @x: gets the core
 */
void layer_rtos_give(struct x86_guest *x)
{
	struct svm_control *c = &x->vmcb.control;
	int vector = layer_rt_take(&x->g);

	if (vector < 0)
		return;
	x->given = vector;
	c->interrupt_vector = vector;
	c->interrupt = SVM_V_MASKING | SVM_V_IRQ | SVM_V_IGNORE_TPR |
		       15u << SVM_V_PRIORITY_SHIFT;
}
