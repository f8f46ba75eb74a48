// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that comes and goes while this kernel runs.
 *
 * KLoader's memhp_default_state= has it put to use at once, as memory for what can be moved,
 * so that it can go again.
 */
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sizes.h>

#include "agent.h"

#if IS_ENABLED(CONFIG_MEMORY_HOTREMOVE)

#define KEEP	SZ_32M		/* that leaving leaves to this kernel */

/* It would try for ever to move what there is no room for. */
static int agent_memory_leave(u64 start, u64 size)
{
	if (((u64)si_mem_available() << PAGE_SHIFT) < size + KEEP)
		return -ENOMEM;
	return offline_and_remove_memory(start, size);
}

/**
 * agent_memory_step() - memory comes and goes in multiples of it
 *
 * Context: any.
 * Return: bytes; 0: it does not.
 */
u64 agent_memory_step(void)
{
	return memory_block_size_bytes();
}

/**
 * agent_memory_resize() - take memory, or leave it
 * @start: its address, a multiple of the step
 * @size: of it, another one
 * @add: take it
 *
 * Context: process; may sleep for as long as what is in it cannot be moved.
 * Return: 0 or an error.
 */
int agent_memory_resize(u64 start, u64 size, bool add)
{
	if (add)
		return add_memory_driver_managed(first_online_node, start, size, "System RAM (shimos)",
						 MHP_NONE);
	return agent_memory_leave(start, size);
}

#else

u64 agent_memory_step(void)
{
	return 0;
}

int agent_memory_resize(u64 start, u64 size, bool add)
{
	return -EOPNOTSUPP;
}

#endif
