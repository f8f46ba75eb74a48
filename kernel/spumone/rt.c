// SPDX-License-Identifier: GPL-2.0
/* What other modules ask of RTOSes that share CPUs with this kernel. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <uapi/shimos.h>

#include "spumone.h"

int spumone_check_budget(u64 budget_ns, u64 period_ns, struct complaint *c)
{
	if (!budget_ns && !period_ns)
		return 0;
	if (period_ns < SHIMOS_RT_MIN_PERIOD_NS || period_ns > SHIMOS_RT_MAX_PERIOD_NS)
		return shimos_refuse(c, -EINVAL,
				     "a budget for each %llu ns: its period is 100 us to 1 s",
				     period_ns);
	/* the period is small enough for both products */
	if (budget_ns < SHIMOS_RT_MIN_BUDGET_NS || budget_ns > period_ns ||
	    budget_ns * 100 > period_ns * SHIMOS_RT_MAX_BUDGET_PERCENT)
		return shimos_refuse(c, -EINVAL,
				     "a budget of %llu ns: it is 10 us to %u %% of its period of %llu ns",
				     budget_ns, SHIMOS_RT_MAX_BUDGET_PERCENT, period_ns);
	return 0;
}
EXPORT_SYMBOL_GPL(spumone_check_budget);


int spumone_check_priority(u32 priority, struct complaint *c)
{
	if (priority < SHIMOS_RT_MIN_PRIORITY || priority > SHIMOS_RT_MAX_PRIORITY)
		return shimos_refuse(c, -EINVAL, "a priority of %u: it is %u to %u", priority,
				     SHIMOS_RT_MIN_PRIORITY, SHIMOS_RT_MAX_PRIORITY);
	return 0;
}
EXPORT_SYMBOL_GPL(spumone_check_priority);

/* ---- who has which ---- */

/* Of a CPU, in millionths. */
static u64 rt_part(const struct spumone_share *share)
{
	return share->period_ns ? div64_u64(share->budget_ns * 1000000, share->period_ns) : 0;
}

/* All RTOSes of a CPU together leave some of it to this kernel. */
static int rt_check_room(const struct spumone_guest *but, unsigned int cpu,
			 const struct spumone_share *share, struct complaint *c)
{
	u64 given = 0, part = rt_part(share);
	const struct spumone_guest *g;

	for (g = guest_table; g < guest_table + LAYER_GUESTS; g++)
		if (g->taken && g != but && g->cpu == cpu)
			given += rt_part(&g->share);
	if (given && given + part > SHIMOS_RT_MAX_BUDGET_PERCENT * 10000)
		return shimos_refuse(c, -EBUSY,
				     "CPU %u: its real-time programs have %llu %% of it already, and with %llu %% more it would be above %u %%: give them smaller budgets, or another CPU",
				     cpu, div64_u64(given, 10000), div64_u64(part, 10000),
				     SHIMOS_RT_MAX_BUDGET_PERCENT);
	return 0;
}

static int rt_check_cpu(unsigned int cpu, struct complaint *c)
{
	struct spumone_cpu *s = cpu < nr_cpu_ids ? per_cpu(launch_cpus, cpu) : NULL;

	if (!s || !s->launched || !s->asked)
		return shimos_refuse(c, -ENODEV, "the layer is not under CPU %u", cpu);
	return 0;
}

static int rt_take(unsigned int cpu, const struct spumone_share *share, struct complaint *c)
{
	int ret = rt_check_cpu(cpu, c) ?: rt_check_room(NULL, cpu, share, c);
	unsigned int i;

	if (ret)
		return ret;
	for (i = 0; i < LAYER_GUESTS && guest_table[i].taken; i++)
		;
	if (i == LAYER_GUESTS)
		return shimos_refuse(c, -EBUSY,
				     "there are %u real-time programs on this machine, the most there can be: remove one",
				     LAYER_GUESTS);
	guest_table[i] = (struct spumone_guest) {
		.number = i,
		.taken = true,
		.cpu = cpu,
		.share = *share,
		.shared = image_guest_shared(i),
	};
	memset(guest_table[i].shared, 0, sizeof(*guest_table[i].shared));
	return i;
}

int spumone_rt_new(unsigned int cpu, const struct spumone_share *share, struct complaint *c)
{
	int ret = spumone_check_budget(share->budget_ns, share->period_ns, c) ?:
		  spumone_check_priority(share->priority, c);

	if (ret)
		return ret;
	launch_lock();
	ret = rt_take(cpu, share, c);
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_new);

static bool rt_any(void)
{
	unsigned int i;

	for (i = 0; i < LAYER_GUESTS; i++)
		if (guest_table[i].taken)
			return true;
	return false;
}

bool spumone_rt_any(void)
{
	bool any;

	mutex_lock(&launch_mutex);
	any = rt_any();
	mutex_unlock(&launch_mutex);
	return any;
}
EXPORT_SYMBOL_GPL(spumone_rt_any);

/* With the last one, this kernel's CPUs come home for good. */
void spumone_rt_free(int number)
{
	launch_lock();
	guest_table[number].taken = false;
	if (!rt_any()) {
		host_home();
		tasks_forget_all();
	}
	launch_unlock();
}
EXPORT_SYMBOL_GPL(spumone_rt_free);

/* ---- their lives ---- */

static int rt_start(struct spumone_guest *g, const struct spumone_rt *rt, struct complaint *c)
{
	if (g->runs)
		return shimos_refuse(c, -EBUSY, "this real-time program runs already");
	if (rt->hidden && !protect_on())
		return shimos_refuse(c, -EINVAL, "no memory can be hidden from this kernel now");
	return rt_check_cpu(g->cpu, c) ?: guest_make(g, rt, c) ?: turns_begin(g, c);
}

int spumone_rt_start(int number, const struct spumone_rt *rt, struct complaint *c)
{
	int ret;

	launch_lock();
	ret = rt_start(&guest_table[number], rt, c);
	policy_renew();
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_start);

int spumone_rt_stop(int number)
{
	struct complaint c = {};
	int ret = -ENOENT;

	if (launch_lock_all(&c))
		return -EIO;
	if (guest_table[number].runs) {
		turns_end(&guest_table[number]);
		policy_renew();
		ret = 0;
	}
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_stop);

int spumone_rt_move(int number, unsigned int cpu, struct complaint *c)
{
	struct spumone_guest *g = &guest_table[number];
	int ret;

	launch_lock();
	ret = rt_check_cpu(cpu, c) ?: rt_check_room(g, cpu, &g->share, c);
	if (!ret)
		turns_move(g, cpu);
	policy_renew();
	launch_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(spumone_rt_move);

int spumone_rt_priority(int number, u32 priority, struct complaint *c)
{
	int ret = spumone_check_priority(priority, c) ?: launch_lock_all(c);

	if (ret)
		return ret;
	turns_priority(&guest_table[number], priority);
	launch_unlock();
	return 0;
}
EXPORT_SYMBOL_GPL(spumone_rt_priority);

/* ---- how they are ---- */

void spumone_rt_state(int number, struct layer_rt *out)
{
	const struct layer_rt *rt = &guest_table[number].shared->rt;
	/* pairs with layer_rt_end(): the rest of an end is there before its state */
	u64 state = smp_load_acquire(&rt->state);

	memcpy(out, rt, sizeof(*out));
	out->state = state;
}
EXPORT_SYMBOL_GPL(spumone_rt_state);

const struct layer_late *spumone_rt_late(int number)
{
	return &guest_table[number].shared->late;
}
EXPORT_SYMBOL_GPL(spumone_rt_late);

void spumone_rt_reason(const struct layer_rt *rt, char *to, size_t size)
{
	spumone_arch_reason(rt, to, size);
}
EXPORT_SYMBOL_GPL(spumone_rt_reason);

/* ---- bells and IKC ---- */

void spumone_rt_ring(int number)
{
	spumone_arch_ring(READ_ONCE(guest_table[number].cpu));
}
EXPORT_SYMBOL_GPL(spumone_rt_ring);

void spumone_rt_hear(int number, u64 bell)
{
	WRITE_ONCE(guest_table[number].shared->host_bell, spumone_arch_bell(bell));
}
EXPORT_SYMBOL_GPL(spumone_rt_hear);

u64 spumone_rt_bell(unsigned int cpu)
{
	return spumone_arch_rt_bell(cpu);
}
EXPORT_SYMBOL_GPL(spumone_rt_bell);

/* One that cannot see all of the area does not hear of it. */
static void rt_show_area(void)
{
	struct spumone_guest *g;

	for (g = guest_table; g < guest_table + LAYER_GUESTS; g++)
		if (g->runs)
			area_show(g);
}

void spumone_rt_share(unsigned int chunk, u64 physical)
{
	launch_lock();
	area_add(chunk, physical);
	protect_change_guests(rt_show_area);
	launch_unlock();
}
EXPORT_SYMBOL_GPL(spumone_rt_share);

void spumone_rt_unshare(void)
{
	mutex_lock(&launch_mutex);
	area_forget();
	mutex_unlock(&launch_mutex);
}
EXPORT_SYMBOL_GPL(spumone_rt_unshare);
