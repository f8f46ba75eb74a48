/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pendulum that stands on a cart and falls if nobody balances it: the thing to control, made
 * up by calculation, and its controller.  In fixed point: a real-time program has no other.
 */
#ifndef _RT_PENDULUM_H
#define _RT_PENDULUM_H

#include <stdbool.h>
#include <stdint.h>

/* Metres, radians, seconds: 32 bits before the point, 32 behind it. */
typedef int64_t pendulum_fixed;
#define PENDULUM(number)	((pendulum_fixed)((number) * 4294967296.0))

/* In millimetres or milliradians, and from there. */
static inline int32_t pendulum_thousandths(pendulum_fixed number)
{
	return number * 1000 >> 32;
}

static inline pendulum_fixed pendulum_of_thousandths(int32_t number)
{
	return number * PENDULUM(1) / 1000;
}

#define PENDULUM_RAIL		PENDULUM(1.0)	/* to either side of 0 */
#define PENDULUM_LONGEST_US	1000000		/* nobody controls it for so long: it has fallen */

struct pendulum {
	pendulum_fixed position, speed;		/* of the cart */
	pendulum_fixed angle, spin;		/* 0: upright */
	pendulum_fixed push;			/* the motor's: acceleration of the cart */
	bool fallen;				/* or it has left the rail; for good */
};

/**
 * pendulum_pass() - let time go by; the motor does what it was told last
 * @us: microseconds, any number
 */
void pendulum_pass(struct pendulum *p, uint64_t us);

/**
 * pendulum_balance() - tell the motor what to do now
 * @goal: where the cart shall be; beyond half the rail is cut off
 */
void pendulum_balance(struct pendulum *p, pendulum_fixed goal);

#endif
