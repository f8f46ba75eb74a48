// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same pendulum and controller as rt/programs/control.c, without a partition: a program of
 * Linux's with the highest real-time priority.
 *
 *	pendulum_linux CPU SECONDS
 *
 * Fails if the pendulum falls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "pendulum.h"
#include "pendulum_view.h"

#define LINE_TICKS	250

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_until(uint64_t us)
{
	struct timespec then = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

static int go_first(int cpu)
{
	struct sched_param param = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ||
	       sched_setscheduler(0, SCHED_FIFO, &param) || mlockall(MCL_CURRENT | MCL_FUTURE);
}

static void show(const struct pendulum *p, uint64_t tick, int goal_mm, uint32_t late_us)
{
	struct control_state state = {
		.late_us = late_us,
		.fallen = p->fallen,
		.goal_mm = goal_mm,
		.position_mm = pendulum_thousandths(p->position),
		.angle_mrad = pendulum_thousandths(p->angle),
	};

	view_print((double)tick / 1000, &state);
}

static int balance(unsigned int ticks)
{
	uint64_t due = now_us(), last = due, now, tick, late = 0;
	struct pendulum p = { 0 };
	int goal_mm;

	for (tick = 0; tick < ticks && !p.fallen; tick++) {
		goal_mm = view_goal(tick);
		due += 1000;
		sleep_until(due);
		now = now_us();
		late = now - due > late ? now - due : late;
		pendulum_pass(&p, now - last);
		pendulum_balance(&p, pendulum_of_thousandths(goal_mm));
		last = now;
		if (tick % LINE_TICKS == 0 || p.fallen) {
			show(&p, tick, goal_mm, (uint32_t)late);
			late = 0;
		}
	}
	printf("%s after %llu ticks\n", p.fallen ? "fallen" : "standing", (unsigned long long)tick);
	return p.fallen ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc != 3 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: pendulum_linux CPU SECONDS\n");
		return 2;
	}
	if (go_first(atoi(argv[1]))) {
		perror("pendulum_linux: no real-time priority on that CPU");
		return 2;
	}
	return balance((unsigned int)atoi(argv[2]) * 1000);
}
