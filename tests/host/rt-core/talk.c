// SPDX-License-Identifier: GPL-2.0
/*
 * A host for the image: an area where it can reach it, and a program there that talks to it.
 * That one runs when the image halts, as if there were one CPU for both, and sleeps until it is
 * rung: if both sleep a doorbell was lost.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "core.h"
#include "../rt-ikc/host.h"

#define TALK_CHANNEL	1
#define TALK_SLOTS	100
#define TALK_SLOT	64
#define TALK_AHEAD	32	/* messages whose echo has not come back */
#define TALK_PROGRAMS	2	/* one after the other */

static struct {
	bool on;
	bool echo;		/* with the echo service, not with flood.elf */
	bool awake;
	unsigned int programs;	/* that are through */
	__u64 messages, sent, got;
	__u64 slept;
	struct host_end end;
	struct shimos_rt_boot *boot;
} talk;

/* ---- the area ---- */

void *world_memory(__u32 number)
{
	void *at = (void *)(SHIMOS_RT_IKC + (__u64)number * IKC_CHUNK_SIZE);

	if (mmap(at, IKC_CHUNK_SIZE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		core_broken("there is no memory at %p", at);
	return at;
}

static unsigned int talk_other(void)
{
	return talk.echo ? IKC_ECHO_CHANNEL : TALK_CHANNEL;
}

static void talk_open(void)
{
	talk.sent = talk.got = 0;
	talk.awake = true;
	if (host_open(&talk.end, TALK_CHANNEL, talk_other(), TALK_SLOTS, TALK_SLOT))
		core_broken("the host has no memory for a ring");
}

/**
 * core_talk() - let there be IKC, and a program on the host
 * @with: the image's service: "echo", or flood.elf's "flood"
 * @messages: how many the program sends, each time
 */
void core_talk(struct shimos_rt_boot *boot, struct shimos_shared *shared, const char *with,
	       __u64 messages)
{
	talk.on = true;
	talk.echo = !strcmp(with, "echo");
	talk.messages = messages;
	world_begin();
	talk.boot = boot;
	boot->ikc_chunks = world.exist;
	boot->bell = BELL;
	shared->ikc_kernel = NUMBER;
	shared->ikc_life = LIFE;
	talk_open();
}

/* ---- the program ---- */

static void talk_send(void)
{
	struct ikc_echo_message message = {
		.op = IKC_ECHO,
		.channel = TALK_CHANNEL,
		.cookie = talk.sent,
	};

	while (talk.sent < talk.messages && (!talk.echo || talk.sent - talk.got < TALK_AHEAD)) {
		if (!(talk.echo ? host_send(&talk.end, &message, sizeof(message)) :
				  host_send(&talk.end, &talk.sent, sizeof(talk.sent))))
			return;
		message.cookie = ++talk.sent;
	}
}

/* Each echo by its cookie; of flood.elf's first how many it got, and then the numbers. */
static void talk_judge(const __u64 *words, int length)
{
	__u64 wanted = talk.got, is = talk.echo ? words[1] : words[0];
	int size = talk.echo ? sizeof(struct ikc_echo_message) : sizeof(*words);

	if (!talk.echo)
		wanted = talk.got ? talk.got - 1 : talk.messages;
	if (length != size || is != wanted)
		core_broken("message %llu says %llu instead of %llu, and has %d bytes", talk.got,
			    is, wanted, length);
	talk.got++;
}

static bool talk_through(void)
{
	return talk.got == talk.messages + !talk.echo;
}

/* The image waits for the room that was made. */
static void talk_ring_back(void)
{
	if (ikc_must_ring_back(&talk.end.in))
		ikc_fetch_or64(&host_entry(NUMBER)->pending[HOST].queues,
			       1ULL << (IKC_FIRST_CHANNEL + TALK_CHANNEL));
}

/* True if something came. */
static bool talk_receive(void)
{
	struct ikc_echo_message message;
	__u64 before = talk.got;
	int length;

	while (!talk_through()) {
		length = host_read(&talk.end, &message, sizeof(message));
		if (length == -EBADMSG)
			core_broken("the image wrote nonsense");
		if (length < 0)
			break;
		talk_judge((const __u64 *)&message, length);
	}
	talk_ring_back();
	return talk.got != before;
}

static bool talk_may_sleep(void)
{
	bool full = talk.sent == talk.messages || talk.echo || ikc_wait_for_room(&talk.end.out);
	bool quiet = ikc_arm(&talk.end.in);

	talk_ring_back();
	return quiet && full;
}

static bool talk_connected(void)
{
	if (!talk.end.out_offset && host_connect(&talk.end))
		talk.end.out_offset = 0;
	return talk.end.out_offset;
}

/* KLoader adds a chunk; the image has to say that it has it, too. */
static void talk_grow(void)
{
	if (host_entry(NUMBER)->chunks != world.exist)
		core_broken("the image knows %u chunks of %u", host_entry(NUMBER)->chunks,
			    world.exist);
	world_grow();
	__atomic_store_n(&talk.boot->ikc_chunks, world.exist, __ATOMIC_RELEASE);
}

static void talk_leave(void)
{
	host_close(&talk.end);
	talk_grow();
	if (++talk.programs < TALK_PROGRAMS)
		talk_open();
}

static void talk_run(void)
{
	if (!talk_connected()) {
		talk.awake = false;
		return;
	}
	talk_send();
	if (talk_through())
		talk_leave();
	else if (!talk_receive() && talk_may_sleep()) {
		talk.awake = false;
		talk.slept++;
	}
}

/* ---- between it and the image ---- */

/* Is the image rung?  Its bell is one interrupt, whatever for. */
static bool talk_rings(void)
{
	static __u32 seen;
	struct ikc_kernel *image = host_entry(NUMBER);
	__u32 events = READ_ONCE(image->events);
	bool rings = events != seen || READ_ONCE(image->pending[HOST].queues);

	seen = events;
	return rings;
}

/**
 * core_talk_rung() - the image rings the host
 */
void core_talk_rung(void)
{
	__u64 queues = ikc_fetch_andnot64(&host_entry(HOST)->pending[NUMBER].queues, ~0ULL);

	if (!host_poked() && !queues)
		core_broken("the image rings, and there is nothing to look at");
	if (host_entry(NUMBER)->ready == LIFE)
		talk.awake = true;
}

/**
 * core_talk_turn() - the image halts: its program on the host has the CPU
 *
 * Return: true if it rings the image
 */
bool core_talk_turn(const struct core *core)
{
	bool rings;

	if (!talk.on || core_talk_over())
		return false;
	rings = talk_rings();
	while (!rings && talk.awake) {
		talk_run();
		rings = talk_rings();
	}
	if (!rings && !core->deadline)
		core_broken("both sleep: %llu sent, %llu come back", talk.sent, talk.got);
	return rings;
}

/**
 * core_talk_over() - whether all programs are through
 */
bool core_talk_over(void)
{
	return talk.on && talk.programs == TALK_PROGRAMS;
}

/**
 * core_talk_say() - what it was
 */
void core_talk_say(void)
{
	const struct ikc_ring *ring = talk.end.in.ring;

	if (talk.on)
		printf("%u programs with %llu messages each: slept %llu times, the last was rung %llu times for messages\n",
		       talk.programs, talk.messages, talk.slept, ring->rung);
}
