// SPDX-License-Identifier: GPL-2.0
/* The host gives this kernel a CPU or memory, or wants some back. */
#include <linux/workqueue.h>

#include "agent.h"

static int agent_resize_what(void)
{
	u64 start = READ_ONCE(agent_shared->resize_start), size = READ_ONCE(agent_shared->resize_size);
	u64 cpu = READ_ONCE(agent_shared->resize_cpu);

	switch (READ_ONCE(agent_shared->resize_what)) {
	case SHIMOS_RESIZE_ADD_CPU:
		return agent_cpus_resize(cpu, true);
	case SHIMOS_RESIZE_REMOVE_CPU:
		return agent_cpus_resize(cpu, false);
	case SHIMOS_RESIZE_ADD_MEMORY:
		return agent_memory_resize(start, size, true);
	case SHIMOS_RESIZE_REMOVE_MEMORY:
		return agent_memory_resize(start, size, false);
	default:
		return -EINVAL;
	}
}

static void agent_resize_now(struct work_struct *work)
{
	u32 number = READ_ONCE(agent_shared->resize_number);

	WRITE_ONCE(agent_shared->resize_error, agent_resize_what());
	/* pairs with resize_answer() in KLoader: the number says that the error is there */
	smp_store_release(&agent_shared->resized, number);
	agent_ring_host();
}
static DECLARE_WORK(agent_resize_work, agent_resize_now);

/**
 * agent_resize() - do what the host asks for, and say what came of it, soon
 *
 * Not in the caller's thread: to empty memory may take long, and a power-off does not wait for it.
 *
 * Context: process.
 */
void agent_resize(void)
{
	queue_work(system_long_wq, &agent_resize_work);
}
