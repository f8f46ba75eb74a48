// SPDX-License-Identifier: GPL-2.0
/*
 * The owner dies at any store that it makes into its user's memory, and of what it
 * stored since its last barrier any part may have arrived.  Two of its CPUs work at
 * a ring, one takes and one completes, and the driver goes on beside them.  Then the
 * user answers by itself: every request gets one answer, none gets two.
 */
#include <limits.h>
#include <setjmp.h>
#include "test.h"

#define SIZE		4
#define POSITION	65534		/* wraps around meanwhile */
#define UNTOUCHED	0xee		/* a status that nobody has written */

static struct driver d;
static struct vqueue v;
static bool done[SIZE];			/* by head: completed by the owner */
static u16 in_work[2 * SIZE];		/* taken before it begins, in order */

/* ---- dying ---- */

static struct cpu {
	struct { u8 *at; size_t size; u8 old[8]; } open[16];	/* since a barrier */
	unsigned int count;
} cpu[2], *now;

static unsigned int stores, die_at, switch_at;
static u32 lost;			/* bitmap: which of the open stores */
static void (*other_cpu)(void);
static jmp_buf dead;

static unsigned int lose(struct cpu *c, u32 which)
{
	unsigned int i;

	for (i = c->count; i--;)
		if (which & 1U << i)
			memcpy(c->open[i].at, c->open[i].old, c->open[i].size);
	return c->count;
}

static void end_of_owner(void)
{
	lose(&cpu[1], lost >> lose(&cpu[0], lost));
	longjmp(dead, 1);
}

static void storing(volatile void *at, size_t size)
{
	if (now == &cpu[0] && stores == switch_at) {
		now = &cpu[1];
		other_cpu();
		now = &cpu[0];
	}
	if (stores++ == die_at)
		end_of_owner();
	MUST(now->count < ARRAY_SIZE(now->open));
	now->open[now->count].at = (u8 *)at;
	now->open[now->count].size = size;
	memcpy(now->open[now->count++].old, (void *)at, size);
}

static void barrier(enum barrier kind)
{
	if (kind != RMB)
		now->count = 0;
}

/* ---- what they do ---- */

static u8 *status_of(u16 head)
{
	struct request *r = &d.request[head];

	return user_memory_at(&d.memory, r->part[r->out + r->in - 1].addr, 1);
}

static void ask(void)
{
	int head = driver_add(&d, 1, 2, d.features & FEATURE_INDIRECT);

	if (head < 0)
		return;
	*status_of(head) = UNTOUCHED;
	done[head] = false;
}

/* The driver sees what is used, so it has arrived, and asks for more. */
static void driver_goes_on(void)
{
	u32 written;
	int head;

	cpu[0].count = cpu[1].count = 0;
	while ((head = driver_get(&d, &written)) >= 0) {
		MUST(*status_of(head) == (done[head] ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR));
		ask();
	}
}

static int take(void)
{
	struct vqueue_chain chain;

	if (vqueue_pop(&v, &chain) <= 0)
		return -1;
	return chain.head;
}

static void complete(u16 head)
{
	*status_of(head) = VIRTIO_BLK_S_OK;
	done[head] = true;
	complete_one(&v, head, 1);
}

static void take_back(void)
{
	struct vqueue_chain chain;

	if (vqueue_pop(&v, &chain) > 0)
		vqueue_unpop(&v, &chain);
}

static void taker(void)
{
	take();
	take_back();
	vqueue_disable_notify(&v);
	take();
	take();
}

static void completer(void)
{
	complete(in_work[1]);
	complete(in_work[0]);
}

static void completer_and_driver(void)
{
	complete(in_work[1]);
	driver_goes_on();
	complete(in_work[0]);
	driver_goes_on();
}

static void driver_and_taker(void)
{
	driver_goes_on();
	taker();
}

static const struct program {
	void (*one)(void), (*other)(void);
} programs[] = {
	{ taker, completer },
	{ taker, completer_and_driver },
	{ completer, taker },
	{ completer, driver_and_taker },
};

/* ---- after the end ---- */

/* Every request is answered; the driver tells of each new one, and it is, too. */
static void answer_all(void)
{
	struct dead_ring r = { d.desc, d.avail, d.used, d.book, d.size };
	unsigned int i;
	u32 written;
	int head;

	recover_fail_taken(&r);
	for (i = 0; i < 3 * SIZE; i++) {
		recover_fail_available(&r);
		while ((head = driver_get(&d, &written)) >= 0) {
			MUST(*status_of(head) == VIRTIO_BLK_S_IOERR || done[head]);
			MUST(*status_of(head) != UNTOUCHED);
		}
		MUST(!d.outstanding && d.free == SIZE);
		driver_must_kick(&d);
		ask();
		MUST(driver_must_kick(&d));
	}
}

static void begin(u64 features)
{
	random_seed(1);
	driver_open(&d, SIZE, features, POSITION);
	driver_attach(&d, &v, POSITION);
	ask();
	ask();
	in_work[0] = take();
	in_work[1] = take();
	ask();
	ask();
	stores = 0;
	cpu[0].count = cpu[1].count = 0;
	now = &cpu[0];
}

/* Returns how many stores were open; -1: it did not die. */
static int live_and_die(const struct program *program, u64 features)
{
	volatile int open = -1;

	begin(features);
	other_cpu = program->other;
	watch = (struct watch){ .storing = storing, .barrier = barrier };
	if (!setjmp(dead))
		program->one();
	else
		open = cpu[0].count + cpu[1].count;
	watch = (struct watch){};
	answer_all();
	driver_close(&d);
	return open;
}

static unsigned int all_deaths(const struct program *program, u64 features)
{
	unsigned int runs = 0;
	int open;

	for (die_at = 0;; die_at++)
		for (lost = 0;; lost++) {
			open = live_and_die(program, features);
			runs++;
			if (open < 0)
				return runs;
			if (lost + 1 == 1U << open)
				break;
		}
}

void test_death(void)
{
	static const u64 features[] = {
		FEATURE_INDIRECT, FEATURE_INDIRECT | FEATURE_EVENT,
	};
	unsigned int runs = 0, f, p;

	for (f = 0; f < ARRAY_SIZE(features); f++)
		for (p = 0; p < ARRAY_SIZE(programs); p++) {
			switch_at = UINT_MAX;
			runs += all_deaths(&programs[p], features[f]);
			for (switch_at = 0; switch_at < 16; switch_at++)
				runs += all_deaths(&programs[p], features[f]);
		}
	printf("the owner died %u times\n", runs);
	CHECK(runs > 1000);
}
