/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an architecture provides: how it boots and stops kernels.  Resolved at link
 * time; see arch/.../arch.c.
 */
#ifndef _KLOADER_ARCH_H
#define _KLOADER_ARCH_H

#include "kloader.h"

struct pci_dev;

/* What to do about an IOMMU that translates: a sentence's end. */
extern const char kloader_arch_iommu_advice[];

int kloader_arch_init(void);
void kloader_arch_exit(void);

/* Can this host run partitions at all? */
int kloader_arch_check_host(struct complaint *c);
/* SHIMOS_CAN_*: what this architecture can do and another might not. */
u32 kloader_arch_capabilities(void);
/* May this CPU be given away? */
int kloader_arch_check_cpu(unsigned int cpu, struct complaint *c);
/* The id that the hardware knows a CPU by. */
u64 kloader_arch_hardware_id(unsigned int cpu);
/* Can partitions have PCI devices at all? */
int kloader_arch_check_devices(struct complaint *c);
/* Can a partition find this device and get its interrupts? */
int kloader_arch_check_pci(struct pci_dev *pdev, struct complaint *c);
/* May the user pass this command line? */
int kloader_arch_check_cmdline(const char *cmdline, struct complaint *c);

/* Per-partition state in p->arch; CPUs and memory are known. */
int kloader_arch_create(struct partition *p, struct complaint *c);
void kloader_arch_destroy(struct partition *p);
/* Host memory spent on it outside of the partition's own. */
u64 kloader_arch_host_bytes(const struct partition *p);

/* Which kind of image is it, and is it whole? */
int kloader_arch_parse_image(const void *image, u64 size, struct image *out,
			     struct complaint *c);
/*
 * What containment needs, to be appended to the user's command line.  Returns its
 * length, as snprintf() does.
 */
int kloader_arch_append_cmdline(struct partition *p, char *buf, size_t len);
/*
 * Facts for the platform description: the conduit, all about interrupts, and the ranges.
 * Refused by one that writes it by itself, as is what follows.
 */
int kloader_arch_describe(struct partition *p, struct shimos_platform *out, struct complaint *c);
/* Is this one? */
int kloader_arch_check_description(const void *description, u32 size, struct complaint *c);
/* Copy the image to its place; write the platform description, or copy it. */
int kloader_arch_stage(struct partition *p, struct complaint *c);

/* Let the first CPU enter the image; returns when it has.  May sleep. */
int kloader_arch_start(struct partition *p, struct complaint *c);
/* Stop the CPUs in their tracks, not waiting.  Any context. */
void kloader_arch_halt(struct partition *p);
/* Stop the CPUs and return when each has said so: 0 or -EIO.  May sleep. */
int kloader_arch_park(struct partition *p);
/* Undo what a booting kernel did to hardware that all share. */
void kloader_arch_settle(struct partition *p);
/* Can kernels be guarded here: kept from what is not their partition's? */
int kloader_arch_check_guard(struct complaint *c);
/* Has the guard ended it?  Any context. */
bool kloader_arch_guard_ended(struct partition *p);
/* Why, in words, or NULL: it has not.  Its CPUs are parked. */
const char *kloader_arch_guard_words(struct partition *p);
/* How often its CPUs have left its kernel, and how often that touched what is not its own. */
void kloader_arch_guard_counts(struct partition *p, u64 *exits, u64 *strays);
/* One more chunk of IKC's area, which guarded kernels see, too.  May sleep. */
void kloader_arch_share(unsigned int chunk, u64 physical);
/* Did it reset itself or switch itself off, without an agent's word?  Any context. */
enum shimos_cause kloader_arch_watch(struct partition *p);

#endif
