// SPDX-License-Identifier: GPL-2.0
#include "host.h"

struct world world;
static uint32_t host_events;	/* at the last host_poked() */

/* ---- the world ---- */

static void world_add_chunk(unsigned int reserved)
{
	struct ikc_heap *heap = &world.heap;
	void *chunk = world_memory(heap->mapped);

	ikc_chunk_init(chunk, reserved);
	heap->chunk[heap->mapped++] = chunk;
}

void world_begin(void)
{
	struct ikc_area *area;

	world_add_chunk(IKC_RESERVED_SPANS);
	world.exist = 1;
	world.heap.chunks = 1;
	world.heap.owner = ikc_owner(HOST, HOST_LIFE);
	area = (void *)((char *)world.heap.chunk[0] + IKC_AREA_SPAN * IKC_SPAN_SIZE);
	*area = (struct ikc_area) {
		.magic = IKC_MAGIC,
		.version = IKC_VERSION,
		.size = sizeof(*area),
		.chunks = 1,
		.usable = 1,
		.facts[HOST] = { .state = IKC_UP, .life = HOST_LIFE },
		.facts[NUMBER] = { .state = IKC_UP, .life = LIFE },
		.kernel[HOST] = { .ready = HOST_LIFE, .page_size = 4096 },
	};
	world.area = area;
}

void world_add(void)
{
	world_add_chunk(1);
	__atomic_store_n(&world.exist, world.heap.mapped, __ATOMIC_RELEASE);
}

void world_grow(void)
{
	world_add();
	WRITE_ONCE(world.area->chunks, world.heap.mapped);
	host_poke();
}

void world_use(void)
{
	world.heap.chunks = host_entry(NUMBER)->chunks;
	WRITE_ONCE(world.area->usable, world.heap.chunks);
	host_poke();
}

void world_fill(void)
{
	uint32_t size = IKC_ALLOC_MAX;

	for (; size >= 256; size /= 2)
		while (ikc_heap_alloc(&world.heap, size))
			;
}

unsigned int client_blocks(void)
{
	unsigned int count = 0;
	uint64_t at;

	for (at = 0; at < (uint64_t)world.heap.mapped * IKC_CHUNK_SIZE; at += 256)
		count += ikc_heap_owner(&world.heap, at) == ikc_owner(NUMBER, LIFE);
	return count;
}

struct ikc_kernel *host_entry(unsigned int kernel)
{
	return &world.area->kernel[kernel];
}

static struct ikc_port *port_at(unsigned int receiver, unsigned int sender, unsigned int channel)
{
	struct ikc_port *ports = (void *)((char *)world.heap.chunk[0] + IKC_PORTS_SPAN * IKC_SPAN_SIZE);

	return ports + (receiver * IKC_MAX_KERNELS + sender) * IKC_QUEUES + IKC_FIRST_CHANNEL + channel;
}

struct ikc_port *port_to_client(unsigned int channel)
{
	return port_at(NUMBER, HOST, channel);
}

struct ikc_port *port_to_host(unsigned int channel)
{
	return port_at(HOST, NUMBER, channel);
}

bool host_heard(unsigned int channel)
{
	__u64 bit = 1ULL << (IKC_FIRST_CHANNEL + channel);

	return ikc_fetch_andnot64(&host_entry(HOST)->pending[NUMBER].queues, bit) & bit;
}

bool host_poked(void)
{
	uint32_t events = READ_ONCE(host_entry(HOST)->events);
	bool poked = events != host_events;

	host_events = events;
	return poked;
}

void host_poke(void)
{
	__atomic_fetch_add(&host_entry(NUMBER)->events, 1, __ATOMIC_SEQ_CST);
}

/* ---- its programs ---- */

struct ikc_ring *host_ring(uint32_t offset)
{
	return (struct ikc_ring *)((char *)world.heap.chunk[offset / IKC_CHUNK_SIZE] +
				   offset % IKC_CHUNK_SIZE);
}

int host_open(struct host_end *end, unsigned int own, unsigned int other, uint32_t slots,
	      uint32_t slot_size)
{
	uint32_t bytes = (ikc_ring_bytes(slots, slot_size) + 4095) / 4096 * 4096;
	struct ikc_port *port = port_to_host(own);
	struct ikc_ring *ring;

	*end = (struct host_end) { .own = own, .other = other };
	end->in_offset = ikc_heap_alloc(&world.heap, bytes);
	if (!end->in_offset)
		return -ENOMEM;
	ring = host_ring(end->in_offset);
	memset(ring, 0, bytes);
	ikc_ring_init(ring, slots, slot_size);
	ikc_consumer_init(&end->in, ring, slots, slot_size);
	WRITE_ONCE(port->life, LIFE);
	/* pairs with the acquire in board_tx_attach() */
	smp_store_release(&port->ring, end->in_offset);
	host_poke();
	return 0;
}

int host_connect(struct host_end *end)
{
	struct ikc_port *port = port_to_client(end->other);
	/* pairs with the release in board_rx_name() */
	uint32_t offset = smp_load_acquire(&port->ring);
	int ret;

	if (!offset || READ_ONCE(port->life) != HOST_LIFE)
		return -ENOTCONN;
	WRITE_ONCE(port->attached, offset);
	smp_mb();	/* pairs with the one in board_rx_unname() */
	if (READ_ONCE(port->ring) != offset ||
	    ikc_heap_owner(&world.heap, offset) != ikc_owner(NUMBER, LIFE) || offset % 4096)
		return -EPROTO;
	ret = ikc_producer_init(&end->out, host_ring(offset), ikc_heap_size(&world.heap, offset));
	if (!ret)
		end->out_offset = offset;
	return ret;
}

void host_close(struct host_end *end)
{
	if (end->out_offset)	/* pairs with the acquire in board_rx_attached() */
		smp_store_release(&port_to_client(end->other)->attached, 0);
	host_poke();
	if (end->in_offset) {
		WRITE_ONCE(port_to_host(end->own)->ring, 0);
		smp_mb();	/* pairs with the one in board_tx_attach() */
		/* one that the client has attached to lies there until it has let go */
		if (READ_ONCE(port_to_host(end->own)->attached) != end->in_offset)
			MUST(!ikc_heap_free(&world.heap, end->in_offset));
	}
	host_poke();
}

bool host_write(struct host_end *end, const void *data, uint32_t len)
{
	return !ikc_ring_write(&end->out, data, len);
}

int host_read(struct host_end *end, void *data, uint32_t size)
{
	uint32_t len;
	int ret = ikc_ring_read(&end->in, data, size, &len);

	return ret ? ret : (int)len;
}

bool host_send(struct host_end *end, const void *data, uint32_t len)
{
	if (!host_write(end, data, len))
		return false;
	if (ikc_must_ring(&end->out))
		ikc_fetch_or64(&host_entry(NUMBER)->pending[HOST].queues,
			       1ULL << (IKC_FIRST_CHANNEL + end->other));
	return true;
}
