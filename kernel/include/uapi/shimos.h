/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface of /dev/shimos, between KLoader and the shimos tool: the
 * calls and their numbers.  The headers below have the arguments, each those of
 * one theme; shimos_call.h says what all calls have in common.
 */
#ifndef _UAPI_SHIMOS_H
#define _UAPI_SHIMOS_H

#include <linux/ioctl.h>
#include "shimos_call.h"
#include "shimos_create.h"
#include "shimos_describe.h"
#include "shimos_host.h"
#include "shimos_info.h"
#include "shimos_life.h"
#include "shimos_rt_interrupts.h"
#include "shimos_rt_partition.h"
#include "shimos_status.h"

#define SHIMOS_IOC_MAGIC	0xB7
#define SHIMOS_IOC_INFO		_IOWR(SHIMOS_IOC_MAGIC, 0, struct shimos_info)
#define SHIMOS_IOC_ERROR	_IOWR(SHIMOS_IOC_MAGIC, 1, struct shimos_error)
#define SHIMOS_IOC_CREATE	_IOWR(SHIMOS_IOC_MAGIC, 2, struct shimos_create)
#define SHIMOS_IOC_LOAD		_IOW(SHIMOS_IOC_MAGIC, 3, struct shimos_load)
#define SHIMOS_IOC_START	_IOW(SHIMOS_IOC_MAGIC, 4, struct shimos_target)
/* Ask for an orderly power-off; returns at once. */
#define SHIMOS_IOC_STOP		_IOW(SHIMOS_IOC_MAGIC, 5, struct shimos_target)
/* Park the CPUs now, whatever they do; -EIO: it is stuck, and may be killed again. */
#define SHIMOS_IOC_KILL		_IOW(SHIMOS_IOC_MAGIC, 6, struct shimos_target)
/* Give CPUs and memory back; refused while it runs. */
#define SHIMOS_IOC_DESTROY	_IOW(SHIMOS_IOC_MAGIC, 7, struct shimos_target)
#define SHIMOS_IOC_STATUS	_IOWR(SHIMOS_IOC_MAGIC, 8, struct shimos_status)
#define SHIMOS_IOC_WAIT		_IOWR(SHIMOS_IOC_MAGIC, 9, struct shimos_wait)
/*
 * Returns a file descriptor of the console: reads give the output from the
 * oldest byte still kept, writes are keyboard input, poll works.  After the
 * end of the partition a read returns what is left, then 0; after a restart
 * output continues.
 */
#define SHIMOS_IOC_CONSOLE	_IOW(SHIMOS_IOC_MAGIC, 10, struct shimos_target)
/*
 * Returns a read-only file descriptor of the partition's memory: the file
 * offset is the physical address, use pread.  Addresses outside of the
 * partition's ranges read as end of file; while its memory is protected from the
 * host, reads are refused with -EBUSY.
 */
#define SHIMOS_IOC_MEMORY	_IOW(SHIMOS_IOC_MAGIC, 11, struct shimos_target)
#define SHIMOS_IOC_PCI		_IOW(SHIMOS_IOC_MAGIC, 12, struct shimos_pci)
#define SHIMOS_IOC_RT		_IOWR(SHIMOS_IOC_MAGIC, 13, struct shimos_rt_status)
#define SHIMOS_IOC_RT_LATENCY	_IOWR(SHIMOS_IOC_MAGIC, 14, struct shimos_rt_latency)
#define SHIMOS_IOC_RT_MOVE	_IOW(SHIMOS_IOC_MAGIC, 15, struct shimos_rt_move)
#define SHIMOS_IOC_RT_CHECK	_IOWR(SHIMOS_IOC_MAGIC, 16, struct shimos_rt_check)
#define SHIMOS_IOC_RT_PRIORITY	_IOW(SHIMOS_IOC_MAGIC, 17, struct shimos_rt_priority)
#define SHIMOS_IOC_RT_VECTORS	_IOWR(SHIMOS_IOC_MAGIC, 18, struct shimos_rt_vectors)
#define SHIMOS_IOC_HOST_MOVE	_IOW(SHIMOS_IOC_MAGIC, 19, struct shimos_host_move)
#define SHIMOS_IOC_HOST_CPUS	_IOWR(SHIMOS_IOC_MAGIC, 20, struct shimos_host_cpus)
#define SHIMOS_IOC_HOST_POLICY	_IOWR(SHIMOS_IOC_MAGIC, 21, struct shimos_host_policy)
#define SHIMOS_IOC_HOST_PRIORITY _IOW(SHIMOS_IOC_MAGIC, 22, struct shimos_host_priority)
#define SHIMOS_IOC_PLATFORM	_IOWR(SHIMOS_IOC_MAGIC, 23, struct shimos_platform)
#define SHIMOS_IOC_DESCRIBE	_IOW(SHIMOS_IOC_MAGIC, 24, struct shimos_describe)
#define SHIMOS_IOC_RESIZE	_IOWR(SHIMOS_IOC_MAGIC, 25, struct shimos_resize)

#endif
