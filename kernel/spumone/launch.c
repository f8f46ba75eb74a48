// SPDX-License-Identifier: GPL-2.0
/* Under which CPUs the layer is, and which of them have an RTOS. */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <asm/tsc.h>

#include "spumone.h"

DEFINE_MUTEX(launch_mutex);
DEFINE_PER_CPU(struct spumone_cpu *, launch_cpus);

/**
 * launch_lock() - be the only one to change the layer; CPUs are at home, and neither come nor go
 *
 * Context: may sleep; takes launch_mutex and cpus_read_lock().
 */
void launch_lock(void)
{
	mutex_lock(&launch_mutex);
	cpus_read_lock();
	visits_home();
}

/**
 * launch_unlock() - let them go where they are wanted again
 *
 * Context: may sleep; after launch_lock().
 */
void launch_unlock(void)
{
	visits_again();
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
}

/**
 * launch_here() - this CPU is under the layer
 * @s: of this CPU
 *
 * Context: in a thread of this CPU; see launch_cpus.
 * Return: 0 or an error.
 */
int launch_here(struct spumone_cpu *s)
{
	unsigned long flags;
	int ret;

	image_fill(s);
	local_irq_save(flags);
	ret = spumone_arch_enter(s);
	s->launched = !ret;
	if (s->launched && s->asked)
		clock_take(s);
	local_irq_restore(flags);
	return ret;
}

/**
 * launch_leave_here() - this CPU runs natively, whatever it did before
 * @s: of this CPU
 *
 * Context: in a thread of this CPU; see launch_cpus.
 */
void launch_leave_here(struct spumone_cpu *s)
{
	unsigned long flags;

	if (!s->launched)
		return;
	local_irq_save(flags);
	if (s->asked)
		clock_give(s);
	protect_leaves(s);
	spumone_arch_leave(s);
	s->launched = false;
	local_irq_restore(flags);
}

static long launch_work(void *arg)
{
	return launch_here(arg);
}

static long launch_leave_work(void *arg)
{
	launch_leave_here(arg);
	return 0;
}

/* It is there already: the timer and its interrupts change hands. */
static long launch_ask_work(void *arg)
{
	struct spumone_cpu *s = arg;
	unsigned long flags;

	local_irq_save(flags);
	clock_take(s);
	s->asked = 1;
	local_irq_restore(flags);
	return 0;
}

static long launch_ask_no_more_work(void *arg)
{
	struct spumone_cpu *s = arg;
	unsigned long flags;

	local_irq_save(flags);
	if (s->launched)
		clock_give(s);
	s->asked = 0;
	local_irq_restore(flags);
	return 0;
}

static int launch_check_clock(unsigned int cpu, struct complaint *c)
{
	if (clock_check(cpu))
		return shimos_refuse(c, -ENODEV,
				     "CPU %u has no local timer '%s' that runs in one-shot mode",
				     cpu, spumone_arch_timer());
	return 0;
}

static int launch_check(unsigned int cpu, struct complaint *c)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return shimos_refuse(c, -ENODEV, "CPU %u is not online", cpu);
	if (cpu >= LAYER_CORES)
		return shimos_refuse(c, -ENODEV, "the layer knows CPUs up to %u", LAYER_CORES - 1);
	return launch_check_clock(cpu, c) ?: spumone_arch_check(cpu, c);
}

/**
 * launch_check_lost() - a call to a CPU that has shut down would wait for ever
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int launch_check_lost(struct complaint *c)
{
	const struct layer_shared *shared;
	unsigned int cpu;

	shared = image_lost(&cpu);
	if (!shared)
		return 0;
	return shimos_refuse(c, -EIO,
			     "CPU %u of the host has had a triple fault at 0x%llx: real-time programs go on as they are until the machine is restarted",
			     cpu, shared->gone_at);
}

/**
 * launch_lock_all() - launch_lock(), if all of the host's CPUs can be called
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0, or -EIO, and nothing is locked.
 */
int launch_lock_all(struct complaint *c)
{
	int ret = launch_check_lost(c);

	if (!ret)
		launch_lock();
	return ret;
}

/* A CPU under which the layer is can be shared, whatever its registers say now. */
int spumone_check(unsigned int cpu, struct complaint *c)
{
	int ret = launch_lock_all(c);

	if (ret)
		return ret;
	if (cpu >= nr_cpu_ids || !per_cpu(launch_cpus, cpu))
		ret = launch_check(cpu, c);
	else if (!per_cpu(launch_cpus, cpu)->asked)
		ret = launch_check_clock(cpu, c);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_check);

/**
 * launch_add() - an instance for a CPU that has none, and the CPU is under it
 * @cpu: it is online, and has been checked
 * @asked: see struct spumone_cpu
 * @c: why not
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or an error.
 */
int launch_add(unsigned int cpu, unsigned int asked, struct complaint *c)
{
	struct spumone_cpu *s = image_instance(cpu);
	int ret;

	if (!s)
		return shimos_refuse(c, -ENOMEM, "no memory for the layer under CPU %u", cpu);
	s->asked = asked;
	per_cpu(launch_cpus, cpu) = s;
	ret = work_on_cpu(cpu, launch_work, s) ?: protect_renew();
	if (ret) {
		launch_remove(s);
		return shimos_refuse(c, ret, "the layer cannot be put under CPU %u: error %d", cpu,
				     ret);
	}
	return 0;
}

/**
 * launch_remove() - the CPU runs natively, and its instance is gone
 * @s: its instance
 *
 * Context: may sleep; see launch_cpus.
 */
void launch_remove(struct spumone_cpu *s)
{
	/* one that is off has left already */
	if (cpu_online(s->cpu))
		work_on_cpu(s->cpu, launch_leave_work, s);
	per_cpu(launch_cpus, s->cpu) = NULL;
	protect_shrink();
	image_free(s);
}

/**
 * launch_guard() - the layer is under a CPU, whether or not somebody has asked for it there
 * @cpu: it is online
 * @c: why not
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or an error.
 */
int launch_guard(unsigned int cpu, struct complaint *c)
{
	if (per_cpu(launch_cpus, cpu))
		return 0;
	return launch_check(cpu, c) ?: launch_add(cpu, 0, c);
}

/**
 * launch_ask() - the layer is under a CPU, with its timer, until launch_ask_no_more()
 * @cpu: any number
 * @c: why not
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or an error.
 */
int launch_ask(unsigned int cpu, struct complaint *c)
{
	struct spumone_cpu *s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	int ret;

	if (s && s->asked) {
		s->asked++;
		return 0;
	}
	if (!s || !s->launched)
		return launch_check(cpu, c) ?: launch_add(cpu, 1, c);
	ret = launch_check_clock(cpu, c);
	if (!ret)
		work_on_cpu(cpu, launch_ask_work, s);
	return ret;
}

int spumone_launch(unsigned int cpu, struct complaint *c)
{
	int ret = launch_lock_all(c);

	if (ret)
		return ret;
	ret = launch_ask(cpu, c);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_launch);

static void launch_leave(struct spumone_cpu *s)
{
	turns_end_all(s->cpu);
	visits_forget(s->cpu);
	tasks_forget(s->cpu);
	if (protect_on() && s->launched)
		work_on_cpu(s->cpu, launch_ask_no_more_work, s);
	else
		launch_remove(s);
}

/**
 * launch_ask_no_more() - undo launch_ask()
 * @cpu: any number
 *
 * The last one takes the layer away, unless it hides memory.
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0; -ENOENT: nobody has asked for it.
 */
int launch_ask_no_more(unsigned int cpu)
{
	struct spumone_cpu *s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;

	if (!s || !s->asked)
		return -ENOENT;
	if (s->asked > 1)
		s->asked--;
	else
		launch_leave(s);
	return 0;
}

int spumone_leave(unsigned int cpu)
{
	int ret;

	launch_lock();
	ret = launch_ask_no_more(cpu);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_leave);

const struct layer_shared *spumone_look(void)
{
	struct spumone_cpu *s = this_cpu_read(launch_cpus);

	if (!s || !s->launched)
		return NULL;
	/* an exit for nothing, after which the last delivery is counted */
	spumone_arch_call(LAYER_CALL_TIMER, 0);
	return s->shared;
}
EXPORT_SYMBOL_GPL(spumone_look);

u64 spumone_exits(unsigned int cpu)
{
	struct spumone_cpu *s;
	u64 exits = 0;

	mutex_lock(&launch_mutex);
	s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	if (s)
		exits = READ_ONCE(s->shared->counts.exits) - READ_ONCE(s->shared->counts.of_rtos);
	mutex_unlock(&launch_mutex);
	return exits;
}
EXPORT_SYMBOL_GPL(spumone_exits);

/**
 * launch_any() - is the layer under any CPU, or shall it be?
 *
 * Context: may sleep; takes launch_mutex.
 */
bool launch_any(void)
{
	unsigned int cpu;
	bool any = false;

	mutex_lock(&launch_mutex);
	for_each_possible_cpu(cpu)
		any |= !!per_cpu(launch_cpus, cpu);
	mutex_unlock(&launch_mutex);
	return any;
}

/**
 * launch_leave_all() - all CPUs run natively, and nothing is hidden
 *
 * Context: may sleep; takes launch_lock().
 */
void launch_leave_all(void)
{
	struct spumone_cpu *s;
	unsigned int cpu;

	launch_lock();
	protect_end();
	for_each_possible_cpu(cpu) {
		s = per_cpu(launch_cpus, cpu);
		if (s)
			launch_leave(s);
	}
	launch_unlock();
}
