/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of KLoader's arm64 part share. */
#ifndef _KLOADER_ARM64_H
#define _KLOADER_ARM64_H

#include <linux/arm-smccc.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "kloader.h"

/*
 * The start of a partition's first range: what its kernel reads while it boots, or takes
 * for hardware, and not for RAM.  Whole pages, however large a kernel's are.
 */
#define ARM64_ENTRY		0x0
#define ARM64_DISTRIBUTOR	0x10000
#define ARM64_DISTRIBUTOR_LEN	0x10000
#define ARM64_DESCRIPTION	0x20000
#define ARM64_RAM		0x40000

/**
 * struct arm64_partition - what this architecture knows of a partition
 * @frame: redistributors, physical, in the order of p->cpus
 * @frames: the first of them
 * @frames_end: where its kernel looks last
 * @text: of what it boots, offset in its memory
 * @text_end: the same, where it ends
 */
struct arm64_partition {
	u64 frame[SHIMOS_MAX_CPUS];
	u64 frames, frames_end;
	u64 text, text_end;
};

/**
 * arm64_of() - what this architecture knows of a partition
 * @p: of kloader_arch_create()
 *
 * Context: any.
 */
static inline struct arm64_partition *arm64_of(struct partition *p)
{
	return p->arch;
}

void arm64_image_text(const void *image, u64 size, u64 *start, u64 *end);

/* psci.c */
void arm64_psci_init(void);
int arm64_psci_check(struct complaint *c);
enum arm_smccc_conduit arm64_psci_conduit(void);
long arm64_psci_cpu_on(u64 mpidr, u64 entry, u64 argument);
bool arm64_psci_is_off(u64 mpidr);

/* gic.c: the interrupt controller.  May sleep. */
void arm64_gic_init(void);
int arm64_gic_check(struct complaint *c);
int arm64_gic_find_frames(struct partition *p, struct complaint *c);
void arm64_gic_write_distributor(struct partition *p);
void arm64_gic_forget(struct partition *p);
void arm64_gic_press(struct partition *p, u32 i);

/* timer.c */
int arm64_timer_describe(struct shimos_platform *out);

/* cache.c */
void arm64_cache_clean(const void *start, u64 size);
void arm64_cache_forget_code(void);

/* poison.c: returns whether there was anything to do.  May sleep. */
bool arm64_poison_mapped(struct partition *p);
bool arm64_poison_image(struct partition *p);

/* entry.S */
extern const u8 kloader_entry[], kloader_entry_kernel[], kloader_entry_end[];

#endif
