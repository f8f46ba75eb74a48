// SPDX-License-Identifier: GPL-2.0
/* Who has the core: what the architecture's exit.c does, without what it says to the hardware. */
#include "test.h"

bool turns_rtos;
struct layer_guest *turns_guest;
u64 turns_taken;	/* vectors that an RTOS got, a bit each */

void turns_reset(void)
{
	core_reset();
	turns_rtos = false;
	turns_taken = 0;
	layer_timer_own(1);
}

/* The core is the layer's. */
void turns_exit(void)
{
	if (turns_rtos)
		layer_rt_exited(turns_guest);
	else
		layer_budget_linux_left();
}

/* Each of the two: false if somebody's deadline has come meanwhile. */
static bool to_rtos(struct layer_guest *g)
{
	int vector;

	if (!turns_rtos || turns_guest != g)
		layer_rt_enters(g, 0);
	turns_rtos = true;
	turns_guest = g;
	if (!layer_timer_look_rtos(g))
		return false;
	vector = layer_rt_take(g);
	if (vector >= 0)
		turns_taken |= 1ull << vector;
	return true;
}

static bool to_linux(void)
{
	turns_rtos = false;
	return layer_timer_look() && !layer_guests_look();
}

/* And now it is somebody else's. */
void turns_go_on(void)
{
	struct layer_guest *g;

	do
		g = layer_guests_look();
	while (!(g ? to_rtos(g) : to_linux()));
	if (!turns_rtos)
		layer_rt_leaves();
}
