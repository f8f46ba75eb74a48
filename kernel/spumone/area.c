// SPDX-License-Identifier: GPL-2.0
/*
 * IKC's area, which every RTOS sees above its own memory.  A chunk that comes while it runs
 * is mapped first, and told to it after that; chunks stay for as long as there is an RTOS.
 */
#include <linux/mm.h>
#include <uapi/shimos_ikc.h>
#include <uapi/shimos_rt.h>

#include "spumone.h"

static u64 area_chunk[IKC_MAX_CHUNKS];	/* physical addresses; launch_mutex guards both */
static u32 area_chunks;

/**
 * area_add() - RTOSes can see one more chunk of IKC's area
 * @chunk: its number, the next one
 * @physical: its address
 *
 * Context: launch_mutex.
 */
void area_add(unsigned int chunk, u64 physical)
{
	if (WARN_ON(chunk != area_chunks || chunk >= IKC_MAX_CHUNKS))
		return;
	area_chunk[area_chunks++] = physical;
}

/**
 * area_forget() - the area goes, and no RTOS sees it
 *
 * Context: launch_mutex.
 */
void area_forget(void)
{
	area_chunks = 0;
}

/**
 * area_show() - let an RTOS see all of the area that there is
 * @g: its memory is filled
 *
 * Context: launch_mutex; may sleep.
 * Return: 0 or -ENOMEM: then it sees what it saw before.
 */
int area_show(struct spumone_guest *g)
{
	struct shimos_rt_boot *boot = g->memory + SHIMOS_RT_BOOT;
	int ret = 0;

	for (; !ret && g->chunks < area_chunks; g->chunks += !ret)
		ret = spumone_arch_map(&g->tables,
				       SHIMOS_RT_IKC + (u64)g->chunks * IKC_CHUNK_SIZE,
				       area_chunk[g->chunks],
				       SPUMONE_WRITE | SPUMONE_NESTED | SPUMONE_LARGE);
	/* pairs with the program's acquire: it finds what it is told of */
	smp_store_release(&boot->ikc_chunks, g->chunks);
	return ret;
}
