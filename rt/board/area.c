// SPDX-License-Identifier: GPL-2.0
/* The shared area as a real-time program sees it: the table, the host, memory, doorbells. */
#include "area.h"

#define BOARD_PAGE	4096

struct board_area board_area;

static uint32_t board_area_exist(void)
{
	uint32_t chunks = board_chunks();

	return chunks < IKC_MAX_CHUNKS ? chunks : IKC_MAX_CHUNKS;
}

/* ---- joining ---- */

static int board_area_check(const struct board_self *self, const struct ikc_area *area)
{
	if (!self->kernel || self->kernel >= IKC_MAX_KERNELS)
		return -EPROTO;
	if (!self->life || self->life > UINT16_MAX || !(self->bell & SHIMOS_BELL_READY))
		return -EPROTO;
	if (READ_ONCE(area->magic) != IKC_MAGIC || READ_ONCE(area->version) != IKC_VERSION ||
	    READ_ONCE(area->size) != sizeof(*area))
		return -EPROTO;
	return 0;
}

/* Use what is there; tell the host when that is more than before. */
static void board_area_follow(void)
{
	struct ikc_heap *heap = &board_area.heap;
	uint32_t exist = board_area_exist(), had = heap->mapped, usable;

	while (heap->mapped < exist) {
		heap->chunk[heap->mapped] = board_chunk(heap->mapped);
		heap->mapped++;
	}
	/* pairs with the acquire in the host's host.c: blocks from there are known here */
	smp_store_release(&board_entry(board_area.number)->chunks, heap->mapped);
	usable = READ_ONCE(board_area.table->usable);
	if (usable > heap->mapped)
		usable = heap->mapped;
	if (usable > heap->chunks)
		heap->chunks = usable;
	if (heap->mapped > had)
		board_area_poke();
}

/* Everything that the host may look at once `ready` says so. */
static void board_area_announce(uint64_t bell)
{
	struct ikc_kernel *me = board_entry(board_area.number);

	WRITE_ONCE(me->page_size, BOARD_PAGE);
	WRITE_ONCE(me->bell[0], bell);
	WRITE_ONCE(me->bells, 1);
	WRITE_ONCE(me->version, IKC_VERSION);
	board_area_follow();
	/* pairs with the acquire in the host's ikc_look_at(): all of the above holds */
	smp_store_release(&me->ready, board_area.life);
	board_area_poke();
}

int board_area_join(void)
{
	struct board_self self = board_self();
	struct ikc_area *area;
	char *first;
	int ret;

	if (board_area.table)
		return -EALREADY;
	if (!board_area_exist())
		return -ENODEV;
	first = board_chunk(0);
	area = (struct ikc_area *)(first + IKC_AREA_SPAN * IKC_SPAN_SIZE);
	ret = board_area_check(&self, area);
	if (ret)
		return ret;
	board_area.table = area;
	board_area.ports = (struct ikc_port *)(first + IKC_PORTS_SPAN * IKC_SPAN_SIZE);
	board_area.number = self.kernel;
	board_area.life = self.life;
	board_area.heap.owner = ikc_owner(self.kernel, self.life);
	board_area_announce(self.bell);
	return 0;
}

/* ---- looking ---- */

/* The life in which the host is up, or 0. */
static uint32_t board_area_host_life(void)
{
	const struct ikc_facts *facts = &board_area.table->facts[BOARD_HOST];
	/* pairs with the release in the host's ikc_attach_as() */
	uint32_t ready = smp_load_acquire(&board_entry(BOARD_HOST)->ready);

	if (READ_ONCE(facts->state) != IKC_UP || ready != READ_ONCE(facts->life))
		return 0;
	return ready <= UINT16_MAX ? ready : 0;
}

bool board_area_host_up(void)
{
	return board_area.host && READ_ONCE(board_entry(BOARD_HOST)->ready) == board_area.host;
}

bool board_area_look(void)
{
	struct ikc_kernel *me = board_entry(board_area.number);
	__u64 *pending = &me->pending[BOARD_HOST].queues;
	uint32_t events, chunks;

	/* That it rang was all; a full barrier: what it rang for is looked at after this. */
	if (READ_ONCE(*pending))
		ikc_fetch_andnot64(pending, ~0ULL);
	events = READ_ONCE(me->events);
	chunks = board_chunks();
	if (events == board_area.seen && chunks == board_area.chunks)
		return false;
	board_area.seen = events;
	board_area.chunks = chunks;
	smp_mb();	/* what is counted later is looked at again */
	board_area_follow();
	board_area.host = board_area_host_life();
	return true;
}

/* ---- ringing ---- */

void board_area_poke(void)
{
	__atomic_fetch_add(&board_entry(BOARD_HOST)->events, 1, __ATOMIC_SEQ_CST);
	board_ring_host();
}

void board_area_ring(unsigned int queue)
{
	/* a full barrier: what it is for comes before it */
	ikc_fetch_or64(&board_entry(BOARD_HOST)->pending[board_area.number].queues, 1ULL << queue);
	board_ring_host();
}

/* ---- memory ---- */

uint32_t board_area_alloc(uint32_t size)
{
	uint32_t offset = ikc_heap_alloc(&board_area.heap, size);

	if (!offset && !READ_ONCE(board_area.table->wanted)) {
		WRITE_ONCE(board_area.table->wanted, 1);
		board_area_poke();
	}
	return offset;
}

void *board_area_pointer(uint32_t offset)
{
	return (char *)board_area.heap.chunk[offset >> IKC_CHUNK_SHIFT] +
	       offset % IKC_CHUNK_SIZE;
}
