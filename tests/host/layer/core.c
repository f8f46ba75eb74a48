// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of a core that the layer's logic sees: a clock, a timer, the pages that Linux
 * writes, and the memory that all cores have in common.
 */
#include "test.h"

struct layer_shared layer_shared_page;
u64 layer_coming[LAYER_CORES];
struct layer_guest_page layer_guest_pages[LAYER_GUESTS];
struct x86_guest core_memory[LAYER_GUESTS];
struct layer_host_page layer_host_pages[LAYER_HOSTS];
struct x86_host core_host_memory[LAYER_HOSTS];
bool core_host_pending[LAYER_HOSTS];
bool core_host_goes[LAYER_HOSTS];
unsigned int core_host_ticked[LAYER_HOSTS];
unsigned int core_came;
u64 core_now, core_ticks, core_fires, core_rang;
u32 core_step;
unsigned int core_ticked, core_rings;

void core_reset(void)
{
	unsigned int i;

	memset(&core_shared, 0, sizeof(core_shared));
	for (i = 0; i < LAYER_GUESTS; i++)
		layer_guests_end(i);
	memset(core_memory, 0, sizeof(core_memory));
	memset(layer_guest_pages, 0, sizeof(layer_guest_pages));
	memset(layer_coming, 0, sizeof(layer_coming));
	layer_params.core = CORE_NUMBER;
	/* as layer_guests_begin() has it */
	core_first->shared = &core_first_shared;
	layer_params.timer_scale = (1ull << 32) / CORE_CYCLES_PER_TICK;
	core_now = 1ull << 40;
	core_step = 0;
	core_ticks = 0;
	core_ticked = 0;
	core_rang = 0;
	core_rings = 0;
	core_came = 0;
	layer_timer_own(0);
}

/* The first RTOS is new. */
void core_begin(const struct layer_rt_start *start)
{
	layer_guests_end(0);
	core_first_shared.start = *start;
	layer_guests_begin(0);
}

struct layer_guest *layer_arch_guest(u64 number)
{
	MUST(number < LAYER_GUESTS);
	return core_guest(number);
}

void layer_arch_guest_begin(struct layer_guest *g, const struct layer_rt_start *start)
{
	x86_guest(g)->vcpu.guest = x86_guest(g);
}

void layer_arch_guest_comes(struct layer_guest *g)
{
	core_came++;
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

struct layer_host *layer_arch_host(u64 number)
{
	MUST(number < LAYER_HOSTS);
	return core_host(number);
}

void layer_arch_host_comes(struct layer_host *h)
{
}

void layer_arch_host_ends(struct layer_host *h)
{
}

int layer_arch_host_goes(struct layer_host *h)
{
	return core_host_goes[h->home];
}

int layer_arch_host_pending(struct layer_host *h)
{
	return core_host_pending[h->home];
}

void layer_arch_host_tick(struct layer_host *h)
{
	core_host_ticked[h->home]++;
	core_host_pending[h->home] = true;
}
