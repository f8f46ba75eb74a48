/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What KLoader and the agent agree upon on arm64: how the device tree names the area that
 * they share, and what the agent leaves in that area's page SHIMOS_PLATFORM.
 */
#ifndef _UAPI_SHIMOS_ARM64_H
#define _UAPI_SHIMOS_ARM64_H

#include <linux/types.h>

/* The node whose `reg` is the shared area. */
#define SHIMOS_ARM64_COMPATIBLE	"shimos,partition"

/* Sent to a CPU that shall stand still, if the shared area's `stop` says so. */
#define SHIMOS_ARM64_STOP_SGI	10

/**
 * struct shimos_arm64 - the agent's: where the kernel's own page tables are
 * @tables: TTBR1_EL1's table: physical address; 0: not known
 * @control: TCR_EL1
 *
 * By them KLoader finds all code of a kernel that does not hear.  A hint: KLoader believes
 * nothing of it that leads out of the partition's memory.
 */
struct shimos_arm64 {
	__u64 tables;
	__u64 control;
};

#endif
