// SPDX-License-Identifier: GPL-2.0
/*
 * What kernels say to each other by single words: doorbells that move, pokes, ports,
 * memory that is added, held and given back, and who is there.
 *
 * That code is too much the kernel's to run here as it is.  So these are the steps it
 * does on shared words, each in a function of the same name; whoever changes an order
 * there changes it here (tests/python/test_model_steps.py compares).  ikc_heap_chunks()
 * and ikc_heap_mapped() are the code itself.
 */
#include <string.h>
#include "explore.h"
#include "heap.h"

#define atomic_inc(x)							\
	model_update(MODEL_SITE("atomic_inc"), x, 4, MODEL_ADD, 1, MODEL_RELAXED)
#define smp_mb__before_atomic()	model_fence(MODEL_SITE("before_atomic"), MODEL_MB)
#define wmb()			model_fence(MODEL_SITE("wmb"), MODEL_WMB)

enum { DOWN, UP };
enum { OLD_PLACE, NEW_PLACE };

#define LIFE	2		/* the one before was 1 */
#define OFFSET	0x200000ULL	/* in the chunk that is added */

/* What is shared; each scenario uses some of it. */
static struct {
	__u64 pending, place, message, data;
	__u32 events, seen;			/* seen: one kernel's own */
	__u32 bell[2], host_bell, started, unused;
	__u32 ring, attached;			/* a port */
	__u32 magic, seq, slot, unused_2;	/* the ring that it names */
	__u32 state, life, host_state, host_life;	/* the last two: the host's own copy */
	__u32 cpus, ready, page_size, holds;
	__u32 agent_ready, agent_version;
	__u32 chunks, usable, guest_chunks, contents;
	__u64 chunk;				/* physical address of the one added */
	__u64 pointer[2];			/* where host and guest have mapped it */
} area;

static struct ikc_heap host, guest;
static struct { __u64 used; } note;

static void setup(const struct scenario *s)
{
	memset(&area, 0, sizeof(area));
	memset(&note, 0, sizeof(note));
	memset(&host, 0, sizeof(host));
	memset(&guest, 0, sizeof(guest));
	host.chunks = host.mapped = guest.chunks = guest.mapped = 1;
	area.chunks = area.usable = area.guest_chunks = 1;
	area.state = area.host_state = s->a;
	area.life = area.host_life = 1;
	if (s->b) {
		area.ring = OFFSET;
		area.life = LIFE;
		area.magic = 1;
	}
	if (s->c) {
		area.chunk = OFFSET;
		area.contents = 1;
		area.chunks = area.usable = 2;
	}
	model_share(&area, sizeof(area));
	model_share(&host.mapped, 8);	/* and chunks */
	model_share(&guest.mapped, 8);
}

static void ikc_arch_bell_ring(__u32 *bell)
{
	wmb();
	model_ring(bell);
}

/* ---- a doorbell that moves: peers.c, bell.c, look.c ---- */

static void ikc_ring_queues(void)
{
	__u64 place;

	ikc_fetch_or64(&area.pending, 1);
	place = READ_ONCE(area.place);
	ikc_arch_bell_ring(&area.bell[place == NEW_PLACE]);
}

static void bell_sender(const struct scenario *s)
{
	WRITE_ONCE(area.data, 1);
	ikc_ring_queues();
}

static bool ikc_look_rang(void)
{
	if (!(READ_ONCE(area.pending) & 1))
		return false;
	if (!(ikc_fetch_andnot64(&area.pending, 1) & 1))
		return false;
	MODEL_CHECK(READ_ONCE(area.data) == 1, "rang before there was something");
	return true;
}

/* Where it was nobody listens any more. */
static void ikc_bell_moved(void)
{
	WRITE_ONCE(area.place, NEW_PLACE);
	smp_mb();
}

static void bell_owner(const struct scenario *s)
{
	ikc_bell_moved();
	while (!ikc_look_rang())
		model_wait(&area.bell[NEW_PLACE]);
}

/* ---- pokes: peers.c; what is published in a port: rx.c, tx.c ---- */

static void ikc_poke(__u32 *bell)
{
	smp_mb__before_atomic();
	atomic_inc(&area.events);
	ikc_arch_bell_ring(bell);
}

static void ikc_rx_publish(void)
{
	WRITE_ONCE(area.magic, 1);
	WRITE_ONCE(area.life, LIFE);
	smp_store_release(&area.ring, OFFSET);
	ikc_poke(&area.bell[0]);
}

static void publisher(const struct scenario *s)
{
	ikc_rx_publish();
}

static void ikc_tx_detach(void)
{
	smp_store_release(&area.attached, 0);
	ikc_poke(&area.bell[0]);
}

static bool ikc_tx_attach(void)
{
	__u32 offset = smp_load_acquire(&area.ring);

	if (!offset)
		return false;
	MODEL_CHECK(READ_ONCE(area.life) == LIFE, "a ring for another life");
	WRITE_ONCE(area.attached, offset);
	smp_mb();
	if (READ_ONCE(area.ring) != offset) {
		smp_store_release(&area.attached, 0);
		ikc_poke(&area.bell[0]);
		return false;
	}
	MODEL_CHECK(READ_ONCE(area.magic) == 1, "a ring that was not made yet");
	return true;
}

static void ikc_peers_looking(void)
{
	WRITE_ONCE(area.seen, READ_ONCE(area.events));
	smp_mb();
}

static void looker(const struct scenario *s)
{
	bool found = false;

	while (!found) {
		ikc_peers_looking();
		found = ikc_tx_attach();
		while (!found && READ_ONCE(area.events) == READ_ONCE(area.seen))
			model_wait(&area.bell[0]);
	}
}

/* ---- letting go of a ring: tx.c, rx.c ---- */

static void port_sender(const struct scenario *s)
{
	if (!ikc_tx_attach())
		return;
	WRITE_ONCE(area.slot, 1);
	smp_store_release(&area.seq, 1);
	model_note(&note.used, 8, 1);
	ikc_tx_detach();
}

static bool ikc_rx_attached(void)
{
	return smp_load_acquire(&area.attached);
}

/* What was written is there and can be dropped, then the memory is somebody else's. */
static void drop_unread(void)
{
	__u32 seq = smp_load_acquire(&area.seq);

	MODEL_CHECK(seq == note.used, "a packet is overlooked");
	WRITE_ONCE(area.slot, 2);
}

static void ikc_rx_destroy(void)
{
	WRITE_ONCE(area.ring, 0);
	smp_mb();
	while (ikc_rx_attached())
		model_wait(&area.bell[0]);
	drop_unread();
}

static void port_owner(const struct scenario *s)
{
	ikc_rx_destroy();
}

static void port_finish(const struct scenario *s)
{
	MODEL_CHECK(area.slot == 2, "a ring is written to after it was freed");
}

/* ---- a chunk is added: host.c, area.c, heap.h ---- */

static void ikc_area_map(struct ikc_heap *heap, __u64 *pointer)
{
	WRITE_ONCE(*pointer, OFFSET);
	smp_store_release(&heap->mapped, 2);
}

static void ikc_area_use(struct ikc_heap *heap, __u32 chunks)
{
	smp_store_release(&heap->chunks, chunks);
}

static void ikc_host_grow(void)
{
	WRITE_ONCE(area.contents, 1);
	ikc_area_map(&host, &area.pointer[0]);
	WRITE_ONCE(area.chunk, OFFSET);
	smp_wmb();
	WRITE_ONCE(area.chunks, 2);
	ikc_poke(&area.bell[1]);
}

static bool ikc_host_update_usable(void)
{
	if (smp_load_acquire(&area.guest_chunks) < 2)
		return false;
	WRITE_ONCE(area.usable, 2);
	ikc_area_use(&host, 2);
	return true;
}

static void chunk_host(const struct scenario *s)
{
	ikc_host_grow();
	while (!ikc_host_update_usable())
		model_wait(&area.host_bell);
	ikc_poke(&area.bell[0]);
}

static bool ikc_area_follow(void)
{
	if (READ_ONCE(area.chunks) < 2)
		return false;
	smp_rmb();
	MODEL_CHECK(READ_ONCE(area.chunk) == OFFSET, "a chunk without an address");
	MODEL_CHECK(READ_ONCE(area.contents) == 1, "a chunk that was not made yet");
	ikc_area_map(&guest, &area.pointer[1]);
	smp_store_release(&area.guest_chunks, 2);
	if (READ_ONCE(area.usable) == 2)
		ikc_area_use(&guest, 2);
	return true;
}

static void chunk_guest(const struct scenario *s)
{
	while (!ikc_area_follow())
		model_wait(&area.bell[1]);
	ikc_poke(&area.host_bell);
}

/* Another CPU of the host allocates there, and sends what it got. */
static void chunk_sender(const struct scenario *s)
{
	while (ikc_heap_chunks(&host) < 2)
		model_wait(&area.bell[0]);
	MODEL_CHECK(READ_ONCE(area.pointer[0]) == OFFSET, "allocates where nothing is mapped");
	smp_store_release(&area.message, OFFSET);
}

/* Another CPU of the guest has to follow the offset. */
static void chunk_receiver(const struct scenario *s)
{
	__u64 message = smp_load_acquire(&area.message);
	__u32 mapped = ikc_heap_mapped(&guest);

	MODEL_CHECK(!message || mapped == 2, "an offset that cannot be followed");
	if (mapped == 2)
		MODEL_CHECK(READ_ONCE(area.pointer[1]) == OFFSET,
			    "follows where nothing is mapped");
}

/* The guest has joined late: all others use the chunk already. */
static void chunk_user(const struct scenario *s)
{
	if (ikc_heap_chunks(&guest) == 2)
		MODEL_CHECK(READ_ONCE(area.pointer[1]) == OFFSET,
			    "allocates where nothing is mapped");
}

/* ---- who is there: host.c, attach.c, look.c ---- */

static void ikc_host_publish(__u32 life, __u32 state)
{
	WRITE_ONCE(area.life, life);
	WRITE_ONCE(area.cpus, 4);
	smp_wmb();
	WRITE_ONCE(area.state, state);
}

static void ikc_host_set_state(__u32 life, __u32 state)
{
	smp_store_release(&area.host_state, state);
	ikc_host_publish(life, state);
}

static void ikc_host_up(void)
{
	WRITE_ONCE(area.host_life, LIFE);
	WRITE_ONCE(area.ready, 0);
	ikc_host_set_state(LIFE, UP);
}

static void table_host(const struct scenario *s)
{
	ikc_host_up();
	ikc_arch_bell_ring(&area.started);	/* its first CPU */
}

static void ikc_attach_announce(void)
{
	WRITE_ONCE(area.page_size, 16384);
	smp_store_release(&area.ready, LIFE);
}

static void table_guest(const struct scenario *s)
{
	model_wait(&area.started);
	ikc_attach_announce();
	ikc_poke(&area.bell[0]);
}

static bool ikc_look_at(void)
{
	__u32 ready = smp_load_acquire(&area.ready);

	if (READ_ONCE(area.state) != UP || !ready || ready != READ_ONCE(area.life))
		return false;
	MODEL_CHECK(READ_ONCE(area.cpus) == 4, "up without its CPUs");
	MODEL_CHECK(READ_ONCE(area.page_size) == 16384, "up without what it says of itself");
	return true;
}

static void table_peer(const struct scenario *s)
{
	while (!ikc_look_at())
		model_wait(&area.bell[0]);
}

/* ---- memory that is held: peers.c, host.c ---- */

static void ikc_unhold(void)
{
	smp_mb();
	WRITE_ONCE(area.holds, 0);
	ikc_poke(&area.host_bell);
}

static bool ikc_hold(const __u32 *state, const __u32 *life)
{
	bool up;

	WRITE_ONCE(area.holds, 1);
	smp_mb();
	up = READ_ONCE(*state) == UP;
	smp_rmb();
	if (up && READ_ONCE(*life) == 1)
		return true;
	ikc_unhold();
	return false;
}

static void holder(const struct scenario *s)
{
	if (!ikc_hold(&area.state, &area.life))
		return;
	WRITE_ONCE(area.data, 1);
	ikc_unhold();
}

static void host_holder(const struct scenario *s)
{
	if (!ikc_hold(&area.host_state, &area.host_life))
		return;
	WRITE_ONCE(area.data, 1);
	ikc_unhold();
}

static void ikc_host_wait_unheld(void)
{
	smp_mb();
	while (READ_ONCE(area.holds))
		model_wait(&area.host_bell);
}

/* Down, and then another life has its memory. */
static void hold_host(const struct scenario *s)
{
	ikc_host_set_state(1, DOWN);
	ikc_host_wait_unheld();
	ikc_host_up();
	WRITE_ONCE(area.data, 2);
}

static void hold_finish(const struct scenario *s)
{
	MODEL_CHECK(area.data == 2, "memory is used that is not held any more");
}

/* ---- the page that KLoader and the agent share: kloader/kind_linux.c, agent/main.c ---- */

static void agent_init(const struct scenario *s)
{
	WRITE_ONCE(area.agent_version, 7);
	smp_wmb();
	WRITE_ONCE(area.agent_ready, 1);
	ikc_arch_bell_ring(&area.host_bell);
}

static __u32 kind_ready(void)
{
	return smp_load_acquire(&area.agent_ready) ? READ_ONCE(area.agent_version) : 8;
}

static void kloader(const struct scenario *s)
{
	__u32 version;

	while ((version = kind_ready()) == 8)
		model_wait(&area.host_bell);
	MODEL_CHECK(version == 7, "ready without a version");
}

static void finish_nothing(const struct scenario *s)
{
}

#define AREA(text, last, state, port, chunk, ...)			\
	{ .name = "area: " text, .window = MODEL_WINDOW, .victim = -1,	\
	  .setup = setup, .finish = last, .a = state, .b = port, .c = chunk, \
	  .threads = sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *),	\
	  .thread = { __VA_ARGS__ } }

const struct scenario area_scenarios[] = {
	AREA("a doorbell that moves", finish_nothing, UP, 0, 0, bell_sender, bell_owner),
	AREA("a poke", finish_nothing, UP, 0, 0, publisher, looker),
	AREA("a port", port_finish, UP, 1, 0, port_sender, port_owner),
	AREA("another chunk", finish_nothing, UP, 0, 0, chunk_host, chunk_guest, chunk_sender,
	     chunk_receiver),
	AREA("another chunk, late", finish_nothing, UP, 0, 1, chunk_guest, chunk_user),
	AREA("a kernel comes up", finish_nothing, DOWN, 0, 0, table_host, table_guest,
	     table_peer),
	AREA("memory is held", hold_finish, UP, 0, 0, holder, hold_host),
	AREA("memory is held by the host", hold_finish, UP, 0, 0, host_holder, hold_host),
	AREA("an agent", finish_nothing, UP, 0, 0, agent_init, kloader),
};
const unsigned int area_scenario_count =
	sizeof(area_scenarios) / sizeof(area_scenarios[0]);
