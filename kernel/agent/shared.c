// SPDX-License-Identifier: GPL-2.0
/* The area that the agent shares with KLoader. */
#include <linux/io.h>
#include <shimos/ikc.h>

#include "agent.h"

struct shimos_shared *agent_shared;

/**
 * agent_ring_host() - ring KLoader
 *
 * Context: any.
 */
void agent_ring_host(void)
{
	ikc_bell_ring(READ_ONCE(agent_shared->host_bell));
}

/**
 * agent_shared_map() - find the area shared with KLoader, map and check it
 *
 * Says in the log what is wrong.
 *
 * Context: process; may sleep.
 * Return: 0; -EPROTO: KLoader is of another release; -ENOMEM; or as agent_arch_find_shared().
 */
int agent_shared_map(void)
{
	u64 addr, size;
	int ret;

	ret = agent_arch_find_shared(&addr, &size);
	if (ret) {
		pr_err("this kernel was not started by KLoader\n");
		return ret;
	}
	agent_shared = memremap(addr, size, MEMREMAP_WB);
	if (!agent_shared)
		return -ENOMEM;
	if (agent_shared->magic != SHIMOS_SHARED_MAGIC ||
	    agent_shared->version != SHIMOS_SHARED_VERSION ||
	    agent_shared->size != SHIMOS_SHARED_SIZE || size < SHIMOS_SHARED_SIZE) {
		pr_err("KLoader's shared area has version %u and %u bytes, the agent knows version %u with %u: install the same release on both sides\n",
		       agent_shared->version, agent_shared->size,
		       SHIMOS_SHARED_VERSION, SHIMOS_SHARED_SIZE);
		agent_shared_unmap();
		return -EPROTO;
	}
	return 0;
}

/**
 * agent_shared_unmap() - undo agent_shared_map()
 *
 * Context: process; nothing uses the area any more.
 */
void agent_shared_unmap(void)
{
	memunmap(agent_shared);
	agent_shared = NULL;
}
