// SPDX-License-Identifier: GPL-2.0
/*
 * Real death: three processes share a chunk, allocate, free and hand blocks to
 * each other through rings, and are killed at any instruction, again and again.
 * The parent plays the host: it reclaims the dead one's blocks and starts its
 * next life.  In the end nothing may be missing.
 *
 * Blocks are handed over as the kernel module does it: put on their way, then named
 * in a message; the receiver accepts what a message names.  Who sees that a receiver
 * died sends it nothing more, recalls what was on its way there, and only then
 * sends to the next life.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

#define KILLS		300
#define PROCESSES	3
#define LIVES		(KILLS + 8)
#define RING_SLOTS	8
#define SLOT_SIZE	64
#define RING_BYTES	1024
#define SPANS		6		/* in play: it is crowded */
#define HELD		24		/* blocks a process has at most */
#define STEPS_BEFORE	3000		/* a life lasts up to so many steps */

struct message {
	__u64 offset, size, stamp;
};

/* Each ring is used for one life of either side: their sum only grows. */
union ring_memory {
	struct ikc_ring ring;
	char bytes[RING_BYTES];
};

static struct shared {
	__u32 life[PROCESSES];	/* the host's; 0: does not run */
	__u64 port[PROCESSES][PROCESSES];	/* [to][from]: lives the ring is for */
	__u64 steps[PROCESSES];	/* of this life */
	__u32 quiet[PROCESSES];	/* sends nothing more */
	__u32 stop;
	__u64 sent, unsent, recalled;
	union ring_memory memory[PROCESSES][PROCESSES][2 * LIVES];
} *shared;

static struct ikc_chunk *chunk;		/* with its blocks behind it */
static __u64 seed_of_run;

/* What a process has; its own memory. */
static unsigned int me;
static __u32 my_life;
static struct ikc_heap heap;
static struct held { __u64 offset, size, stamp; } held[HELD];
static unsigned int held_count;
static struct inbox {
	struct ikc_consumer c;
	__u32 life;		/* of the sender; 0: none yet */
} inbox[PROCESSES];
static struct outbox {
	struct ikc_producer p;
	__u32 life;
} outbox[PROCESSES];

static __u64 *word_at(__u64 offset)
{
	return (__u64 *)((char *)chunk + offset);
}

static __u64 lives(__u32 from, __u32 to)
{
	return (__u64)from << 32 | to;
}

/* The first and the last word tell whether anybody else wrote into the block. */
static void keep(__u64 offset, __u64 size, __u64 stamp)
{
	held[held_count++] = (struct held){ offset, size, stamp };
}

static void allocate(void)
{
	__u64 size = 256U << random_below(IKC_CLASSES), offset, stamp = random_u64();

	if (held_count == HELD)
		return;
	offset = ikc_heap_alloc(&heap, size);
	if (!offset)
		return;
	MUST(offset % (size < 4096 ? size : 4096) == 0);
	*word_at(offset) = stamp;
	*word_at(offset + size - 8) = stamp;
	keep(offset, size, stamp);
}

static struct held let_go(unsigned int i)
{
	struct held h = held[i];

	MUST(*word_at(h.offset) == h.stamp && *word_at(h.offset + h.size - 8) == h.stamp);
	held[i] = held[--held_count];
	return h;
}

static void free_one(unsigned int i)
{
	MUST(ikc_heap_free(&heap, let_go(i).offset) == 0);
}

static void count(__u64 *counter, __u64 more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

/* Has the receiver died?  The ring to its next life is another. */
static void look_after_outbox(unsigned int to, __u32 life)
{
	struct outbox *box = &outbox[to];

	if (!box->life || box->life == life)
		return;
	box->life = 0;
	count(&shared->recalled, ikc_heap_recall(&heap, to));
}

static struct outbox *find_outbox(unsigned int to)
{
	__u32 life = smp_load_acquire(&shared->life[to]);
	struct outbox *box = &outbox[to];
	struct ikc_ring *ring;

	look_after_outbox(to, life);
	if (!life || smp_load_acquire(&shared->port[to][me]) != lives(my_life, life))
		return NULL;
	if (box->life != life) {
		ring = &shared->memory[to][me][my_life + life].ring;
		MUST(!ikc_producer_init(&box->p, ring, RING_BYTES));
		box->life = life;
	}
	return box;
}

static void send_one(unsigned int to)
{
	struct outbox *box = find_outbox(to);
	struct message m;
	struct held h;
	int ret;

	if (!box || !held_count)
		return;
	/* into a full ring as well, now and then */
	if (!ikc_has_room(&box->p) && random_below(64))
		return;
	h = let_go(random_below(held_count));
	m = (struct message){ h.offset, h.size, h.stamp };
	MUST(ikc_heap_send(&heap, h.offset, to) == 0);
	ret = ikc_ring_write(&box->p, &m, sizeof(m));
	if (!ret) {
		count(&shared->sent, 1);
		return;
	}
	MUST(ret == -EAGAIN);
	MUST(ikc_heap_unsend(&heap, h.offset, to) == 0);
	keep(h.offset, h.size, h.stamp);
	count(&shared->unsent, 1);
}

/* If it cannot be accepted the sender is dead, and the host has been here first. */
static void believe(unsigned int from, const struct message *m)
{
	__u32 life = inbox[from].life;

	if (!ikc_heap_accept(&heap, m->offset, m->size, ikc_owner(from, life))) {
		MUST(smp_load_acquire(&shared->life[from]) != life);
		return;
	}
	MUST(ikc_heap_size(&heap, m->offset) == m->size);
	MUST(*word_at(m->offset) == m->stamp);
	MUST(*word_at(m->offset + m->size - 8) == m->stamp);
	MUST(held_count < HELD);
	keep(m->offset, m->size, m->stamp);
}

static void receive(unsigned int from, bool all)
{
	struct message m;
	__u32 len;
	int ret;

	do {
		if (held_count == HELD)
			free_one(random_below(HELD));
		ret = ikc_ring_read(&inbox[from].c, &m, sizeof(m), &len);
		MUST(ret == -EAGAIN || (!ret && len == sizeof(m)));
		if (!ret)
			believe(from, &m);
	} while (!ret && all);
}

/* A ring for this life of the sender, after what is left in the one before. */
static void look_after_inbox(unsigned int from)
{
	__u32 life = smp_load_acquire(&shared->life[from]);
	struct inbox *box = &inbox[from];
	struct ikc_ring *ring;

	if (box->life && life == box->life) {
		receive(from, false);
		return;
	}
	if (box->life)
		receive(from, true);
	box->life = life;
	if (!life)
		return;
	ring = &shared->memory[me][from][my_life + life].ring;
	MUST(!ring->magic);
	ikc_ring_init(ring, RING_SLOTS, SLOT_SIZE);
	ikc_consumer_init(&box->c, ring, RING_SLOTS, SLOT_SIZE);
	smp_store_release(&shared->port[me][from], lives(life, my_life));
}

static unsigned int another(void)
{
	return (me + 1 + random_below(PROCESSES - 1)) % PROCESSES;
}

static void one_step(void)
{
	switch (random_below(8)) {
	case 0:
	case 1:
	case 2:
		allocate();
		break;
	case 3:
		if (held_count)
			free_one(random_below(held_count));
		break;
	case 4:
		if (held_count > 4)
			free_one(random_below(held_count));
		break;
	case 5:
		send_one(another());
		break;
	default:
		look_after_inbox(another());
	}
	WRITE_ONCE(shared->steps[me], shared->steps[me] + 1);
}

static void live(unsigned int process, __u32 life)
{
	unsigned int i;

	/* none stays if the host finds something broken, and ends */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me = process;
	my_life = life;
	random_seed(seed_of_run << 32 | life << 8 | process);
	make_heap(&heap, &chunk, 1, ikc_owner(me, life));
	while (!smp_load_acquire(&shared->stop))
		one_step();
	smp_store_release(&shared->quiet[me], 1);
	for (i = 0; i < PROCESSES; i++)
		while (!smp_load_acquire(&shared->quiet[i]))
			sched_yield();
	for (i = 0; i < PROCESSES; i++) {
		look_after_outbox(i, shared->life[i]);
		if (i != me && inbox[i].life)
			receive(i, true);
	}
	while (held_count)
		free_one(0);
	fflush(stdout);
	_exit(0);
}

static pid_t start(unsigned int process, __u32 life)
{
	pid_t pid;

	WRITE_ONCE(shared->steps[process], 0);
	smp_store_release(&shared->life[process], life);
	pid = fork();
	if (!pid)
		live(process, life);
	MUST(pid > 0);
	return pid;
}

/* Wait until it has done so many steps; false: it died by itself. */
static bool let_live(unsigned int process, pid_t pid, __u64 steps)
{
	while (READ_ONCE(shared->steps[process]) < steps) {
		if (waitpid(pid, NULL, WNOHANG))
			return false;
		sched_yield();
	}
	return true;
}

static bool kill_one(unsigned int process, pid_t pid)
{
	int status;

	if (!let_live(process, pid, random_below(8) ? random_below(STEPS_BEFORE) : 0))
		return false;
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

static bool stop_all(pid_t *pid)
{
	bool ok = true;
	int i, status;

	for (i = 0; i < PROCESSES; i++)
		let_live(i, pid[i], 100);
	smp_store_release(&shared->stop, 1);
	for (i = 0; i < PROCESSES && ok; i++)
		ok = waitpid(-1, &status, 0) > 0 && !status;
	return ok;
}

static void check_complete(void)
{
	__u64 blocks, bytes, offset[SPANS * IKC_SPAN_BLOCKS];
	unsigned int class, n, i;

	ikc_heap_used(&heap, &blocks, &bytes);
	CHECK(!blocks && !bytes);
	for (class = 0; class < IKC_CLASSES; class++) {
		for (n = 0; n < SPANS * IKC_SPAN_BLOCKS; n++) {
			offset[n] = ikc_heap_alloc(&heap, 256U << class);
			if (!offset[n])
				break;
		}
		CHECK(n == SPANS * IKC_SPAN_BLOCKS >> class);
		for (i = 0; i < n; i++)
			CHECK(!ikc_heap_free(&heap, offset[i]));
	}
}

static void *share(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

void test_kill(__u64 seed)
{
	__u32 life[PROCESSES], i, victim;
	__u64 reclaimed = 0;
	pid_t pid[PROCESSES];

	seed_of_run = seed;
	random_seed(seed);
	shared = share(sizeof(*shared));
	chunk = share(IKC_CHUNK_SIZE);
	ikc_chunk_init(chunk, IKC_SPANS - SPANS);
	make_heap(&heap, &chunk, 1, ikc_owner(PROCESSES, 1));
	for (i = 0; i < PROCESSES; i++)
		pid[i] = start(i, life[i] = 1);
	for (i = 0; i < KILLS; i++) {
		victim = random_below(PROCESSES);
		MUST(kill_one(victim, pid[victim]));
		WRITE_ONCE(shared->life[victim], 0);
		reclaimed += ikc_heap_reclaim(&heap, ikc_owner(victim, life[victim]));
		pid[victim] = start(victim, ++life[victim]);
	}
	MUST(stop_all(pid));	/* else the others may wait for one that ended */
	printf("killed %u times: %llu blocks reclaimed, %llu sent, %llu not after all, %llu recalled\n",
	       KILLS, reclaimed, shared->sent, shared->unsent, shared->recalled);
	CHECK(reclaimed && shared->sent && shared->recalled);
	check_complete();
	munmap(shared, sizeof(*shared));
	munmap(chunk, IKC_CHUNK_SIZE);
}
