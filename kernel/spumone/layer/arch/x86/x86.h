/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the layer's files for x86-64 share.  Calls go down: exit.c; next.c; user.c; host.c,
 * rtos.c, vectors.c, protect.c; vcpu.c; lapic.c, state.c; apic.c, fpu.c.
 */
#ifndef _LAYER_X86_H
#define _LAYER_X86_H

#include "../../layer.h"
#include "svm.h"

#define X86_FLAGS_FIXED	(1ull << 1)
#define X86_FLAGS_TF	(1ull << 8)
#define X86_FLAGS_IF	(1ull << 9)

#define X86_EXCEPTION_DB	1	/* debug: an instruction was run with X86_FLAGS_TF */
#define X86_EXCEPTION_NMI	2
#define X86_EXCEPTION_UD	6	/* invalid opcode */
#define X86_EXCEPTION_NM	7	/* floating point, and CR0.TS is set */
#define X86_EXCEPTION_GP	13	/* general protection, with an error code */
#define X86_EXCEPTION_MC	18	/* machine check */

/* The highest class of interrupts, in which the layer's own is. */
#define X86_TOP_CLASS		(LAYER_VECTOR / 16)

/* What VMRUN does not switch, in the order of svm_registers.S. */
struct x86_registers {
	u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

struct x86_guest;
struct x86_host;

/**
 * struct x86_vcpu - who can have the core
 * @registers: its registers, but for those in the VMCB
 * @physical: address of @vmcb
 * @vmcb: the rest
 * @state: what neither has, if it is Linux's
 * @guest: it is an RTOS
 * @host: it is a CPU of Linux's that visits this core
 * @returns_at: address of the last IRET that it was left for
 * @returns_stack: and its stack there
 */
struct x86_vcpu {
	struct x86_registers registers;
	u64 physical;
	struct svm_vmcb *vmcb;
	struct x86_state *state;
	struct x86_guest *guest;
	struct x86_host *host;
	u64 returns_at, returns_stack;
};

/* Behind the image, as layer_coming: the local APIC, and a struct x86_guest for each RTOS. */
extern u8 layer_apic_page[LAYER_PAGE];
extern u8 layer_guest_memory[LAYER_GUESTS * LAYER_GUEST_SIZE];
extern u8 layer_host_memory[LAYER_HOSTS * LAYER_HOST_SIZE];

/* As FXSAVE and XSAVE have it. */
struct x86_fpu {
	u16 control;
	u8 unused_002[22];
	u32 mxcsr;
	u8 unused_01c[LAYER_FPU_SIZE - 28];
};

_Static_assert(sizeof(struct x86_fpu) == LAYER_FPU_SIZE, "nothing in between");

/**
 * struct x86_guest - an RTOS, with all that a core has of it while it does not run
 * @vmcb: a page of its own
 * @fpu: its floating point
 * @vcpu: what the core switches to
 * @g: what is the same on all architectures
 * @given: the vector that the processor has; 0: none
 */
struct x86_guest {
	struct svm_vmcb vmcb;
	struct x86_fpu fpu;
	struct x86_vcpu vcpu;
	struct layer_guest g;
	int given;
};

_Static_assert(sizeof(struct x86_guest) <= LAYER_GUEST_SIZE, "LAYER_GUEST_SIZE");
_Static_assert(__builtin_offsetof(struct x86_guest, fpu) % 64 == 0, "as XSAVE wants it");

/**
 * struct x86_state - what a core has of a CPU of Linux's that neither VMRUN nor VMLOAD switches
 * @fpu: its floating point
 * @debug: DR0 to DR3
 * @msrs: those of layer_params
 */
struct x86_state {
	struct x86_fpu fpu;
	u64 debug[4];
	u64 msrs[LAYER_HOST_MSRS];
};

/**
 * struct x86_host - a CPU of Linux's, with all that a core has of it while it is not at home
 * @vmcb: a page of its own
 * @apic: and so is this: its local APIC, which Linux sees, with pending interrupts and those in
 *	service where the hardware has them
 * @state: what the core has besides
 * @vcpu: what the core switches to
 * @h: what is the same on all architectures
 * @move: a copy
 * @given: the vector that the processor has; 0: none
 * @nmi: sent after it.  Any core sets it
 * @held: levels that home has in service; its own
 * @ended: those that can be ended there.  Any core sets a bit
 * @step_at: it runs this instruction by itself; 0: it does not
 * @step_register: which writes this one
 * @step_flags: what it had in RFLAGS
 * @step_debug: what it had in DR6
 * @enters: it was about to enter the kernel, and has not done so
 * @enters_at: the address of the instruction with which
 */
struct x86_host {
	struct svm_vmcb vmcb;
	u8 apic[LAYER_PAGE];
	struct x86_state state;
	struct x86_vcpu vcpu;
	struct layer_host h;
	struct layer_host_move move;
	unsigned int given;
	int nmi;
	u32 held[LAYER_VECTORS / 32];
	u32 ended[LAYER_VECTORS / 32];
	u64 step_at;
	u32 step_register;
	u64 step_flags, step_debug;
	int enters;
	u64 enters_at;
};

_Static_assert(sizeof(struct x86_host) <= LAYER_HOST_SIZE, "LAYER_HOST_SIZE");
_Static_assert(__builtin_offsetof(struct x86_host, apic) == LAYER_HOST_CONTROLLER, "apic");
_Static_assert(__builtin_offsetof(struct x86_host, state) % 64 == 0, "as XSAVE wants it");

/* entry.S knows them */
_Static_assert(__builtin_offsetof(struct x86_vcpu, physical) == 0x70, "LAYER_VCPU_VMCB");
_Static_assert(__builtin_offsetof(struct layer_params, leave) == 24, "LAYER_PARAMS_LEAVE");

extern __visible struct svm_vmcb layer_vmcb;	/* Linux's */
extern __visible u8 layer_msr_map[SVM_MSR_MAP_SIZE];
extern struct x86_vcpu layer_linux;
extern int layer_nmi_pending;	/* came while the layer ran; Linux's */
extern int layer_came;		/* an interrupt has, since somebody has cleared this */
extern struct x86_vcpu layer_nobody;	/* has the core while nobody has it */
extern __visible struct x86_vcpu *layer_current;

/* Where what each instance has for itself begins: layer.lds. */
extern const u8 layer_image_data[];

/**
 * layer_physical() - the physical address of something of the instance's own
 * @own: behind layer_image_data
 */
static inline u64 layer_physical(const void *own)
{
	return layer_params.own + ((u64)own - (u64)layer_image_data);
}

/**
 * x86_guest() - what this architecture has of an RTOS
 * @g: which
 */
static inline struct x86_guest *x86_guest(struct layer_guest *g)
{
	return (void *)g - __builtin_offsetof(struct x86_guest, g);
}

/**
 * x86_host() - what this architecture has of a CPU of Linux's
 * @h: which
 */
static inline struct x86_host *x86_host(struct layer_host *h)
{
	return (void *)h - __builtin_offsetof(struct x86_host, h);
}

/**
 * x86_current() - the RTOS that has the core; NULL: Linux has it
 */
static inline struct x86_guest *x86_current(void)
{
	return layer_current->guest;
}

/* entry.S */
extern const u8 layer_stubs[];		/* LAYER_STUB_SIZE bytes a vector */
#define LAYER_STUB_SIZE	16

/**
 * layer_window() - let interrupts that are pending in
 *
 * layer_interrupt() is called for each, until it says so.
 */
void layer_window(void);

/**
 * layer_idle() - wait for an interrupt, and let it in as layer_window() does
 */
void layer_idle(void);

/* Its caller, in entry.S, needs no register afterwards; in tests it is called from C. */
#if !__STDC_HOSTED__ && __has_attribute(no_callee_saved_registers)
#define X86_KEEPS_NOTHING	__attribute__((no_callee_saved_registers))
#else
#define X86_KEEPS_NOTHING
#endif

/* Called by entry.S. */
__visible void layer_start(void);
__visible int layer_exit(void) X86_KEEPS_NOTHING;
__visible int layer_interrupt(u64 vector, u64 error, u64 address);

/* vcpu.c: whose the core is */
void layer_vcpu_init(void);
void layer_vcpu_switch(struct x86_vcpu *to);
void layer_vcpu_switch_rtos(struct x86_vcpu *to);
void layer_vcpu_leaves(struct x86_vcpu *v);
void layer_vcpu_hold(int wait);
void layer_vcpu_priority(u32 priority);
int layer_vcpu_give_nmi(struct x86_vcpu *v);
void layer_vcpu_ends_nmi(struct x86_vcpu *v);
int layer_vcpu_returns(const struct x86_vcpu *v);
void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error);

/* rtos.c: an RTOS's turn */
void layer_rtos_init(void);
void layer_rtos_exit(struct x86_guest *x);
void layer_rtos_give(struct x86_guest *x);

/* fpu.c: whose floating point is in the registers */
void layer_fpu_init(struct x86_fpu *own);
void layer_fpu_begin(struct x86_guest *x);
void layer_fpu_take(struct x86_guest *x);
void layer_fpu_give_back(void);
void layer_fpu_change(struct x86_fpu *to);

/* state.c: which CPU of Linux's the rest of the core is set up for */
void layer_state_init(struct x86_state *own);
void layer_state_change(struct x86_state *to);
void layer_state_leaves(const struct x86_state *s);

/* lapic.c: the local APIC of one that visits, in memory */
void layer_lapic_begin(struct x86_host *x);
void layer_lapic_keep(struct x86_host *x);
void layer_lapic_raise(struct x86_host *x, unsigned int vector, int level);
int layer_lapic_pending(const struct x86_host *x);
void layer_lapic_take(struct x86_host *x, unsigned int vector);
int layer_lapic_quiet(const struct x86_host *x);
void layer_lapic_put_back(struct x86_host *x);
void layer_lapic_write(struct x86_host *x, u32 reg);

/* host.c: a CPU of Linux's at another core */
void layer_host_init(void);
void layer_host_send(struct x86_host *x, u64 core);
void layer_host_expect(int expected);
void layer_host_share(int shares);
int layer_host_flee(void);
void layer_host_recall(void);
struct x86_host *layer_host_own(void);
void layer_host_interrupt(unsigned int vector);
void layer_host_nmi(void);
void layer_host_exit(struct x86_host *x);
void layer_host_step(struct x86_host *x);
int layer_host_faulted(const struct x86_host *x);
void layer_host_settle(void);
void layer_host_give(struct x86_host *x, int shares);

/* next.c: whose turn it is */
void layer_next(void);
void layer_next_returns(void);
void layer_next_late_nmi(void);

/* protect.c: what Linux sees of memory */
void layer_protect(u64 root);
void layer_protect_fault(struct x86_vcpu *v);

/* user.c: a core where Linux's CPU runs programs only */
int layer_user_exit(void);
void layer_user_entered(struct x86_host *x);
void layer_user_keep_out(void);
int layer_user_only(void);

/* vectors.c: interrupts on their way to Linux */
void layer_vectors_acknowledged(unsigned int vector);
void layer_vectors_take_back(struct svm_vmcb *vmcb);
int layer_vectors_several(void);
void layer_vectors_gather(void);
void layer_vectors_give(struct svm_vmcb *vmcb);
void layer_vectors_clear_way(void);
int layer_vectors_any(void);
int layer_vectors_can_take(const struct svm_vmcb *vmcb);
void layer_vectors_tell(void);
int layer_vectors_owed(void);
void layer_vectors_put_back(void);
void layer_vectors_settle(void);

/* apic.c */
void layer_apic_end(void);
void layer_apic_raise(unsigned int vector);
void layer_apic_nmi(void);
u32 layer_apic_hold(u32 class);
void layer_apic_release(u32 was);
u32 layer_apic_read(u32 reg);
void layer_apic_write(u32 reg, u32 value);
void layer_apic_send(u32 low, u32 destination);
int layer_apic_is_level(unsigned int vector);
int layer_apic_in_service(void);
int layer_apic_level_in_service(void);
int layer_apic_top_in_service(void);

#endif
