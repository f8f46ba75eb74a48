/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: its version, and how much there is of everything.
 */
#ifndef _UAPI_SHIMOS_IKC_LIMITS_H
#define _UAPI_SHIMOS_IKC_LIMITS_H

#define IKC_VERSION		4

#define IKC_MAX_KERNELS		16	/* kernel 0 is the host */
#define IKC_QUEUES		64	/* per kernel; see below */
#define IKC_CHANNELS		32	/* the upper half is user programs' */
#define IKC_FIRST_CHANNEL	(IKC_QUEUES - IKC_CHANNELS)
#define IKC_MAX_BELLS		8
#define IKC_MAX_RANGES		16
#define IKC_MAX_CPUS		64	/* of one kernel */
#define IKC_NAME_LEN		32	/* with the final NUL */
#define IKC_HOST_NAME		"host"	/* kernel 0; no partition is called so */

#endif
