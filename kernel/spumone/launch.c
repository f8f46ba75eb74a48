// SPDX-License-Identifier: GPL-2.0
/*
 * Under which CPUs the layer is, and which of them have an RTOS.
 *
 * A CPU that goes off leaves the layer first, and a CPU that comes again gets its
 * instance again, both from its own hot-plug thread.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <asm/tsc.h>

#include "spumone.h"

#define LAUNCH_ROUNDS	8	/* of a measurement */

static DEFINE_MUTEX(launch_mutex);	/* guards who is in launch_cpus */
/* Those that shall have the layer under them while they are online. */
static DEFINE_PER_CPU(struct spumone_cpu *, launch_cpus);
static int launch_state;

/* On the CPU, in a thread. */
static int launch_here(struct spumone_cpu *s)
{
	unsigned long flags;
	int ret;

	image_fill(s);
	local_irq_save(flags);
	ret = spumone_arch_enter(s);
	if (!ret) {
		clock_take(s);
		s->launched = true;
	}
	local_irq_restore(flags);
	return ret;
}

static void launch_leave_here(struct spumone_cpu *s)
{
	unsigned long flags;

	if (!s->launched)
		return;
	local_irq_save(flags);
	clock_give(s);
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

static int launch_online(unsigned int cpu)
{
	struct spumone_cpu *s = per_cpu(launch_cpus, cpu);
	int ret = s ? launch_here(s) : 0;

	if (ret)
		pr_err("CPU %u came back, but the layer could not be put under it: error %d\n",
		       cpu, ret);
	return 0;
}

static int launch_offline(unsigned int cpu)
{
	struct spumone_cpu *s = per_cpu(launch_cpus, cpu);

	if (s && s->guest) {
		pr_notice("CPU %u stays: a real-time partition shares it\n", cpu);
		return -EBUSY;
	}
	if (s)
		launch_leave_here(s);
	return 0;
}

static int launch_check(unsigned int cpu, struct complaint *c)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return shimos_refuse(c, -ENODEV, "CPU %u is not online", cpu);
	if (clock_check(cpu))
		return shimos_refuse(c, -ENODEV,
				     "CPU %u has no local timer '%s' that runs in one-shot mode",
				     cpu, spumone_arch_timer());
	return spumone_arch_check(cpu, c);
}

/* A CPU under which the layer is can be shared, whatever its registers say now. */
int spumone_check(unsigned int cpu, struct complaint *c)
{
	int ret = 0;

	mutex_lock(&launch_mutex);
	cpus_read_lock();
	if (cpu >= nr_cpu_ids || !per_cpu(launch_cpus, cpu))
		ret = launch_check(cpu, c);
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_check);

static int launch_locked(unsigned int cpu, struct complaint *c)
{
	struct spumone_cpu *s;
	int ret;

	if (cpu < nr_cpu_ids && per_cpu(launch_cpus, cpu))
		return shimos_refuse(c, -EALREADY, "the layer is under CPU %u already", cpu);
	ret = launch_check(cpu, c);
	if (ret)
		return ret;
	s = image_instance(cpu);
	if (!s)
		return shimos_refuse(c, -ENOMEM, "no memory for the layer under CPU %u", cpu);
	ret = work_on_cpu(cpu, launch_work, s);
	if (ret) {
		image_free(s);
		return shimos_refuse(c, ret, "the layer cannot be put under CPU %u: error %d", cpu,
				     ret);
	}
	per_cpu(launch_cpus, cpu) = s;
	return 0;
}

int spumone_launch(unsigned int cpu, struct complaint *c)
{
	int ret;

	mutex_lock(&launch_mutex);
	cpus_read_lock();
	ret = launch_locked(cpu, c);
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_launch);

struct launch_call {
	struct spumone_cpu *cpu;
	enum layer_call number;
};

/*
 * An exit costs more than the layer can see between its own first and last instruction.  The
 * quickest of some is the one that nothing else came into.
 */
static u64 launch_unseen(const struct layer_shared *shared)
{
	u64 began, seen, took, least = U64_MAX;
	unsigned long flags;
	int i;

	local_irq_save(flags);
	for (i = 0; i < LAUNCH_ROUNDS; i++) {
		seen = READ_ONCE(shared->rt.cycles);
		began = rdtsc_ordered();
		spumone_arch_call(LAYER_CALL_RT_CHARGE);
		took = rdtsc_ordered() - began;
		seen = READ_ONCE(shared->rt.cycles) - seen;
		least = min(least, took - seen);
	}
	local_irq_restore(flags);
	return least;
}

static long launch_call_work(void *arg)
{
	struct launch_call *call = arg;
	struct layer_shared *shared = call->cpu->shared;

	if (call->number == LAYER_CALL_RT_START) {
		call->cpu->guest->start.unseen = launch_unseen(shared);
		shared->start = call->cpu->guest->start;
	}
	spumone_arch_call(call->number);
	return 0;
}

static void launch_call(struct spumone_cpu *s, enum layer_call number)
{
	struct launch_call call = { s, number };

	work_on_cpu(s->cpu, launch_call_work, &call);
}

static int launch_guest(unsigned int cpu, const struct spumone_rt *rt, struct complaint *c)
{
	struct spumone_cpu *s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	struct spumone_guest *g;

	if (!s || !s->launched)
		return shimos_refuse(c, -ENODEV, "the layer is not under CPU %u", cpu);
	if (s->guest)
		return shimos_refuse(c, -EBUSY, "CPU %u has a real-time partition already", cpu);
	g = guest_make(cpu, rt, c);
	if (IS_ERR(g))
		return PTR_ERR(g);
	s->guest = g;
	launch_call(s, LAYER_CALL_RT_START);
	return 0;
}

int spumone_rt_start(unsigned int cpu, const struct spumone_rt *rt, struct complaint *c)
{
	int ret;

	mutex_lock(&launch_mutex);
	cpus_read_lock();
	ret = launch_guest(cpu, rt, c);
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_start);

static void launch_end_guest(struct spumone_cpu *s)
{
	launch_call(s, LAYER_CALL_RT_STOP);
	guest_free(s->guest);
	s->guest = NULL;
}

int spumone_rt_stop(unsigned int cpu)
{
	struct spumone_cpu *s;
	int ret = -ENOENT;

	mutex_lock(&launch_mutex);
	cpus_read_lock();
	s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	if (s && s->guest) {
		launch_end_guest(s);
		ret = 0;
	}
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_stop);

void spumone_rt_state(unsigned int cpu, struct layer_rt *out)
{
	const struct layer_rt *rt = &per_cpu(launch_cpus, cpu)->shared->rt;
	/* pairs with layer_rt_end(): the rest of an end is there before its state */
	u64 state = smp_load_acquire(&rt->state);

	memcpy(out, rt, sizeof(*out));
	out->state = state;
}
EXPORT_SYMBOL_GPL(spumone_rt_state);

const struct layer_late *spumone_rt_late(unsigned int cpu)
{
	return &per_cpu(launch_cpus, cpu)->shared->late;
}
EXPORT_SYMBOL_GPL(spumone_rt_late);

u64 spumone_exits(unsigned int cpu)
{
	struct spumone_cpu *s;
	u64 exits = 0;

	mutex_lock(&launch_mutex);
	s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	if (s)
		exits = READ_ONCE(s->shared->counts.exits) - READ_ONCE(s->shared->rt.exits);
	mutex_unlock(&launch_mutex);
	return exits;
}
EXPORT_SYMBOL_GPL(spumone_exits);

void spumone_rt_reason(const struct layer_rt *rt, char *to, size_t size)
{
	spumone_arch_reason(rt, to, size);
}
EXPORT_SYMBOL_GPL(spumone_rt_reason);

void spumone_rt_ring(unsigned int cpu)
{
	spumone_arch_ring(cpu);
}
EXPORT_SYMBOL_GPL(spumone_rt_ring);

void spumone_rt_hear(unsigned int cpu, u64 bell)
{
	WRITE_ONCE(per_cpu(launch_cpus, cpu)->shared->host_bell, spumone_arch_bell(bell));
}
EXPORT_SYMBOL_GPL(spumone_rt_hear);

u64 spumone_rt_bell(unsigned int cpu)
{
	return spumone_arch_rt_bell(cpu);
}
EXPORT_SYMBOL_GPL(spumone_rt_bell);

void spumone_rt_share(unsigned int chunk, u64 physical)
{
	struct spumone_cpu *s;
	unsigned int cpu;

	mutex_lock(&launch_mutex);
	area_add(chunk, physical);
	for_each_possible_cpu(cpu) {
		s = per_cpu(launch_cpus, cpu);
		/* one that cannot see it does not hear of it */
		if (s && s->guest)
			area_show(s->guest);
	}
	mutex_unlock(&launch_mutex);
}
EXPORT_SYMBOL_GPL(spumone_rt_share);

void spumone_rt_unshare(void)
{
	mutex_lock(&launch_mutex);
	area_forget();
	mutex_unlock(&launch_mutex);
}
EXPORT_SYMBOL_GPL(spumone_rt_unshare);

int spumone_leave(unsigned int cpu)
{
	struct spumone_cpu *s;

	mutex_lock(&launch_mutex);
	cpus_read_lock();
	s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;
	if (s) {
		if (s->guest)
			launch_end_guest(s);
		per_cpu(launch_cpus, cpu) = NULL;
		/* one that is off has left already */
		if (cpu_online(cpu))
			work_on_cpu(cpu, launch_leave_work, s);
		image_free(s);
	}
	cpus_read_unlock();
	mutex_unlock(&launch_mutex);
	return s ? 0 : -ENOENT;
}
EXPORT_SYMBOL_GPL(spumone_leave);

const struct layer_shared *spumone_look(void)
{
	struct spumone_cpu *s = this_cpu_read(launch_cpus);

	if (!s || !s->launched)
		return NULL;
	/* an exit for nothing, after which the last delivery is counted */
	spumone_arch_call(LAYER_CALL_TIMER);
	return s->shared;
}
EXPORT_SYMBOL_GPL(spumone_look);

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

void launch_leave_all(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		spumone_leave(cpu);
}

int launch_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "shimos:layer", launch_online,
					    launch_offline);

	launch_state = ret;
	return ret < 0 ? ret : 0;
}

void launch_exit(void)
{
	launch_leave_all();
	cpuhp_remove_state_nocalls(launch_state);
}
