// SPDX-License-Identifier: GPL-2.0
/* Who has the core: what the architecture's exit.c does, without what it says to the hardware. */
#include "test.h"

bool turns_rtos;
u64 turns_taken;	/* vectors that the RTOS got, a bit each */

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
		layer_rt_exited();
	else
		layer_budget_linux_left();
}

static void to_rtos(void)
{
	int vector;

	if (!turns_rtos)
		layer_rt_enters(0);
	turns_rtos = true;
	layer_timer_look(0);
	vector = layer_rt_take();
	if (vector >= 0)
		turns_taken |= 1ull << vector;
}

static void to_linux(void)
{
	turns_rtos = false;
	layer_timer_look(1);
}

/* And now it is somebody else's. */
void turns_go_on(void)
{
	layer_rt_look();
	if (!layer_rt_wants()) {
		to_linux();
		layer_rt_look();
	}
	if (layer_rt_wants())
		to_rtos();
	if (!turns_rtos)
		layer_rt_leaves();
}
