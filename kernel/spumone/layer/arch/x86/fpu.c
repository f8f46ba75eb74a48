// SPDX-License-Identifier: GPL-2.0
/*
 * Floating point.  Linux has its own in the registers at all times, and an RTOS seldom uses
 * any, so they are switched only when it does: it gets the core with CR0.TS set, and the
 * first such instruction ends its run.  One that has none pays nothing.
 *
 * What there is to switch Linux has chosen, by XCR0.  It is saved as a whole and in the
 * standard form, so nothing depends on what an area held before.
 */
#include "x86.h"

#define FPU_CR0_TS		(1ull << 3)
#define FPU_CR4_FXSAVE		(1ull << 9)
#define FPU_CR4_EXCEPTIONS	(1ull << 10)
#define FPU_CR4_XSAVE		(1ull << 18)
#define FPU_CONTROL		0x37f	/* of the x87, as FNINIT leaves it */
#define FPU_MXCSR		0x1f80

static struct x86_fpu *fpu_linux;	/* of the CPU of Linux's that is on this core; NULL: none is */
static struct x86_guest *fpu_taken;	/* whose the registers are; NULL: Linux's */
static u64 fpu_xsave;			/* Linux uses XSAVE: FPU_CR4_XSAVE, or 0 */

static u64 fpu_cr4(void)
{
	u64 cr4;

	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	return cr4;
}

/**
 * layer_fpu_init() - before the first run
 * @own: where this core's own CPU of Linux's is kept; what is in the registers is that one's
 *
 * All cores of a machine have the same features.
 */
void layer_fpu_init(struct x86_fpu *own)
{
	fpu_xsave = fpu_cr4() & FPU_CR4_XSAVE;
	fpu_linux = own;
}

/**
 * layer_fpu_begin() - a new RTOS: the registers are as after a reset, whatever Linux has in them
 * @x: which
 *
 * A header of zeroes says so of all the rest.
 */
void layer_fpu_begin(struct x86_guest *x)
{
	struct svm_save *rtos = &x->vmcb.save;

	x->fpu = (struct x86_fpu) { .control = FPU_CONTROL, .mxcsr = FPU_MXCSR };
	rtos->cr0 |= FPU_CR0_TS;
	rtos->cr4 |= FPU_CR4_FXSAVE | FPU_CR4_EXCEPTIONS | fpu_xsave;
}

static void fpu_save(struct x86_fpu *to)
{
	if (fpu_xsave)
		asm volatile("xsave64 %0" : "+m"(*to) : "a"(-1), "d"(-1));
	else
		asm volatile("fxsave64 %0" : "+m"(*to));
}

/*
 * AMD's processors leave it in the registers where the last instruction of the x87 was, if
 * none is to be loaded: that is nobody else's business, and becomes one of ours.
 */
static void fpu_load(const struct x86_fpu *from)
{
	static const u32 nothing;

	asm volatile("fnclex; emms; fildl %0" : : "m"(nothing));
	if (fpu_xsave)
		asm volatile("xrstor64 %0" : : "m"(*from), "a"(-1), "d"(-1));
	else
		asm volatile("fxrstor64 %0" : : "m"(*from));
}

/**
 * layer_fpu_take() - an RTOS has met CR0.TS, and tries again
 * @x: it has the core
 */
void layer_fpu_take(struct x86_guest *x)
{
	if (fpu_linux)
		fpu_save(fpu_linux);
	fpu_load(&x->fpu);
	fpu_taken = x;
	x->vmcb.save.cr0 &= ~FPU_CR0_TS;
}

/**
 * layer_fpu_give_back() - somebody else gets the core
 *
 * Linux finds its own, and another RTOS meets CR0.TS.
 */
void layer_fpu_give_back(void)
{
	if (!fpu_taken)
		return;
	fpu_save(&fpu_taken->fpu);
	if (fpu_linux)
		fpu_load(fpu_linux);
	fpu_taken->vmcb.save.cr0 |= FPU_CR0_TS;
	fpu_taken = NULL;
}

/**
 * layer_fpu_change() - another CPU of Linux's is on this core, or none
 * @to: where its registers are kept; NULL: none
 *
 * No RTOS's are in the registers.  The one that was here finds its own where it was told to keep
 * them.
 */
void layer_fpu_change(struct x86_fpu *to)
{
	if (fpu_linux)
		fpu_save(fpu_linux);
	if (to)
		fpu_load(to);
	fpu_linux = to;
}
