/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: the echo service, which every kernel has behind a
 * channel of its own.
 */
#ifndef _UAPI_SHIMOS_IKC_ECHO_H
#define _UAPI_SHIMOS_IKC_ECHO_H

#include <linux/types.h>
#include "shimos_ikc_limits.h"

#define IKC_ECHO_CHANNEL	(IKC_CHANNELS - 1)

/**
 * enum ikc_echo_op - what is asked for
 * @IKC_ECHO: send the message back
 * @IKC_SINK: count it
 * @IKC_COUNT: send back how many were counted, and begin at 0
 */
enum ikc_echo_op {
	IKC_ECHO = 0,
	IKC_SINK,
	IKC_COUNT,
};

/**
 * struct ikc_echo_message - begins each message
 * @op: enum ikc_echo_op
 * @channel: the sender's, for the answer
 * @reserved: not used
 * @cookie: comes back; the count for IKC_COUNT
 * @bytes: the same for bytes, IKC_COUNT
 *
 * The answer goes to the channel it names.
 */
struct ikc_echo_message {
	__u16 op;
	__u16 channel;
	__u32 reserved;
	__u64 cookie;
	__u64 bytes;
};

#endif
