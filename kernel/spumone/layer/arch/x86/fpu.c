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

/* As FXSAVE and XSAVE have it; a header of zeroes is the state after a reset. */
struct fpu_area {
	u16 control;
	u8 unused_002[22];
	u32 mxcsr;
	u8 unused_01c[LAYER_FPU_SIZE - 28];
};

_Static_assert(sizeof(struct fpu_area) == LAYER_FPU_SIZE, "nothing in between");

static _Alignas(64) struct fpu_area fpu_linux, fpu_rtos;
static int fpu_taken;		/* the registers are the RTOS's */
static u64 fpu_xsave;		/* Linux uses XSAVE: FPU_CR4_XSAVE, or 0 */

static u64 fpu_cr4(void)
{
	u64 cr4;

	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	return cr4;
}

/* A new RTOS: the registers are as after a reset, whatever Linux has in them. */
void layer_fpu_begin(struct svm_save *rtos)
{
	fpu_rtos = (struct fpu_area) { .control = FPU_CONTROL, .mxcsr = FPU_MXCSR };
	fpu_taken = 0;
	fpu_xsave = fpu_cr4() & FPU_CR4_XSAVE;
	rtos->cr0 |= FPU_CR0_TS;
	rtos->cr4 |= FPU_CR4_FXSAVE | FPU_CR4_EXCEPTIONS | fpu_xsave;
}

static void fpu_save(struct fpu_area *to)
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
static void fpu_load(const struct fpu_area *from)
{
	static const u32 nothing;

	asm volatile("fnclex; emms; fildl %0" : : "m"(nothing));
	if (fpu_xsave)
		asm volatile("xrstor64 %0" : : "m"(*from), "a"(-1), "d"(-1));
	else
		asm volatile("fxrstor64 %0" : : "m"(*from));
}

/* The RTOS has met CR0.TS, and tries again. */
void layer_fpu_take(struct svm_save *rtos)
{
	fpu_save(&fpu_linux);
	fpu_load(&fpu_rtos);
	fpu_taken = 1;
	rtos->cr0 &= ~FPU_CR0_TS;
}

/* Linux gets the core, and finds its own. */
void layer_fpu_give_back(struct svm_save *rtos)
{
	if (!fpu_taken)
		return;
	fpu_save(&fpu_rtos);
	fpu_load(&fpu_linux);
	fpu_taken = 0;
	rtos->cr0 |= FPU_CR0_TS;
}
