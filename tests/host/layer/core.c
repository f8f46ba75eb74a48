// SPDX-License-Identifier: GPL-2.0
/* The parts of a core that timer.c and rt.c see: a clock, a timer, the page that Linux writes. */
#include "test.h"

struct layer_params layer_params;
struct layer_shared core_shared;
u64 core_now, core_ticks, core_rang;
unsigned int core_ticked, core_rings;

void core_reset(void)
{
	memset(&core_shared, 0, sizeof(core_shared));
	layer_params.shared = (u64)&core_shared;
	layer_params.timer_scale = 1ull << 32 >> 4;	/* 16 cycles a tick */
	core_now = 1ull << 40;
	core_ticks = 0;
	core_ticked = 0;
	core_rang = 0;
	core_rings = 0;
	layer_timer_own(0);
	layer_rt_end(LAYER_RT_NONE, 0, 0, 0);
}

u64 layer_arch_now(void)
{
	return core_now;
}

void layer_arch_arm(u64 ticks)
{
	/* the hardware counts 32 bits, and takes 0 for off */
	MUST(ticks && ticks <= UINT32_MAX);
	core_ticks = ticks;
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
