/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: what kernels write into each other's queues.
 */
#ifndef _UAPI_SHIMOS_IKC_PACKET_H
#define _UAPI_SHIMOS_IKC_PACKET_H

#include <linux/types.h>

/**
 * struct ikc_packet - a packet (SHIMOS 2009, figure 3)
 * @cmd: NetworkPacket, BlockRead, …: the queue's users agree
 * @sender: kernel number; ikc_read() fills in the true one
 * @flags: IKC_DATA_*
 * @param: depends on @cmd
 * @data: offset or physical address, see @flags
 * @size: bytes at @data
 * @reserved: not used
 *
 * The paper's fields, with @data as wide as an address and a length beside it.
 */
struct ikc_packet {
	__u16 cmd;
	__u16 sender;
	__u32 flags;
	__u32 param[6];
	__u64 data;
	__u32 size;
	__u32 reserved;
};

/* Shared-memory transfer (section 2.2.1): a block of the area changes hands. */
#define IKC_DATA_SHARED		(1U << 0)
/* Page transfer (section 2.2.2): the sender's own memory, physical address. */
#define IKC_DATA_PAGE		(1U << 1)

#endif
