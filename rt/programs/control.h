/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What control.c and a program on the host tell each other, by a channel of IKC's: set points
 * go there, telemetry comes back CONTROL_PER_SECOND times a second.
 */
#ifndef _RT_CONTROL_H
#define _RT_CONTROL_H

#include <linux/types.h>

#define CONTROL_CHANNEL		1	/* on both sides */
#define CONTROL_PER_SECOND	50
#define CONTROL_SLOTS		64
#define CONTROL_SLOT_SIZE	64

enum control_order {
	CONTROL_GOAL = 1,	/* where the cart shall be */
	CONTROL_RAISE,		/* stand the pendulum up again, in the middle */
};

struct control_command {
	__u32 order;		/* enum control_order */
	__s32 goal_mm;
};

struct control_state {
	__u64 ticks;		/* of 1 kHz, since its start */
	__u64 missed;		/* those that were the next one's turn already */
	__u32 late_us;		/* the latest since the last message */
	__u32 fallen;		/* 1: it lies */
	__s32 goal_mm;
	__s32 position_mm;
	__s32 angle_mrad;	/* 0: upright */
	__u32 reserved;
};

#endif
