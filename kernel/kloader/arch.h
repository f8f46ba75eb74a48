/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an architecture provides: how it boots and stops kernels.  Resolved at link
 * time; see arch/.../arch.c.
 */
#ifndef _KLOADER_ARCH_H
#define _KLOADER_ARCH_H

#include "kloader.h"

struct passthrough;
struct pci_dev;

/* What to do about an IOMMU that translates, and about none: a sentence's end. */
extern const char kloader_arch_iommu_advice[];
extern const char kloader_arch_iommu_on[];

/**
 * kloader_arch_read_iommu_fault() - does an IOMMU's driver say that it has refused an access?
 * @text: written to the kernel's log; need not end with a 0
 * @len: of it
 * @requester: gets the bus and function of whoever wanted it
 * @addr: gets what it wanted to reach
 *
 * Context: any.
 * Return: whether it says so, and both of these.
 */
bool kloader_arch_read_iommu_fault(const char *text, size_t len, u16 *requester, u64 *addr);

/**
 * kloader_arch_init() - get ready, at module load
 *
 * Context: may sleep.
 * Return: 0 or an error; then nothing is left.
 */
int kloader_arch_init(void);

/**
 * kloader_arch_exit() - undo kloader_arch_init()
 *
 * Context: may sleep; there is no partition.
 */
void kloader_arch_exit(void);

/**
 * kloader_arch_check_host() - can this host run partitions at all?
 * @c: why not, and what to do about it
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int kloader_arch_check_host(struct complaint *c);

/**
 * kloader_arch_capabilities() - what this architecture can do and another might not
 *
 * Context: any.
 * Return: SHIMOS_CAN_* and SHIMOS_NEEDS_*.
 */
u32 kloader_arch_capabilities(void);

/**
 * kloader_arch_check_cpu() - may this CPU be given away?
 * @cpu: Linux's number of a possible one
 * @c: why not
 *
 * Context: any.
 * Return: 0 or an error.
 */
int kloader_arch_check_cpu(unsigned int cpu, struct complaint *c);

/**
 * kloader_arch_hardware_id() - the id that the hardware knows a CPU by
 * @cpu: Linux's number of a possible one
 *
 * Context: any.
 */
u64 kloader_arch_hardware_id(unsigned int cpu);

/**
 * kloader_arch_check_devices() - can partitions have PCI devices at all?
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EOPNOTSUPP.
 */
int kloader_arch_check_devices(struct complaint *c);

/**
 * kloader_arch_check_pci() - can a partition find this device and get its interrupts?
 * @pdev: which
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP.
 */
int kloader_arch_check_pci(struct pci_dev *pdev, struct complaint *c);

/**
 * kloader_arch_open_interrupts() - have a given device's interrupts reach its partition
 * @d: bound to our driver, its partition's CPUs known
 * @c: why they cannot
 *
 * Fills @d->interrupts, if the device cannot name its partition's CPUs itself.
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error; then kloader_arch_close_interrupts() must follow.
 */
int kloader_arch_open_interrupts(struct passthrough *d, struct complaint *c);

/**
 * kloader_arch_close_interrupts() - undo kloader_arch_open_interrupts(), also where it was not called
 * @d: as there; its device stands still
 *
 * Context: may sleep.
 */
void kloader_arch_close_interrupts(struct passthrough *d);

/**
 * kloader_arch_check_cmdline() - may the user pass this command line?
 * @cmdline: the user's part
 * @c: which parameter may not be, and why
 *
 * Context: any.
 * Return: 0 or an error.
 */
int kloader_arch_check_cmdline(const char *cmdline, struct complaint *c);

/**
 * kloader_arch_create() - make a partition's state in p->arch
 * @p: its CPUs and memory are known
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error; then nothing is left.
 */
int kloader_arch_create(struct partition *p, struct complaint *c);

/**
 * kloader_arch_destroy() - undo kloader_arch_create()
 * @p: does not run; its CPUs are the host's again
 *
 * Context: may sleep.
 */
void kloader_arch_destroy(struct partition *p);

/**
 * kloader_arch_host_bytes() - host memory spent on a partition outside of its own
 * @p: which
 *
 * Context: p->mutex is held.
 * Return: bytes.
 */
u64 kloader_arch_host_bytes(const struct partition *p);

/**
 * kloader_arch_parse_image() - which kind of image is it, and is it whole?
 * @image: the file
 * @size: its bytes
 * @out: gets what a start has to know
 * @c: why it is refused
 *
 * Context: any.
 * Return: 0; -ENOEXEC: it is no kernel for partitions here; or another error.
 */
int kloader_arch_parse_image(const void *image, u64 size, struct image *out,
			     struct complaint *c);

/**
 * kloader_arch_append_cmdline() - what containment needs, to be appended to the user's command line
 * @p: with its image
 * @buf: gets it
 * @len: of @buf, bytes
 *
 * Context: p->mutex is held.
 * Return: its length, as snprintf() does.
 */
int kloader_arch_append_cmdline(struct partition *p, char *buf, size_t len);

/**
 * kloader_arch_describe() - facts for the platform description
 * @p: which
 * @out: gets the conduit, all about interrupts, and the ranges
 * @c: why not
 *
 * Refused by an architecture that writes the description by itself, as is
 * kloader_arch_check_description().
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int kloader_arch_describe(struct partition *p, struct shimos_platform *out, struct complaint *c);

/**
 * kloader_arch_check_description() - is this a platform description?
 * @description: as the caller has written it
 * @size: its bytes
 * @c: why not
 *
 * Context: any.
 * Return: 0 or an error.
 */
int kloader_arch_check_description(const void *description, u32 size, struct complaint *c);

/**
 * kloader_arch_stage() - copy the image to its place; write the platform description, or copy it
 * @p: loaded; does not run
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int kloader_arch_stage(struct partition *p, struct complaint *c);

/**
 * kloader_arch_start() - let the first CPU enter the image
 * @p: staged
 * @c: why not
 *
 * The others wait, or are started by its kernel.
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0: it has; or an error.
 */
int kloader_arch_start(struct partition *p, struct complaint *c);

/**
 * kloader_arch_halt() - stop the CPUs in their tracks, not waiting
 * @p: which
 *
 * Context: any.
 */
void kloader_arch_halt(struct partition *p);

/**
 * kloader_arch_park() - stop the CPUs and return when each has said so
 * @p: which
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0; -EIO: one has not.
 */
int kloader_arch_park(struct partition *p);

/**
 * kloader_arch_taking_cpu() - remember what the host loses of a CPU's settings when it goes offline
 * @cpu: online
 *
 * Context: may sleep.
 */
void kloader_arch_taking_cpu(unsigned int cpu);

/**
 * kloader_arch_took_cpu() - put back what kloader_arch_taking_cpu() has found
 * @cpu: offline now
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -EIO: the CPU does not answer.
 */
int kloader_arch_took_cpu(unsigned int cpu, struct complaint *c);

/**
 * kloader_arch_check_resize() - can CPUs come to this partition, and leave it, while it runs?
 * @p: which
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int kloader_arch_check_resize(struct partition *p, struct complaint *c);

/**
 * kloader_arch_park_cpu() - stop one CPU, and return when it has said so
 * @p: which
 * @i: which of its CPUs
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0; -EIO: it has not.
 */
int kloader_arch_park_cpu(struct partition *p, u32 i);

/**
 * kloader_arch_settle() - undo what a booting kernel did to hardware that all share
 * @p: it may run
 *
 * Context: may sleep.
 */
void kloader_arch_settle(struct partition *p);

/**
 * kloader_arch_check_guard() - can kernels be kept from what is not their partition's here?
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int kloader_arch_check_guard(struct complaint *c);

/**
 * kloader_arch_guard_ended() - has the guard ended it?
 * @p: which; false if it has no guard
 *
 * Context: any.
 */
bool kloader_arch_guard_ended(struct partition *p);

/**
 * kloader_arch_guard_words() - why the guard has ended it, in words
 * @p: its CPUs are parked
 *
 * Context: p->mutex is held.
 * Return: a text, there until the next start or p's end; NULL: it has not.
 */
const char *kloader_arch_guard_words(struct partition *p);

/**
 * kloader_arch_guard_counts() - how often its CPUs have left its kernel
 * @p: 0 for one without a guard
 * @exits: all of these
 * @strays: those that touched what is not its own
 *
 * Context: p->mutex is held.
 */
void kloader_arch_guard_counts(struct partition *p, u64 *exits, u64 *strays);

/**
 * kloader_arch_share() - one more chunk of IKC's area, which guarded kernels see, too
 * @chunk: its number
 * @physical: its address
 *
 * Context: may sleep.
 */
void kloader_arch_share(unsigned int chunk, u64 physical);

/**
 * kloader_arch_watch() - did it reset itself or switch itself off, without an agent's word?
 * @p: is up
 *
 * Context: any.
 * Return: how; SHIMOS_CAUSE_NONE: it did not.
 */
enum shimos_cause kloader_arch_watch(struct partition *p);

#endif
