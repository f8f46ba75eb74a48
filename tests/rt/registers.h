/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All registers of floating point at once: filled, held while something happens, and read
 * again.  For a program in a real-time partition and one of Linux's beside it, none of which
 * shall see what the other has.
 */
#ifndef _TESTS_RT_REGISTERS_H
#define _TESTS_RT_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#define REGISTERS_MXCSR		0x1f80	/* after a reset */
#define REGISTERS_CONTROL	0x37f	/* of the x87, after FNINIT */

struct registers {
	uint8_t vectors[16][32];	/* YMM; without AVX the lower half, XMM */
	double top;			/* of the x87's stack */
	uint32_t mxcsr;
	uint16_t control;
};

_Static_assert(__builtin_offsetof(struct registers, top) == 512, "in REGISTERS_HOLD");
_Static_assert(__builtin_offsetof(struct registers, control) == 524, "in REGISTERS_HOLD");

#define REGISTERS_EACH	".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
#define REGISTERS_LAST	"\n\t.endr\n\t"

#define REGISTERS_LOAD(move, kind) \
	REGISTERS_EACH move " \\i*32(%0), %%" kind "\\i" REGISTERS_LAST \
	"fldl 512(%0)\n\tldmxcsr 520(%0)\n\tfldcw 524(%0)\n\t"

#define REGISTERS_STORE(move, kind) \
	REGISTERS_EACH move " %%" kind "\\i, \\i*32(%0)" REGISTERS_LAST \
	"fstpl 512(%0)\n\tstmxcsr 520(%0)\n\tfnstcw 524(%0)\n\t"

#define REGISTERS_ASM(text, what) \
	asm volatile(text : : "r"(what) : "rcx", "cc", "memory", "st", "xmm0", "xmm1", "xmm2", \
		     "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
		     "xmm12", "xmm13", "xmm14", "xmm15")

/* @meanwhile: instructions that may use %rcx and no stack */
#define REGISTERS_HOLD(what, avx, meanwhile) \
do { \
	const struct registers usual = { .mxcsr = REGISTERS_MXCSR, .control = REGISTERS_CONTROL }; \
\
	if (avx) \
		REGISTERS_ASM(REGISTERS_LOAD("vmovups", "ymm") meanwhile "\n\t" \
			      REGISTERS_STORE("vmovups", "ymm") "vzeroupper", what); \
	else \
		REGISTERS_ASM(REGISTERS_LOAD("movups", "xmm") meanwhile "\n\t" \
			      REGISTERS_STORE("movups", "xmm"), what); \
	asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(usual.mxcsr), "m"(usual.control)); \
} while (0)

/* May programs use AVX here?  The processor has it, and whoever runs it has enabled it. */
static inline bool registers_have_avx(void)
{
	uint32_t eax = 1, ebx, ecx = 0, edx, low, high;

	asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	if (~ecx & 3u << 27)
		return false;
	asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & 6) == 6;
}

/* All different, and other ones for another @seed. */
static inline void registers_fill(struct registers *r, uint32_t seed)
{
	uint32_t value = seed * 2654435761u;
	unsigned int i;

	for (i = 0; i < sizeof(r->vectors); i++) {
		value = value * 1664525 + 1013904223;
		r->vectors[i / 32][i % 32] = value >> 24;
	}
	r->top = seed + 0.25;
	/* they round in all four ways */
	r->mxcsr = REGISTERS_MXCSR | (seed % 4) << 13;
	r->control = REGISTERS_CONTROL | (seed % 4) << 10;
}

static inline bool registers_same(const struct registers *a, const struct registers *b)
{
	unsigned int i;

	for (i = 0; i < sizeof(a->vectors); i++)
		if (a->vectors[i / 32][i % 32] != b->vectors[i / 32][i % 32])
			return false;
	return a->top == b->top && a->mxcsr == b->mxcsr && a->control == b->control;
}

/* A long row of numbers, each of which needs the one before: what goes wrong once is seen at the end. */
static inline double registers_compute(double value, unsigned int steps)
{
	while (steps--)
		value = 3.75 * value * (1 - value);
	return value;
}

#endif
