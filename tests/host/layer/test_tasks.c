// SPDX-License-Identifier: GPL-2.0
/* Which RTOSes Linux goes before, as it says what its tasks are. */
#include "test.h"

static struct layer_tasks *tasks = &core_shared.tasks;

/* An RTOS of this priority, and Linux with this limit. */
static void begin(u64 priority, u64 limit)
{
	core_reset();
	layer_tasks_wait(NULL);
	core_begin(&(struct layer_rt_start) { .priority = priority });
	tasks->limit = limit;
}

static bool first(void)
{
	return layer_tasks_heard(core_first) && layer_tasks_first(core_first);
}

/* Both the task and the limit are above it, or it goes first. */
static void test_limit(void)
{
	begin(50, 0);
	tasks->runs = 99;
	MUST(!first());
	tasks->limit = 50;
	MUST(!first());
	tasks->limit = 51;
	MUST(first());
	tasks->runs = 50;
	MUST(!first());
	tasks->runs = 51;
	MUST(first());
	tasks->runs = 0;
	MUST(!first());
}

/* One that was woken counts for its moment, and not when that is over. */
static void test_woken(void)
{
	begin(50, 99);
	MUST(!layer_tasks_next());
	layer_tasks_wait(core_first);
	tasks->woken = 60;
	tasks->woken_until = core_now + 100;
	MUST(first() && layer_tasks_next() == core_now + 100);
	core_now += 99;
	MUST(first());
	core_now++;
	MUST(!first() && !layer_tasks_next());
	tasks->woken_until = core_now + 100;
	tasks->woken = 50;
	MUST(!first());
	/* nobody waits, so nobody has to look */
	layer_tasks_wait(NULL);
	MUST(!layer_tasks_next());
}

/* Its moment is Linux's own time: it does not pass while an RTOS has the core. */
static void test_woken_and_away(void)
{
	begin(50, 99);
	tasks->woken = 60;
	tasks->woken_until = core_now + 100;
	core_now += 60;
	layer_tasks_stop();
	core_now += 5000;
	MUST(first());
	layer_tasks_go_on();
	MUST(first());
	core_now += 20;
	layer_tasks_stop();
	core_now += 700;
	layer_tasks_go_on();
	/* that the core was Linux's already changes nothing */
	layer_tasks_go_on();
	layer_tasks_wait(core_first);
	MUST(layer_tasks_next() == core_now + 20);
	core_now += 19;
	MUST(first());
	core_now++;
	MUST(!first());
	/* one that is over does not begin anew */
	layer_tasks_stop();
	core_now += 5000;
	MUST(!first());
	layer_tasks_go_on();
	MUST(!first());
	/* and of another one nothing has passed */
	tasks->woken_until = core_now + 100;
	core_now += 100;
	MUST(!first());
	layer_tasks_wait(NULL);
}

/* Linux says that it has switched tasks, and the layer forgets it with the next interrupt. */
static void test_switched(void)
{
	begin(50, 99);
	MUST(!layer_tasks_switched());
	tasks->switched = 1;
	MUST(layer_tasks_switched() && layer_tasks_switched());
	layer_tasks_interrupted();
	MUST(!layer_tasks_switched());
}

/* Linux sees who waits for it, and the layer what it has said. */
static void test_waits(void)
{
	begin(50, 99);
	MUST(!tasks->waits && !layer_tasks_were_first());
	layer_tasks_wait(core_first);
	MUST(tasks->waits == 50 && layer_tasks_were_first());
	tasks->waits = 7;	/* it is the layer's own, whatever Linux writes there */
	MUST(layer_tasks_were_first());
	layer_tasks_wait(NULL);
	MUST(!tasks->waits && !layer_tasks_were_first());
}

/* A CPU that is not here alone goes after all of them. */
static void test_visited(void)
{
	begin(50, 99);
	tasks->runs = 99;
	core_host(1)->home = 1;
	core_host(CORE_NUMBER)->coming = 2;
	layer_hosts_receive();
	MUST(!first());
	layer_hosts_leaves(core_host(1), 1);
	MUST(first());
}

/* While an RTOS has the core Linux's deadline is due, too, if that may wake such a task. */
static void test_deadline(void)
{
	begin(50, 99);
	layer_timer_own(1);
	core_shared.deadline = core_now + 500;
	layer_timer_look_rtos(core_first);
	MUST(core_ticks && core_shared.armed == core_now + 500);
	core_now += 500;
	layer_timer_look_rtos(core_first);
	MUST(core_ticked == 1 && !core_shared.deadline);
	begin(50, 50);
	layer_timer_own(1);
	core_shared.deadline = core_now + 500;
	layer_timer_look_rtos(core_first);
	MUST(!core_ticks);
}

void test_tasks(void)
{
	test_limit();
	test_woken();
	test_woken_and_away();
	test_switched();
	test_waits();
	test_visited();
	test_deadline();
	core_reset();
	layer_tasks_wait(NULL);
}
