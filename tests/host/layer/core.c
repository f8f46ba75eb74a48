// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of a core that timer.c, rt.c and budget.c see: a clock, a timer, the page that
 * Linux writes.
 */
#include "test.h"

struct layer_params layer_params;
struct layer_shared core_shared;
u64 core_now, core_ticks, core_fires, core_rang;
u32 core_step;
unsigned int core_ticked, core_rings;

void core_reset(void)
{
	memset(&core_shared, 0, sizeof(core_shared));
	layer_params.shared = (u64)&core_shared;
	layer_params.timer_scale = (1ull << 32) / CORE_CYCLES_PER_TICK;
	core_now = 1ull << 40;
	core_step = 0;
	core_ticks = 0;
	core_ticked = 0;
	core_rang = 0;
	core_rings = 0;
	layer_timer_own(0);
	layer_rt_end(LAYER_RT_NONE, 0, 0, 0);
}

u64 layer_arch_now(void)
{
	if (core_step)
		core_now += random_below(core_step);
	return core_now;
}

void layer_arch_arm(u64 ticks)
{
	/* the hardware counts 32 bits, and takes 0 for off */
	MUST(ticks && ticks <= UINT32_MAX);
	core_ticks = ticks;
	core_fires = core_now + ticks * CORE_CYCLES_PER_TICK;
}

void layer_arch_disarm(void)
{
	core_ticks = 0;
}

void layer_arch_tick(void)
{
	core_ticked++;
}

void layer_arch_ring(u64 bell)
{
	core_rang = bell;
	core_rings++;
}
