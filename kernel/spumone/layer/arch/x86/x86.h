/* SPDX-License-Identifier: GPL-2.0 */
/* What the layer's files for x86-64 share.  Calls go down: exit.c; vectors.c; apic.c. */
#ifndef _LAYER_X86_H
#define _LAYER_X86_H

#include "../../layer.h"
#include "svm.h"

#define X86_FLAGS_IF	(1ull << 9)

/* What VMRUN does not switch, in the order of entry.S. */
struct x86_registers {
	u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

/* entry.S knows them */
_Static_assert(__builtin_offsetof(struct layer_params, vmcb) == 16, "LAYER_PARAMS_VMCB");
_Static_assert(__builtin_offsetof(struct layer_params, leave) == 32, "LAYER_PARAMS_LEAVE");

extern struct svm_vmcb layer_vmcb;
extern u8 layer_msr_map[SVM_MSR_MAP_SIZE];
extern struct x86_registers layer_registers;

/* entry.S */
extern const u8 layer_stubs[];		/* LAYER_STUB_SIZE bytes a vector */
#define LAYER_STUB_SIZE	16
/* Let interrupts that are pending in: layer_interrupt() is called for each. */
void layer_window(void);

/* Called by entry.S. */
void layer_start(void);
int layer_exit(void);
void layer_interrupt(u64 vector, u64 error, u64 address);

/* vectors.c: interrupts on their way to Linux */
void layer_vectors_acknowledged(unsigned int vector);
void layer_vectors_take_back(struct svm_vmcb *vmcb);
void layer_vectors_give(struct svm_vmcb *vmcb);
void layer_vectors_put_back(void);

/* apic.c */
void layer_apic_end(void);
void layer_apic_raise(unsigned int vector);
void layer_apic_nmi(void);
int layer_apic_is_level(unsigned int vector);
int layer_apic_in_service(void);

#endif
