// SPDX-License-Identifier: GPL-2.0
/* Joining, being refused, and an area that grows. */
#include "test.h"

void test_join(void)
{
	const struct ikc_kernel *me;

	client_begin();
	me = host_entry(NUMBER);
	CHECK(!board_ikc_serve() && !board.rung);
	CHECK(board_ikc_open(1, 1, 16, 64) == -ENODEV);
	CHECK(!board_ikc_join());
	CHECK(port_to_client(IKC_ECHO_CHANNEL)->ring);
	CHECK(me->ready == LIFE && me->version == IKC_VERSION && me->page_size == 4096);
	CHECK(me->bells == 1 && me->bell[0] == BELL && me->chunks == 1 && !me->holds);
	CHECK(host_poked() && board.rung);
	CHECK(board_ikc_join() == -EALREADY);
	CHECK(settle());
	CHECK(port_to_client(IKC_ECHO_CHANNEL)->life == HOST_LIFE);
	/* nothing new: nobody is rung, and nothing is looked at */
	host_poked();
	board.rung = 0;
	host_entry(NUMBER)->chunks = 0;
	CHECK(settle() && !host_poked() && !board.rung && !me->chunks);
	host_poke();
	CHECK(settle() && !host_poked() && !board.rung && me->chunks == 1);
	host_entry(NUMBER)->chunks = 0;
	CHECK(settle() && !me->chunks);
}

/* Nothing was written, and nobody rung. */
static void refused(int error)
{
	char *before = malloc(IKC_CHUNK_SIZE);

	memcpy(before, world.heap.chunk[0], IKC_CHUNK_SIZE);
	CHECK(board_ikc_join() == error);
	CHECK(strcmp(board_ikc_explain(error), board_ikc_explain(-1)));
	CHECK(!memcmp(before, world.heap.chunk[0], IKC_CHUNK_SIZE));
	CHECK(!board_ikc_serve() && !board.rung);
	free(before);
}

#define REFUSED(error, what, value) do {		\
	__typeof__(what) right = what;			\
							\
	what = value;					\
	refused(error);					\
	what = right;					\
} while (0)

void test_refused(void)
{
	client_begin();
	REFUSED(-ENODEV, world.exist, 0);
	REFUSED(-EPROTO, board.self.kernel, HOST);
	REFUSED(-EPROTO, board.self.kernel, IKC_MAX_KERNELS);
	REFUSED(-EPROTO, board.self.kernel, ~0U);
	REFUSED(-EPROTO, board.self.life, 0);
	REFUSED(-EPROTO, board.self.life, 0x10000);
	REFUSED(-EPROTO, board.self.bell, 0);
	REFUSED(-EPROTO, board.self.bell, BELL & ~SHIMOS_BELL_READY);
	REFUSED(-EPROTO, world.area->magic, IKC_MAGIC + 1);
	REFUSED(-EPROTO, world.area->version, IKC_VERSION - 1);
	REFUSED(-EPROTO, world.area->version, IKC_VERSION + 1);
	REFUSED(-EPROTO, world.area->size, sizeof(struct ikc_area) - 8);
	CHECK(!board_ikc_join());
}

void test_growth(void)
{
	const struct ikc_kernel *me;
	uint32_t chunk;

	client_begin();
	world_grow();
	CHECK(!board_ikc_join() && settle() && host_poked());
	me = host_entry(NUMBER);
	CHECK(me->chunks == 2 && board_area.heap.chunks == 1);
	/* said at once, but not given from before all have it */
	world_grow();
	CHECK(settle() && me->chunks == 3 && host_poked());
	CHECK(board_area.heap.mapped == 3 && board_area.heap.chunks == 1);
	world_use();
	CHECK(settle() && board_area.heap.chunks == 3 && !host_poked());
	/* it never becomes less, and nobody has more than there are */
	world.exist = 1;
	WRITE_ONCE(world.area->usable, 1);
	host_poke();
	CHECK(settle() && me->chunks == 3 && board_area.heap.chunks == 3);
	WRITE_ONCE(world.area->usable, IKC_MAX_CHUNKS);
	host_poke();
	CHECK(settle() && board_area.heap.chunks == 3);
	/* KLoader's word alone is enough: it may come later than the poke */
	world_add();
	CHECK(settle() && me->chunks == 4);
	for (chunk = 5; chunk <= IKC_MAX_CHUNKS; chunk++)
		world_grow();
	CHECK(settle() && me->chunks == IKC_MAX_CHUNKS);
	world.exist = IKC_MAX_CHUNKS + 1;
	CHECK(settle() && me->chunks == IKC_MAX_CHUNKS);
	world.exist = ~0U;
	CHECK(settle() && me->chunks == IKC_MAX_CHUNKS);
}

static uint32_t ring_with_page(uint32_t page)
{
	host_entry(HOST)->page_size = page;
	CHECK(!board_ikc_next(1) && settle() && port_to_client(1)->ring);
	return port_to_client(1)->ring;
}

/* A ring fills whole pages of the host's, if they are of a size that can be. */
void test_pages(void)
{
	client_join();
	CHECK(!board_ikc_open(1, 2, 16, 64));
	CHECK(ikc_heap_size(&world.heap, ring_with_page(4096)) == 4096);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(16384)) == 16384);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(65536)) == 65536);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(0)) == 4096);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(256)) == 4096);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(3 * 4096)) == 4096);
	CHECK(ikc_heap_size(&world.heap, ring_with_page(2 * IKC_ALLOC_MAX)) == 4096);
}

/* A ring for which there is no memory comes when there is. */
void test_no_memory(void)
{
	client_begin();
	world_fill();
	CHECK(!board_ikc_join() && settle());
	CHECK(world.area->wanted == 1 && !port_to_client(IKC_ECHO_CHANNEL)->ring);
	host_poked();
	CHECK(!board_ikc_open(1, 2, 16, 64));
	CHECK(settle() && !port_to_client(1)->ring && !host_poked());
	CHECK(board_ikc_write(1, "", 1) == -ENOTCONN && board_ikc_arm(1));
	WRITE_ONCE(world.area->wanted, 0);
	world_grow();
	CHECK(settle() && host_poked() && world.area->wanted == 1);
	world_use();
	CHECK(settle() && host_poked());
	CHECK(port_to_client(1)->ring >= IKC_CHUNK_SIZE);
	CHECK(port_to_client(IKC_ECHO_CHANNEL)->ring >= IKC_CHUNK_SIZE);
	CHECK(!board_area_alloc(0));
}
