// SPDX-License-Identifier: GPL-2.0
/*
 * The local timer, while the layer is under a CPU.
 *
 * Linux keeps its own clock event device, with its vector and its handler; only the
 * functions that touch the hardware are ours meanwhile.  A device of our own would be
 * preferred by its rating, but then Linux makes the old one a broadcast device, which
 * goes on touching the hardware, and does not come back from that.
 */
#include <linux/clockchips.h>
#include <linux/cpu.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <asm/tsc.h>

#include "spumone.h"

/* What Linux asks for when it changes hands: soon, so that it looks for itself. */
#define CLOCK_SOON_TICKS	1000

struct clock_cpu {
	struct clock_event_device *device;
	/* what the device had */
	int (*set_next_event)(unsigned long ticks, struct clock_event_device *device);
	int (*shutdown)(struct clock_event_device *device);
	int (*oneshot)(struct clock_event_device *device);
	int (*oneshot_stopped)(struct clock_event_device *device);
	u64 cycles_per_tick;		/* 32 bits behind the point */
	struct layer_shared *shared;	/* not NULL: it is the layer's */
};

/* Each CPU writes its own, with interrupts off. */
static DEFINE_PER_CPU(struct clock_cpu, clock_cpus);

/* ---- what Linux calls, with interrupts off, on the device's CPU ---- */

static int clock_set(u64 deadline)
{
	struct layer_shared *shared = this_cpu_ptr(&clock_cpus)->shared;
	u64 armed;

	WRITE_ONCE(shared->deadline, deadline);
	/* the layer runs on this CPU only: it sees it at the next exit, or has set armed by now */
	barrier();
	armed = READ_ONCE(shared->armed);
	/* on another core that is not the timer there */
	if (deadline && (!armed || deadline < armed || READ_ONCE(shared->visits)))
		spumone_arch_call(LAYER_CALL_TIMER, 0);
	return 0;
}

static int clock_set_next_event(unsigned long ticks, struct clock_event_device *device)
{
	u64 scale = this_cpu_ptr(&clock_cpus)->cycles_per_tick;

	return clock_set(rdtsc() + mul_u64_u64_shr(ticks, scale, 32));
}

static int clock_shutdown(struct clock_event_device *device)
{
	return clock_set(0);
}

static int clock_oneshot(struct clock_event_device *device)
{
	return 0;
}

/* ---- finding the devices ---- */

static int clock_dummy_set(unsigned long ticks, struct clock_event_device *device)
{
	return 0;
}

static int clock_dummy_state(struct clock_event_device *device)
{
	return 0;
}

/* Of the lowest rating, so that it is not used; it is in the kernel's list for a moment. */
static struct clock_event_device clock_probe = {
	.name			= "shimos-probe",
	.features		= CLOCK_EVT_FEAT_ONESHOT | CLOCK_EVT_FEAT_DUMMY,
	.rating			= 1,
	.owner			= THIS_MODULE,
	.set_next_event		= clock_dummy_set,
	.set_state_shutdown	= clock_dummy_state,
	.set_state_oneshot	= clock_dummy_state,
};

static void clock_remember(struct clock_event_device *device)
{
	unsigned int cpu;

	if (strcmp(device->name, spumone_arch_timer()) || !device->set_next_event)
		return;
	for_each_possible_cpu(cpu)
		if (device->cpumask == cpumask_of(cpu))
			per_cpu(clock_cpus, cpu).device = device;
}

/**
 * clock_init() - find the clock event devices that are local timers
 *
 * The kernel's list of devices is found from a device of ours in it.  A device is part of its
 * CPU's own data, and stays where it is when the CPU goes off.
 *
 * Context: may sleep; once, at module load.
 */
void clock_init(void)
{
	struct list_head *at;
	unsigned int cpu;

	cpus_read_lock();
	cpu = get_cpu();
	clock_probe.cpumask = cpumask_of(cpu);
	clockevents_config_and_register(&clock_probe, 1000000, 0xf, 0x7fffffff);
	put_cpu();
	for (at = clock_probe.list.next; at != &clock_probe.list; at = at->next)
		clock_remember(list_entry(at, struct clock_event_device, list));
	clockevents_unbind_device(&clock_probe, cpu);
	cpus_read_unlock();
}

/**
 * clock_check() - has this CPU a timer that we know, and is it in use?
 * @cpu: any possible one
 *
 * Context: any.
 * Return: 0 or -ENODEV.
 */
int clock_check(unsigned int cpu)
{
	struct clock_event_device *device = per_cpu(clock_cpus, cpu).device;

	return device && device->event_handler && device->shift <= 32 && tsc_khz &&
	       !clockevent_state_periodic(device) ? 0 : -ENODEV;
}

/**
 * clock_scale() - ticks of a CPU's timer a cycle
 * @cpu: any possible one
 *
 * Context: any.
 * Return: with 32 bits behind the point; 0: we do not know this timer.
 */
u64 clock_scale(unsigned int cpu)
{
	struct clock_event_device *device = per_cpu(clock_cpus, cpu).device;

	if (!device)
		return 0;
	return div_u64(((u64)device->mult << (32 - device->shift)) * NSEC_PER_MSEC, tsc_khz);
}

/**
 * clock_take() - the local timer is the layer's from now on
 * @s: of this CPU
 *
 * Context: on the CPU, under the layer, interrupts off.
 */
void clock_take(struct spumone_cpu *s)
{
	struct clock_cpu *clock = this_cpu_ptr(&clock_cpus);
	struct clock_event_device *device = clock->device;

	clock->set_next_event = device->set_next_event;
	clock->shutdown = device->set_state_shutdown;
	clock->oneshot = device->set_state_oneshot;
	clock->oneshot_stopped = device->set_state_oneshot_stopped;
	clock->cycles_per_tick = div64_u64(U64_MAX, clock_scale(s->cpu));
	clock->shared = s->shared;
	device->set_next_event = clock_set_next_event;
	device->set_state_shutdown = clock_shutdown;
	device->set_state_oneshot = clock_oneshot;
	device->set_state_oneshot_stopped = clock_shutdown;
	spumone_arch_call(LAYER_CALL_TIMER_ON, 0);
	if (clockevent_state_oneshot(device))
		clock_set_next_event(CLOCK_SOON_TICKS, device);
}

/**
 * clock_give() - the local timer is Linux's again
 * @s: of this CPU
 *
 * Context: on the CPU, under the layer, interrupts off.
 */
void clock_give(struct spumone_cpu *s)
{
	struct clock_cpu *clock = this_cpu_ptr(&clock_cpus);
	struct clock_event_device *device = clock->device;

	device->set_next_event = clock->set_next_event;
	device->set_state_shutdown = clock->shutdown;
	device->set_state_oneshot = clock->oneshot;
	device->set_state_oneshot_stopped = clock->oneshot_stopped;
	clock->shared = NULL;
	spumone_arch_call(LAYER_CALL_TIMER_OFF, 0);
	if (clockevent_state_oneshot(device)) {
		device->set_state_oneshot(device);
		device->set_next_event(CLOCK_SOON_TICKS, device);
	}
}
