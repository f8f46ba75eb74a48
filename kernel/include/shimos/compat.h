/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels we support (6.1, 6.12, 7.2 and 7.3), in one place.
 * What only assembly or only x86 knows is in compat_asm.h, compat_x86.h, compat_x86_msi.h
 * and compat_page_pool.h.
 */
#ifndef _SHIMOS_COMPAT_H
#define _SHIMOS_COMPAT_H

#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/kmsg_dump.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/syscore_ops.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define compat_class_create(name)	class_create(THIS_MODULE, name)
#else
#define compat_class_create(name)	class_create(name)
#endif

/* tty and console writes took int and unsigned char before 6.6 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
typedef int compat_tty_ssize;
typedef int compat_tty_size;
#else
typedef ssize_t compat_tty_ssize;
typedef size_t compat_tty_size;
#endif

/* flags of a mapping were set directly before 6.3 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define compat_vm_flags_set(vma, flags)	((vma)->vm_flags |= (flags))
#else
#define compat_vm_flags_set(vma, flags)	vm_flags_set(vma, flags)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define compat_eventfd_signal(eventfd)	eventfd_signal(eventfd, 1)
#else
#define compat_eventfd_signal(eventfd)	eventfd_signal(eventfd)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define compat_iommu_map(domain, iova, addr, size, prot) \
	iommu_map(domain, iova, addr, size, prot)
#else
#define compat_iommu_map(domain, iova, addr, size, prot) \
	iommu_map(domain, iova, addr, size, prot, GFP_KERNEL)
#endif

/* of a bus, not of a device, before 6.11; NULL, or an error as a pointer */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define compat_iommu_domain_alloc(dev)	iommu_domain_alloc((dev)->bus)
#else
#define compat_iommu_domain_alloc(dev)	iommu_paging_domain_alloc(dev)
#endif

/* what a driver says of its virtqueues became one array of structures in 6.11 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define COMPAT_FIND_VQS_ARGS \
	struct virtio_device *vdev, unsigned int count, struct virtqueue *vqs[], \
	vq_callback_t *callbacks[], const char *const names[], const bool *contexts, \
	struct irq_affinity *affinity
#define compat_vq_name(n)	(names[n])
#define compat_vq_callback(n)	(callbacks[n])
#define compat_vq_context(n)	(contexts ? contexts[n] : false)
#else
#define COMPAT_FIND_VQS_ARGS \
	struct virtio_device *vdev, unsigned int count, struct virtqueue *vqs[], \
	struct virtqueue_info infos[], struct irq_affinity *affinity
#define compat_vq_name(n)	(infos[n].name)
#define compat_vq_callback(n)	(infos[n].callback)
#define compat_vq_context(n)	(infos[n].ctx)
#endif

/* 6.1 does not declare them for a kernel without: Debian's for clouds on arm64 */
#ifdef CONFIG_ZONE_DEVICE
#define compat_memremap_pages(map, node)	memremap_pages(map, node)
#define compat_memunmap_pages(map)		memunmap_pages(map)
#else

/**
 * compat_memremap_pages() - memremap_pages(), where there is none
 * @map: as there
 * @node: as there
 *
 * Return: -EOPNOTSUPP.
 */
static inline void *compat_memremap_pages(struct dev_pagemap *map, int node)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/**
 * compat_memunmap_pages() - memunmap_pages(), where there is none
 * @map: as there
 */
static inline void compat_memunmap_pages(struct dev_pagemap *map)
{
}
#endif

/* struct fd hides its file since 6.12 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define compat_fd_file(f)	((f).file)
#else
#define compat_fd_file(f)	fd_file(f)
#endif

/**
 * struct compat_bdev - an open block device
 * @bdev: the device
 * @mode: how it was opened, before 6.9
 * @file: by which it is open, since 6.9
 *
 * A block device is opened by mode, and since 6.9 as a file.
 */
struct compat_bdev {
	struct block_device *bdev;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	fmode_t mode;
#else
	struct file *file;
#endif
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/**
 * compat_bdev_open() - open a block device, and claim it
 * @b: gets it
 * @dev: its number
 * @write: to be written, too
 * @holder: who claims it
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
static inline int compat_bdev_open(struct compat_bdev *b, dev_t dev, bool write, void *holder)
{
	b->mode = FMODE_READ | FMODE_EXCL | (write ? FMODE_WRITE : 0);
	b->bdev = blkdev_get_by_dev(dev, b->mode, holder);
	return PTR_ERR_OR_ZERO(b->bdev);
}

/**
 * compat_bdev_close() - undo compat_bdev_open()
 * @b: open
 *
 * Context: may sleep.
 */
static inline void compat_bdev_close(struct compat_bdev *b)
{
	blkdev_put(b->bdev, b->mode);
}
#else
static inline int compat_bdev_open(struct compat_bdev *b, dev_t dev, bool write, void *holder)
{
	b->file = bdev_file_open_by_dev(dev, BLK_OPEN_READ | (write ? BLK_OPEN_WRITE : 0),
					holder, NULL);
	if (IS_ERR(b->file))
		return PTR_ERR(b->file);
	b->bdev = file_bdev(b->file);
	return 0;
}

static inline void compat_bdev_close(struct compat_bdev *b)
{
	bdev_fput(b->file);
}
#endif

/* what is told that a packet's pages are free became a structure in 6.10 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define compat_ubuf_init(ubuf, function)	((ubuf)->callback = (function))
#else
#define compat_ubuf_init(ubuf, function)	do {				\
	static const struct ubuf_info_ops ops_ = { .complete = (function) };	\
										\
	(ubuf)->ops = &ops_;							\
} while (0)
#endif

/* the system core's operations got an object around them; see agent/Kbuild */
#ifdef COMPAT_STRUCT_SYSCORE
#define COMPAT_SYSCORE_ARGS	void *data
/* one object, as there is one user: the agent */
static struct syscore compat_syscore __maybe_unused;

/**
 * compat_register_syscore_ops() - register_syscore_ops()
 * @ops: the agent's
 *
 * Context: may sleep.
 */
static inline void compat_register_syscore_ops(struct syscore_ops *ops)
{
	compat_syscore.ops = ops;
	register_syscore(&compat_syscore);
}

/**
 * compat_unregister_syscore_ops() - unregister_syscore_ops()
 * @ops: the agent's; nothing is done if they were not registered
 *
 * Context: may sleep.
 */
static inline void compat_unregister_syscore_ops(struct syscore_ops *ops)
{
	if (compat_syscore.ops == ops)
		unregister_syscore(&compat_syscore);
}
#else
#define COMPAT_SYSCORE_ARGS	void
#define compat_register_syscore_ops(syscore_ops)	\
	register_syscore_ops(syscore_ops)
#define compat_unregister_syscore_ops(syscore_ops)	\
	unregister_syscore_ops(syscore_ops)
#endif

/* a timer gets its function where everything else is set since 6.13; 6.15 has no other way */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define compat_hrtimer_setup(timer, callback, clock, mode)	do {	\
	struct hrtimer *timer_ = (timer);				\
									\
	hrtimer_init(timer_, clock, mode);				\
	timer_->function = (callback);					\
} while (0)
#else
#define compat_hrtimer_setup(timer, callback, clock, mode)	\
	hrtimer_setup(timer, callback, clock, mode)
#endif

/*
 * The first move of an interrupt to another CPU waited until it happened, unless this was
 * set; since 6.15 it is the other way round, and a chip says so if it must wait.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define compat_irq_move_at_once(irq)	irq_set_status_flags(irq, IRQ_MOVE_PCNTXT)
#else
#define compat_irq_move_at_once(irq)	((void)(irq))
#endif

/* the old names of two work queues are complained of in 7.3, which has new ones */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define compat_system_percpu_wq	system_wq
#define compat_system_dfl_wq	system_unbound_wq
#else
#define compat_system_percpu_wq	system_percpu_wq
#define compat_system_dfl_wq	system_dfl_wq
#endif

/* pages that a driver can move say so by their type since 6.17 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define compat_page_movable(page)	__PageMovable(page)
#else
#define compat_page_movable(page)	page_has_movable_ops(page)
#endif

/* the dump callback got a detail structure in 6.12 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define COMPAT_KMSG_DUMP_ARGS \
	struct kmsg_dumper *dumper, enum kmsg_dump_reason reason
#define COMPAT_KMSG_DUMP_REASON	reason
#else
#define COMPAT_KMSG_DUMP_ARGS \
	struct kmsg_dumper *dumper, struct kmsg_dump_detail *detail
#define COMPAT_KMSG_DUMP_REASON	(detail->reason)
#endif

/* whether a device may go offline: a member in 6.12, a flag in 7.2 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define compat_keep_online(dev, keep)	((dev)->offline_disabled = (keep))
#else
#define compat_keep_online(dev, keep)	dev_assign_offline_disabled(dev, keep)
#endif

/* the driver override moved from struct pci_dev to struct device; see kloader/Kbuild */
#ifdef COMPAT_DEVICE_DRIVER_OVERRIDE
#define compat_set_driver_override(pdev, name)	\
	device_set_driver_override(&(pdev)->dev, name)
#define compat_has_driver_override(pdev)	\
	(!!READ_ONCE((pdev)->dev.driver_override.name))
#else
#define compat_set_driver_override(pdev, name)	\
	driver_set_override(&(pdev)->dev, &(pdev)->driver_override, name, strlen(name))
#define compat_has_driver_override(pdev)	(!!(pdev)->driver_override)
#endif

#endif
