// SPDX-License-Identifier: GPL-2.0
/*
 * All CPUs of this kernel under the layer, so that memory can be hidden from all of it: a
 * CPU that runs natively sees everything.
 */
#include <linux/cpu.h>
#include <linux/module.h>

#include "spumone.h"

static unsigned int guard_users;	/* launch_mutex */

/* CPUs that nobody has asked for run natively again. */
static void guard_end(void)
{
	struct spumone_cpu *s;
	unsigned int cpu;

	protect_end();
	for_each_possible_cpu(cpu) {
		s = per_cpu(launch_cpus, cpu);
		if (s && !s->asked)
			launch_remove(s);
	}
}

static int guard_begin(struct complaint *c)
{
	unsigned int cpu;
	int ret = spumone_arch_check_protect(c);

	if (ret)
		return ret;
	for_each_online_cpu(cpu)
		ret = ret ?: launch_guard(cpu, c);
	if (!ret && protect_begin())
		ret = shimos_refuse(c, -ENOMEM, "the host has no memory left for page tables");
	if (ret)
		guard_end();
	return ret;
}

int spumone_protect(struct complaint *c)
{
	int ret = launch_lock_all(c);

	if (ret)
		return ret;
	if (!guard_users)
		ret = guard_begin(c);
	guard_users += !ret;
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_protect);

void spumone_unprotect(void)
{
	launch_lock();
	if (!--guard_users)
		guard_end();
	launch_unlock();
}
EXPORT_SYMBOL_GPL(spumone_unprotect);

u64 spumone_faults(void)
{
	u64 faults;

	mutex_lock(&launch_mutex);
	faults = protect_faults();
	mutex_unlock(&launch_mutex);
	return faults;
}
EXPORT_SYMBOL_GPL(spumone_faults);

int spumone_hidden(int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	int ret;

	launch_lock();
	ret = protect_look(visit, arg);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_hidden);
