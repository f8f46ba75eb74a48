// SPDX-License-Identifier: GPL-2.0
/* What other modules ask of this kernel's own CPUs: where they are, and where they shall be. */
#include <linux/cpu.h>
#include <linux/module.h>

#include "spumone.h"

/**
 * host_ask_both() - the layer is under two CPUs, for one is wanted on the other one's core
 * @cpu: the one that is wanted elsewhere
 * @core: where
 * @c: why not
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or an error: as before.
 */
int host_ask_both(unsigned int cpu, unsigned int core, struct complaint *c)
{
	int ret = launch_ask(cpu, c);

	if (ret)
		return ret;
	ret = launch_ask(core, c);
	if (ret)
		launch_ask_no_more(cpu);
	return ret;
}

/**
 * host_ask_no_more() - undo host_ask_both()
 * @cpu: as there
 * @core: as there; @cpu itself: it was at home, and there is nothing to undo
 *
 * Context: may sleep; see launch_cpus.
 */
void host_ask_no_more(unsigned int cpu, unsigned int core)
{
	if (cpu == core)
		return;
	launch_ask_no_more(cpu);
	launch_ask_no_more(core);
}

/**
 * host_move() - a CPU of this kernel's is wanted on a core, from the next launch_unlock() on
 * @cpu: whichever
 * @core: its own number: at home
 * @c: why not
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or an error: it is wanted where it was.
 */
int host_move(unsigned int cpu, unsigned int core, struct complaint *c)
{
	unsigned int was;
	int ret;

	ret = visits_check(cpu, c) ?: visits_check(core, c);
	if (ret)
		return ret;
	was = visits_wanted(cpu);
	if (cpu != core)
		ret = host_ask_both(cpu, core, c);
	if (ret)
		return ret;
	visits_want(cpu, core);
	host_ask_no_more(cpu, was);
	return 0;
}

/**
 * host_home() - all CPUs of this kernel are wanted on their own cores again
 *
 * Context: may sleep; see launch_cpus.
 */
void host_home(void)
{
	unsigned int cpu, was;

	for (cpu = 0; cpu < LAYER_HOSTS; cpu++) {
		was = visits_wanted(cpu);
		visits_want(cpu, cpu);
		host_ask_no_more(cpu, was);
	}
}

static int host_priority(unsigned int cpu, u32 priority, struct complaint *c)
{
	struct spumone_cpu *s = NULL;

	if (cpu < min(LAYER_HOSTS, nr_cpu_ids))
		s = per_cpu(launch_cpus, cpu);

	if (!s || !s->launched || !s->asked)
		return shimos_refuse(c, -ENODEV,
				     "no real-time program shares CPU %u, so its tasks go before none",
				     cpu);
	if (priority)
		return tasks_count(cpu, &s->shared->tasks, priority, c);
	tasks_forget(cpu);
	return 0;
}

int spumone_host_priority(unsigned int cpu, u32 priority, struct complaint *c)
{
	int ret = priority ? spumone_check_priority(priority, c) : 0;

	ret = ret ?: launch_lock_all(c);
	if (ret)
		return ret;
	ret = host_priority(cpu, priority, c);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_host_priority);

bool spumone_host_lost(unsigned int *cpu, u64 *at)
{
	const struct layer_shared *shared = image_lost(cpu);

	if (shared)
		*at = shared->gone_at;
	return shared;
}
EXPORT_SYMBOL_GPL(spumone_host_lost);

bool spumone_host_state(unsigned int cpu, struct spumone_host *out)
{
	const struct layer_shared *shared;
	struct spumone_cpu *s;

	mutex_lock(&launch_mutex);
	s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	if (s) {
		shared = s->shared;
		out->core = READ_ONCE(shared->core);
		out->lost = READ_ONCE(shared->gone);
		out->priority = READ_ONCE(shared->tasks.limit);
		out->moves = READ_ONCE(shared->counts.moves);
		out->moved_last = READ_ONCE(shared->counts.moved_last);
		out->moved_max = READ_ONCE(shared->counts.moved_max);
		out->exits = READ_ONCE(shared->counts.exits) - READ_ONCE(shared->counts.of_rtos);
	}
	mutex_unlock(&launch_mutex);
	return s;
}
EXPORT_SYMBOL_GPL(spumone_host_state);
