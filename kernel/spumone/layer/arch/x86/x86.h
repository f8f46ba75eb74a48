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

/* What VMRUN does not switch, in the order of entry.S. */
struct x86_registers {
	u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

/* Who can have the core: its registers, and the VMCB for the rest. */
struct x86_vcpu {
	struct x86_registers registers;
	u64 physical;			/* address of @vmcb */
	struct svm_vmcb *vmcb;
};

/* entry.S knows them */
_Static_assert(__builtin_offsetof(struct x86_vcpu, physical) == 0x70, "LAYER_VCPU_VMCB");
_Static_assert(__builtin_offsetof(struct layer_params, leave) == 32, "LAYER_PARAMS_LEAVE");

extern struct svm_vmcb layer_vmcb;	/* Linux's */
extern u8 layer_msr_map[SVM_MSR_MAP_SIZE];
extern struct x86_vcpu layer_linux, layer_rtos, *layer_current;

/* Where what each instance has for itself begins: layer.lds. */
extern const u8 layer_image_data[];

/* The physical address of something of the instance's own. */
static inline u64 layer_physical(const void *own)
{
	return layer_params.own + ((u64)own - (u64)layer_image_data);
}

/* entry.S */
extern const u8 layer_stubs[];		/* LAYER_STUB_SIZE bytes a vector */
#define LAYER_STUB_SIZE	16
/* Let interrupts that are pending in: layer_interrupt() is called for each. */
void layer_window(void);

/* Called by entry.S. */
void layer_start(void);
int layer_exit(void);
void layer_interrupt(u64 vector, u64 error, u64 address);

/* vcpu.c: whose the core is */
void layer_vcpu_init(void);
void layer_vcpu_switch(struct x86_vcpu *to);
void layer_vcpu_inject(struct x86_vcpu *vcpu, u32 vector, int has_error);

/* rtos.c: the RTOS's turn */
void layer_rtos_start(void);
void layer_rtos_exit(void);
void layer_rtos_give(void);

/* fpu.c: whose floating point is in the registers; all are handed what the RTOS is run by */
void layer_fpu_begin(struct svm_save *rtos);
void layer_fpu_take(struct svm_save *rtos);
void layer_fpu_give_back(struct svm_save *rtos);

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
