/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: how to wake a kernel.
 */
#ifndef _UAPI_SHIMOS_IKC_BELL_H
#define _UAPI_SHIMOS_IKC_BELL_H

#include <linux/types.h>

/*
 * A bell is an interrupt vector of one of a kernel's CPUs, in one word, so that a reader
 * never sees half of a change.  0: no bell.
 */
#define SHIMOS_BELL_READY	(1ULL << 15)
#define SHIMOS_BELL(cpu, vector) \
	((__u64)(cpu) << 16 | SHIMOS_BELL_READY | (vector))
#define SHIMOS_BELL_CPU(bell)		((__u64)(bell) >> 16)	/* hardware id */
#define SHIMOS_BELL_VECTOR(bell)	((__u32)(bell) & 0x7fff)

#endif
