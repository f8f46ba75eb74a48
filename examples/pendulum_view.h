/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How a pendulum on a cart looks on a line of a terminal. */
#ifndef _PENDULUM_VIEW_H
#define _PENDULUM_VIEW_H

#include <stdio.h>
#include <string.h>

#include "control.h"

#define VIEW_WIDTH	41	/* characters for the rail, 2 m long */
#define VIEW_GOAL_MM	300
#define VIEW_TURN_MS	2000	/* to one side, and then to the other */

/* Where the cart shall be, so long after the beginning. */
static inline int view_goal(unsigned long ms)
{
	return ms / VIEW_TURN_MS % 2 ? -VIEW_GOAL_MM : VIEW_GOAL_MM;
}

/* A place on the rail, as a character's. */
static inline int view_place(int mm)
{
	int place = VIEW_WIDTH / 2 + mm * (VIEW_WIDTH / 2) / 1000;

	return place < 0 ? 0 : place >= VIEW_WIDTH ? VIEW_WIDTH - 1 : place;
}

static inline char view_pendulum(const struct control_state *state)
{
	if (state->fallen)
		return '_';
	return state->angle_mrad > 100 ? '/' : state->angle_mrad < -100 ? '\\' : '|';
}

static inline void view_print(double seconds, const struct control_state *state)
{
	char rail[VIEW_WIDTH + 1];

	memset(rail, ' ', VIEW_WIDTH);
	rail[VIEW_WIDTH] = '\0';
	rail[view_place(state->goal_mm)] = '.';
	rail[view_place(state->position_mm)] = view_pendulum(state);
	printf("%5.1f s  [%s]  cart %+5d mm, angle %+6.1f deg, at most %u us late%s\n", seconds,
	       rail, state->position_mm, state->angle_mrad * 0.0573, state->late_us,
	       state->fallen ? ": it has fallen" : "");
	fflush(stdout);
}

#endif
