// SPDX-License-Identifier: GPL-2.0
/* The pendulum that rt/programs/control.c balances: it stands if it is looked after, and only then. */
#include <math.h>
#include "pendulum.h"
#include "test.h"

#define GOAL	PENDULUM(0.2)

/* Seconds during which it is balanced each @period_us, but for the last @away_us of each second. */
static struct pendulum balanced(unsigned int seconds, unsigned int period_us, unsigned int away_us)
{
	struct pendulum p = { 0 };
	unsigned int second, us;

	for (second = 0; second < seconds; second++) {
		for (us = 0; us < 1000000; us += period_us) {
			pendulum_pass(&p, period_us);
			if (us < 1000000 - away_us)
				pendulum_balance(&p, second % 2 ? GOAL : -GOAL);
		}
	}
	return p;
}

static bool near(pendulum_fixed a, pendulum_fixed b, pendulum_fixed limit)
{
	return a - b < limit && b - a < limit;
}

/* It falls as the equations say, while the cart is pulled away below it. */
static void falls_as_calculated(double push)
{
	struct pendulum p = { .angle = PENDULUM(0.1), .push = PENDULUM(push) };
	double angle = 0.1, spin = 0, step = 0.00025;
	unsigned int steps;

	for (steps = 0; angle < 0.9; steps++) {
		spin += (9.81 * sin(angle) - push * cos(angle)) * 10 * step;
		angle += spin * step;
	}
	pendulum_pass(&p, steps * 250);
	CHECK(!p.fallen && near(p.angle, PENDULUM(angle), PENDULUM(0.001)));
	CHECK(near(p.position, PENDULUM(push * steps * step * steps * step / 2), PENDULUM(0.001)));
}

void test_pendulum(void)
{
	struct pendulum p = { 0 }, leaning = { .angle = PENDULUM(0.001) };
	struct pendulum rolling = { .speed = PENDULUM(2) };
	unsigned int ms;

	falls_as_calculated(-0.5);
	falls_as_calculated(-8);
	/* off the rail; and the motor does what it can and no more */
	pendulum_pass(&rolling, 600000);
	CHECK(rolling.fallen && !rolling.angle);
	p.angle = PENDULUM(0.9);
	pendulum_balance(&p, 0);
	CHECK(p.push == PENDULUM(30));
	p.angle = 0;
	p.push = 0;

	/* upright and left alone it stands, and with the slightest lean it falls, to that side */
	pendulum_pass(&p, 1000000);
	CHECK(!p.fallen && !p.angle && !p.position);
	pendulum_pass(&leaning, 1000000);
	CHECK(leaning.fallen && leaning.angle > PENDULUM(0.9));

	/* 1 kHz, a minute: it goes where it shall */
	p = balanced(60, 1000, 0);
	CHECK(!p.fallen && near(p.position, GOAL, PENDULUM(0.05)));
	CHECK(near(p.angle, 0, PENDULUM(0.05)));
	/* 2 ms late again and again is nothing to it, half a second is */
	CHECK(!balanced(60, 2000, 0).fallen);
	CHECK(balanced(60, 1000, 500000).fallen);

	/* pushed, it comes back to the middle */
	p = (struct pendulum) { .spin = PENDULUM(1.5) };
	for (ms = 0; ms < 3000; ms++) {
		pendulum_balance(&p, 0);
		pendulum_pass(&p, 1000);
	}
	CHECK(!p.fallen && near(p.position, 0, PENDULUM(0.01)));

	/* a goal beyond the rail is no reason to leave it */
	p = (struct pendulum) { 0 };
	for (ms = 0; ms < 5000; ms++) {
		pendulum_balance(&p, INT64_MAX / 2);
		pendulum_pass(&p, 1000);
	}
	CHECK(!p.fallen && near(p.position, PENDULUM_RAIL / 2, PENDULUM(0.01)));

	/* nobody was there for a long time; and nothing raises it again */
	p = (struct pendulum) { 0 };
	pendulum_pass(&p, UINT64_MAX);
	CHECK(p.fallen);
	pendulum_balance(&leaning, GOAL);
	pendulum_pass(&leaning, 1000);
	CHECK(leaning.fallen && !leaning.push);
}
