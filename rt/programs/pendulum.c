// SPDX-License-Identifier: GPL-2.0
#include "pendulum.h"

#define PENDULUM_STEP_US	250
#define PENDULUM_STEP		PENDULUM(0.00025)
#define PENDULUM_GRAVITY	PENDULUM(9.81)
#define PENDULUM_PER_LENGTH	PENDULUM(10)	/* it is 10 cm long */
#define PENDULUM_LYING		PENDULUM(1.0)	/* its angle then */
#define PENDULUM_MOTOR		PENDULUM(30)	/* the most that it can push */

/*
 * They put the poles of the upright pendulum's linear equations at -4, -5, -15 and -16 per
 * second: each disturbance is gone after about one.
 */
#define PENDULUM_BY_POSITION	PENDULUM(48.93)
#define PENDULUM_BY_SPEED	PENDULUM(28.34)
#define PENDULUM_BY_ANGLE	PENDULUM(68.60)
#define PENDULUM_BY_SPIN	PENDULUM(6.83)

static pendulum_fixed pendulum_times(pendulum_fixed a, pendulum_fixed b)
{
	return (__int128)a * b >> 32;
}

static pendulum_fixed pendulum_clamp(pendulum_fixed a, pendulum_fixed limit)
{
	return a > limit ? limit : a < -limit ? -limit : a;
}

/* To three digits for as long as it stands. */
static pendulum_fixed pendulum_sine(pendulum_fixed a)
{
	pendulum_fixed square = pendulum_times(a, a);

	return pendulum_times(a, PENDULUM(1) - pendulum_times(square, PENDULUM(1.0 / 6) -
							      square / 120));
}

static pendulum_fixed pendulum_cosine(pendulum_fixed a)
{
	pendulum_fixed square = pendulum_times(a, a);

	return PENDULUM(1) - square / 2 + pendulum_times(square, square) / 24;
}

static void pendulum_step(struct pendulum *p)
{
	pendulum_fixed turn = pendulum_times(PENDULUM_GRAVITY, pendulum_sine(p->angle)) -
			      pendulum_times(p->push, pendulum_cosine(p->angle));

	p->spin += pendulum_times(pendulum_times(turn, PENDULUM_PER_LENGTH), PENDULUM_STEP);
	p->angle += pendulum_times(p->spin, PENDULUM_STEP);
	p->speed += pendulum_times(p->push, PENDULUM_STEP);
	p->position += pendulum_times(p->speed, PENDULUM_STEP);
	if (p->angle != pendulum_clamp(p->angle, PENDULUM_LYING) ||
	    p->position != pendulum_clamp(p->position, PENDULUM_RAIL))
		p->fallen = true;
}

void pendulum_pass(struct pendulum *p, uint64_t us)
{
	if (us > PENDULUM_LONGEST_US)
		p->fallen = true;
	for (; us && !p->fallen; us -= us < PENDULUM_STEP_US ? us : PENDULUM_STEP_US)
		pendulum_step(p);
}

void pendulum_balance(struct pendulum *p, pendulum_fixed goal)
{
	pendulum_fixed push, away = p->position - pendulum_clamp(goal, PENDULUM_RAIL / 2);

	if (p->fallen)
		return;
	push = pendulum_times(PENDULUM_BY_POSITION, away) +
	       pendulum_times(PENDULUM_BY_SPEED, p->speed) +
	       pendulum_times(PENDULUM_BY_ANGLE, p->angle) +
	       pendulum_times(PENDULUM_BY_SPIN, p->spin);
	p->push = pendulum_clamp(push, PENDULUM_MOTOR);
}
