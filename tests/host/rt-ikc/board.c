// SPDX-License-Identifier: GPL-2.0
/* What is below the client, and where its memory is. */
#include "test.h"

struct board board;

void *world_memory(uint32_t number)
{
	void *chunk;

	if (posix_memalign(&chunk, 4096, IKC_CHUNK_SIZE))
		abort();
	return memset(chunk, 0, IKC_CHUNK_SIZE);
}

struct board_self board_self(void)
{
	return board.self;
}

uint32_t board_chunks(void)
{
	return __atomic_load_n(&world.exist, __ATOMIC_ACQUIRE);
}

void *board_chunk(uint32_t number)
{
	MUST(number < IKC_MAX_CHUNKS && number < world.heap.mapped);
	return world.heap.chunk[number];
}

/* Whatever it rings for: who says that it is ready has said everything else before. */
void board_ring_host(void)
{
	const struct ikc_kernel *entry = host_entry(board.self.kernel);

	board.rung++;
	if (board.hostile || __atomic_load_n(&entry->ready, __ATOMIC_ACQUIRE) != board.self.life)
		return;
	MUST(entry->bells == 1 && entry->bell[0] == board.self.bell);
	MUST(entry->page_size == 4096 && entry->version == IKC_VERSION && entry->chunks);
}

/* The client asks before it arms: something may come just then. */
uint64_t board_cycles_per_second(void)
{
	if (board.meanwhile)
		board.meanwhile();
	return board.cycles_per_second;
}

uint64_t board_clock(void)
{
	return board.now;
}

/* ---- beginning, and going on ---- */

void client_begin(void)
{
	world_begin();
	board.self = (struct board_self) { .kernel = NUMBER, .life = LIFE, .bell = BELL };
}

void client_join(void)
{
	client_begin();
	MUST(!board_ikc_join());
	MUST(settle());
	host_poked();
}

bool settle(void)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		if (!board_ikc_serve())
			return true;
	return false;
}
