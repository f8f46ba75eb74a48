/* SPDX-License-Identifier: GPL-2.0 */
/* What the layer's files for x86-64 share.  Calls go down: exit.c; rtos.c, vectors.c, protect.c; vcpu.c; apic.c, fpu.c. */
#ifndef _LAYER_X86_H
#define _LAYER_X86_H

#include "../../layer.h"
#include "svm.h"

#define X86_FLAGS_FIXED	(1ull << 1)
#define X86_FLAGS_IF	(1ull << 9)

#define X86_EXCEPTION_UD	6	/* invalid opcode */
#define X86_EXCEPTION_NM	7	/* floating point, and CR0.TS is set */
#define X86_EXCEPTION_GP	13	/* general protection, with an error code */

/* The highest class of interrupts, in which the layer's own is. */
#define X86_TOP_CLASS		(LAYER_VECTOR / 16)

/* What VMRUN does not switch, in the order of svm_registers.S. */
struct x86_registers {
	u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

/* Who can have the core: its registers, and the VMCB for the rest. */
struct x86_vcpu {
	struct x86_registers registers;
	u64 physical;			/* address of @vmcb */
	struct svm_vmcb *vmcb;
};

/* Behind the image, as layer_coming: the local APIC, and a struct x86_guest for each RTOS. */
extern u8 layer_apic_page[LAYER_PAGE];
extern u8 layer_guest_memory[LAYER_GUESTS * LAYER_GUEST_SIZE];

/* As FXSAVE and XSAVE have it. */
struct x86_fpu {
	u16 control;
	u8 unused_002[22];
	u32 mxcsr;
	u8 unused_01c[LAYER_FPU_SIZE - 28];
};

_Static_assert(sizeof(struct x86_fpu) == LAYER_FPU_SIZE, "nothing in between");

/* An RTOS, with all that a core has of it while it does not run. */
struct x86_guest {
	struct svm_vmcb vmcb;		/* a page of its own */
	struct x86_fpu fpu;
	struct x86_vcpu vcpu;
	struct layer_guest g;
	int given;			/* the vector that the processor has; 0: none */
};

_Static_assert(sizeof(struct x86_guest) <= LAYER_GUEST_SIZE, "LAYER_GUEST_SIZE");
_Static_assert(__builtin_offsetof(struct x86_guest, fpu) % 64 == 0, "as XSAVE wants it");

/* entry.S knows them */
_Static_assert(__builtin_offsetof(struct x86_vcpu, physical) == 0x70, "LAYER_VCPU_VMCB");
_Static_assert(__builtin_offsetof(struct layer_params, leave) == 24, "LAYER_PARAMS_LEAVE");

extern __visible struct svm_vmcb layer_vmcb;	/* Linux's */
extern __visible u8 layer_msr_map[SVM_MSR_MAP_SIZE];
extern struct x86_vcpu layer_linux;
extern __visible struct x86_vcpu *layer_current;

/* Where what each instance has for itself begins: layer.lds. */
extern const u8 layer_image_data[];

/* The physical address of something of the instance's own. */
static inline u64 layer_physical(const void *own)
{
	return layer_params.own + ((u64)own - (u64)layer_image_data);
}

/* Where one of them is. */
static inline struct x86_guest *x86_guest(struct layer_guest *g)
{
	return (void *)g - __builtin_offsetof(struct x86_guest, g);
}

/* The RTOS that has the core; NULL: Linux has it. */
static inline struct x86_guest *x86_current(void)
{
	if (layer_current == &layer_linux)
		return NULL;
	return (void *)layer_current - __builtin_offsetof(struct x86_guest, vcpu);
}

/* entry.S */
extern const u8 layer_stubs[];		/* LAYER_STUB_SIZE bytes a vector */
#define LAYER_STUB_SIZE	16
/* Let interrupts that are pending in: layer_interrupt() is called for each. */
void layer_window(void);

/* Called by entry.S. */
__visible void layer_start(void);
__visible int layer_exit(void);
__visible void layer_interrupt(u64 vector, u64 error, u64 address);

/* vcpu.c: whose the core is */
void layer_vcpu_init(void);
void layer_vcpu_switch(struct x86_vcpu *to);
void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error);

/* rtos.c: an RTOS's turn */
void layer_rtos_init(void);
void layer_rtos_exit(struct x86_guest *x);
void layer_rtos_give(struct x86_guest *x);

/* fpu.c: whose floating point is in the registers */
void layer_fpu_init(void);
void layer_fpu_begin(struct x86_guest *x);
void layer_fpu_take(struct x86_guest *x);
void layer_fpu_give_back(void);

/* protect.c: what Linux sees of memory */
void layer_protect(u64 root);
void layer_protect_fault(void);

/* vectors.c: interrupts on their way to Linux */
void layer_vectors_acknowledged(unsigned int vector);
void layer_vectors_take_back(struct svm_vmcb *vmcb);
void layer_vectors_gather(void);
void layer_vectors_give(struct svm_vmcb *vmcb);
int layer_vectors_clear_way(void);
void layer_vectors_put_back(void);

/* apic.c */
void layer_apic_end(void);
void layer_apic_raise(unsigned int vector);
void layer_apic_nmi(void);
u32 layer_apic_hold(u32 class);
void layer_apic_release(u32 was);
int layer_apic_is_level(unsigned int vector);
int layer_apic_in_service(void);
int layer_apic_top_in_service(void);

#endif
