/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels we support (6.1 and 6.12), in one place.
 */
#ifndef _SHIMOS_COMPAT_H
#define _SHIMOS_COMPAT_H

#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/kmsg_dump.h>
#include <linux/mm.h>
#include <linux/version.h>

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

/* the system core's operations got an object around them; see agent/Kbuild */
#ifdef COMPAT_STRUCT_SYSCORE
#define COMPAT_SYSCORE_ARGS	void *data
#define compat_register_syscore_ops(syscore_ops)	do {	\
	static struct syscore syscore_ = { .ops = syscore_ops };	\
								\
	register_syscore(&syscore_);				\
} while (0)
#else
#define COMPAT_SYSCORE_ARGS	void
#define compat_register_syscore_ops(syscore_ops)	\
	register_syscore_ops(syscore_ops)
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

#endif
