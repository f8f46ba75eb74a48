// SPDX-License-Identifier: GPL-2.0
/*
 * Which CPU of this kernel is on which core (SPUMONE 2011, section 3.2.4).
 *
 * While somebody has launch_mutex and cpus_read_lock(), or a CPU comes or goes, all are at
 * home; the rest of the time each is where it is wanted.  So nothing else here has to know
 * that one can be elsewhere.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/workqueue.h>
#include <asm/tsc.h>

#include "spumone.h"

#define VISITS_SLICE_US	2000	/* of a turn, where several share a core */

/*
 * Each is guarded by see launch_cpus.
 * @core: where it is wanted; its own number: at home
 * @refuge: where it goes by itself; its own number: it stays
 * @user_only: it goes there whenever it runs the kernel, and not while an RTOS has its core
 * @ready: it can be elsewhere, and is perhaps
 * @expected: how many can come to its core by themselves
 * @read_only, @writable: see struct layer_host_move; there are some while it is ready
 */
static struct visits_cpu {
	unsigned int core, refuge;
	bool user_only, ready;
	unsigned int expected;
	struct spumone_tables read_only, writable;
} visits_cpus[LAYER_HOSTS];

/* ---- there and back ---- */

struct visits_go {
	const struct layer_shared *shared;
	unsigned int core;
};

static long visits_go_work(void *arg)
{
	struct visits_go *go = arg;
	unsigned long flags;

	local_irq_save(flags);
	spumone_arch_call(LAYER_CALL_HOST_MOVE, go->core);
	local_irq_restore(flags);
	return 0;
}

/* What was in service for it at home may have to end first: it does when it gets interrupts. */
static long visits_go_home_work(void *arg)
{
	struct visits_go *go = arg;

	visits_go_work(arg);
	while (READ_ONCE(go->shared->visits)) {
		cond_resched();
		spumone_arch_call(LAYER_CALL_TIMER, 0);
	}
	return 0;
}

static int visits_make_tables(struct spumone_tables *t, unsigned int cpu, unsigned int flags)
{
	return protect_tables_for(t) ?: spumone_arch_show(t, spumone_arch_controller(),
							  image_host_controller(cpu), flags);
}

static void visits_free_tables(struct visits_cpu *v)
{
	spumone_arch_free_tables(&v->read_only);
	spumone_arch_free_tables(&v->writable);
}

/* What the layer needs to know of a CPU that is not at home. */
static int visits_prepare(unsigned int cpu)
{
	struct layer_host_move *move = &per_cpu(launch_cpus, cpu)->shared->move;
	struct visits_cpu *v = &visits_cpus[cpu];
	int ret;

	INIT_LIST_HEAD(&v->read_only.pages);
	INIT_LIST_HEAD(&v->writable.pages);
	ret = visits_make_tables(&v->read_only, cpu, 0) ?:
	      visits_make_tables(&v->writable, cpu, SPUMONE_WRITE);
	if (ret) {
		visits_free_tables(v);
		return ret;
	}
	move->controller = spumone_arch_controller();
	move->read_only = v->read_only.root;
	move->writable = v->writable.root;
	move->slice = (u64)tsc_khz * VISITS_SLICE_US / USEC_PER_MSEC;
	spumone_arch_host_peers(move->apics);
	v->ready = true;
	return 0;
}

static long visits_expect_work(void *arg)
{
	unsigned long flags;

	local_irq_save(flags);
	spumone_arch_call(LAYER_CALL_HOST_EXPECT, *(unsigned int *)arg);
	local_irq_restore(flags);
	return 0;
}

/* The layer knows it before the first one comes. */
static void visits_expect(unsigned int core)
{
	unsigned int *expected = &visits_cpus[core].expected;

	if (!(*expected)++)
		work_on_cpu(core, visits_expect_work, expected);
}

static void visits_expect_no_more(unsigned int core)
{
	unsigned int *expected = &visits_cpus[core].expected;

	if (!--*expected)
		work_on_cpu(core, visits_expect_work, expected);
}

/* Does it go somewhere by itself? */
static bool visits_flees(unsigned int cpu)
{
	return visits_cpus[cpu].core == cpu && visits_cpus[cpu].refuge != cpu;
}

static void visits_bring_home(unsigned int cpu)
{
	struct layer_shared *shared = per_cpu(launch_cpus, cpu)->shared;
	struct visits_go go = { shared, cpu };

	/* the worker below wants it */
	rest_end(cpu);
	/* it does not go again when it has come */
	WRITE_ONCE(shared->refuge, 0);
	work_on_cpu(cpu, visits_go_home_work, &go);
	if (visits_flees(cpu))
		visits_expect_no_more(visits_cpus[cpu].refuge);
	visits_cpus[cpu].ready = false;
	visits_free_tables(&visits_cpus[cpu]);
}

static int visits_send(unsigned int cpu)
{
	struct layer_shared *shared = per_cpu(launch_cpus, cpu)->shared;
	struct visits_go go = { shared, visits_cpus[cpu].core };
	int ret = visits_prepare(cpu);

	if (ret)
		return ret;
	work_on_cpu(cpu, visits_go_work, &go);
	/* the layer writes it before the CPU runs there */
	if (READ_ONCE(shared->core) == go.core)
		return 0;
	visits_bring_home(cpu);
	return -EIO;
}

static int visits_open_refuge(unsigned int cpu)
{
	struct layer_shared *shared = per_cpu(launch_cpus, cpu)->shared;
	int ret = visits_prepare(cpu);

	if (!ret && !visits_cpus[cpu].user_only)
		ret = rest_begin(cpu, shared);
	if (ret)
		return ret;
	visits_expect(visits_cpus[cpu].refuge);
	WRITE_ONCE(shared->user_only, visits_cpus[cpu].user_only);
	/* the layer reads it on that CPU, so what it goes by is there */
	smp_store_release(&shared->refuge, visits_cpus[cpu].refuge + 1);
	return 0;
}

/**
 * visits_home() - all CPUs are at home, and nothing of how they were elsewhere is used
 *
 * Context: may sleep; see launch_cpus.
 */
void visits_home(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < LAYER_HOSTS; cpu++)
		if (visits_cpus[cpu].ready)
			visits_bring_home(cpu);
}

/**
 * visits_again() - all CPUs are where they are wanted, or can flee from an RTOS
 *
 * One that cannot be stays at home, which the log says.
 *
 * Context: may sleep; see launch_cpus.
 */
void visits_again(void)
{
	struct visits_cpu *v;
	unsigned int cpu;
	int ret = 0;

	for (cpu = 0; cpu < min(LAYER_HOSTS, nr_cpu_ids); cpu++) {
		v = &visits_cpus[cpu];
		if (!per_cpu(launch_cpus, cpu))
			continue;
		if (v->core != cpu)
			ret = visits_send(cpu);
		else if (visits_flees(cpu))
			ret = visits_open_refuge(cpu);
		if (!ret)
			continue;
		pr_err("CPU %u stays on its own core until it is moved again: error %d\n", cpu, ret);
		v->core = cpu;
		v->refuge = cpu;
		ret = 0;
	}
}

/* ---- what is wanted ---- */

/**
 * visits_init() - all CPUs are at home
 *
 * Context: any; once, at module load.
 */
void visits_init(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < LAYER_HOSTS; cpu++) {
		visits_cpus[cpu].core = cpu;
		visits_cpus[cpu].refuge = cpu;
	}
}

/**
 * visits_check() - can a CPU move, and be moved to?
 * @cpu: any number
 * @c: why not
 *
 * Context: any.
 * Return: 0 or an error.
 */
int visits_check(unsigned int cpu, struct complaint *c)
{
	if (cpu >= LAYER_HOSTS)
		return shimos_refuse(c, -EINVAL, "only CPUs up to %u can move, and be moved to",
				     LAYER_HOSTS - 1);
	return spumone_arch_check_visits(c);
}

/**
 * visits_wanted() - the core where a CPU is wanted
 * @cpu: below LAYER_HOSTS
 *
 * Context: see launch_cpus.
 * Return: a CPU's number; its own: at home.
 */
unsigned int visits_wanted(unsigned int cpu)
{
	return visits_cpus[cpu].core;
}

/**
 * visits_want() - a CPU is on a core from the next launch_unlock() on
 * @cpu: has passed visits_check()
 * @core: has, too
 *
 * Context: see launch_cpus.
 */
void visits_want(unsigned int cpu, unsigned int core)
{
	visits_cpus[cpu].core = core;
}

/**
 * visits_refuge() - the core where a CPU goes by itself
 * @cpu: below LAYER_HOSTS
 *
 * Context: see launch_cpus.
 * Return: a CPU's number; its own: it stays.
 */
unsigned int visits_refuge(unsigned int cpu)
{
	return visits_cpus[cpu].refuge;
}

/**
 * visits_take_refuge() - a CPU goes to a core by itself, from the next launch_unlock() on
 * @cpu: has passed visits_check()
 * @core: has, too
 *
 * Context: see launch_cpus.
 */
void visits_take_refuge(unsigned int cpu, unsigned int core)
{
	visits_cpus[cpu].refuge = core;
}

/**
 * visits_keep_kernel_out() - when a CPU goes to its refuge by itself
 * @cpu: below LAYER_HOSTS
 * @out: while it runs the kernel; else while an RTOS has its core
 *
 * Context: see launch_cpus.
 */
void visits_keep_kernel_out(unsigned int cpu, bool out)
{
	visits_cpus[cpu].user_only = out;
}

/**
 * visits_forget() - the layer leaves a CPU: nobody comes there, and it stays
 * @cpu: any number
 *
 * Context: see launch_cpus.
 */
void visits_forget(unsigned int cpu)
{
	unsigned int other;

	for (other = 0; other < LAYER_HOSTS; other++)
		if (other == cpu || visits_cpus[other].core == cpu)
			visits_cpus[other].core = other;
	for (other = 0; other < LAYER_HOSTS; other++)
		if (other == cpu || visits_cpus[other].refuge == cpu)
			visits_cpus[other].refuge = other;
}

/**
 * visits_any() - does a CPU, or another one because of it, not run where it always did?
 * @cpu: any number
 *
 * Context: see launch_cpus.
 */
bool visits_any(unsigned int cpu)
{
	unsigned int other;

	for (other = 0; other < LAYER_HOSTS; other++) {
		const struct visits_cpu *v = &visits_cpus[other];

		if (v->core != other && (other == cpu || v->core == cpu))
			return true;
		if (v->refuge != other && (other == cpu || v->refuge == cpu))
			return true;
	}
	return false;
}
