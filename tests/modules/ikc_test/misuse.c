// SPDX-License-Identifier: GPL-2.0
/* The API used wrongly, and a kernel gone bad; see main.c. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/random.h>

#include "ikc_test.h"

char misuse_results[2048];

void misuse(unsigned int kernel)
{
	struct ikc_packet pkt = {};
	size_t len = 0;
	void *block = ikc_alloc(100), *other;

#define SAY(name, value) \
	(len += scnprintf(misuse_results + len, sizeof(misuse_results) - len, "%s %lld\n", \
			  name, (s64)(value)))
	SAY("alloc", block != NULL);
	SAY("alloc_zero", ikc_alloc(0) == NULL);
	SAY("alloc_too_large", ikc_alloc(IKC_ALLOC_MAX + 1) == NULL);
	SAY("write_unknown_kernel", ikc_write(&pkt, IKC_MAX_KERNELS, QUEUE));
	SAY("write_absent_kernel", ikc_write(&pkt, IKC_MAX_KERNELS - 1, QUEUE));
	SAY("write_self", ikc_write(&pkt, ikc_self_number(), QUEUE));
	SAY("write_unknown_queue", ikc_write(&pkt, kernel, IKC_QUEUES));
	SAY("write_closed_queue", ikc_write(&pkt, kernel, CLOSED_QUEUE));
	SAY("read_closed_queue", ikc_read(&pkt, CLOSED_QUEUE));
	SAY("open_twice", ikc_queue_open(QUEUE, SLOTS, &queue_ops, NULL));
	SAY("open_unknown_queue", ikc_queue_open(IKC_FIRST_CHANNEL, SLOTS, &queue_ops, NULL));
	SAY("open_too_many_slots", ikc_queue_open(CLOSED_QUEUE, 100000, &queue_ops, NULL));
	pkt = (struct ikc_packet){ .flags = 8 };
	SAY("write_bad_flags", ikc_write(&pkt, kernel, QUEUE));
	pkt = (struct ikc_packet){ .flags = IKC_DATA_SHARED, .data = 12345, .size = 1 };
	SAY("write_no_block", ikc_write(&pkt, kernel, QUEUE));
	ikc_free(block + 1);		/* not the start of a block */
	ikc_free(&pkt);			/* not in the area at all */
	ikc_free(block);
	ikc_free(block);
	pkt = (struct ikc_packet){ .flags = IKC_DATA_SHARED, .data = ikc_offset(block), .size = 1 };
	SAY("write_freed_block", ikc_write(&pkt, kernel, QUEUE));
	other = ikc_alloc(100);
	pkt.data = ikc_offset(other);
	pkt.cmd = START;
	SAY("write_block", ikc_write(&pkt, kernel, QUEUE));
	ikc_free(other);		/* it is the receiver's now */
	SAY("map_own", ikc_map(kernel, virt_to_phys(current), 16) != NULL);
	SAY("map_nowhere", ikc_map(kernel, ~0ULL - 5, 16) != NULL);
	ikc_notify(kernel, QUEUE);
#undef SAY
}

/* ---- a kernel gone bad ---- */

void misuse_spoil(unsigned int kernel)
{
	struct ikc_packet page = {
		.flags = IKC_DATA_PAGE, .data = 0x1000, .size = U32_MAX,
	};

	ikc_write(&page, kernel, QUEUE);
	ikc_notify(kernel, QUEUE);
}

void misuse_scribble(unsigned int kernel)
{
	struct ikc_port *ports = ikc_pointer(IKC_PORTS_SPAN * IKC_SPAN_SIZE);
	struct ikc_port *port = &ports[(kernel * IKC_MAX_KERNELS + ikc_self_number()) *
				       IKC_QUEUES + QUEUE];
	void *ring = ikc_pointer(READ_ONCE(port->ring));

	if (ring)
		get_random_bytes(ring, IKC_RING_HEADER + SLOTS * 64);
}

/*
 * The allocator's words, the table of kernels, the ports, all rings.  Only where a
 * kernel says that it takes part stays, so that the host goes on to look at the rest.
 */
void misuse_wreck(void)
{
	struct ikc_area *area = ikc_pointer(IKC_AREA_SPAN * IKC_SPAN_SIZE);
	u8 *chunk = ikc_pointer(IKC_AREA_SPAN * IKC_SPAN_SIZE) - IKC_SPAN_SIZE;
	unsigned int k;

	get_random_bytes(chunk, IKC_SPAN_SIZE);
	get_random_bytes(&area->chunks, offsetof(struct ikc_area, kernel) -
			 offsetof(struct ikc_area, chunks));
	for (k = 0; k < IKC_MAX_KERNELS; k++)
		get_random_bytes(&area->kernel[k].version,
				 sizeof(*area->kernel) -
				 offsetof(struct ikc_kernel, version));
	get_random_bytes(chunk + IKC_PORTS_SPAN * IKC_SPAN_SIZE,
			 IKC_CHUNK_SIZE - IKC_PORTS_SPAN * IKC_SPAN_SIZE);
}

/* Another kernel's doorbell is here, says the table: ring it, with each vector. */
void misuse_bells(unsigned int kernel, unsigned int cpu)
{
	struct ikc_area *area = ikc_pointer(IKC_AREA_SPAN * IKC_SPAN_SIZE);
	u64 *bell = area->kernel[kernel].bell, was[IKC_MAX_BELLS];
	unsigned int vector, i;

	memcpy(was, bell, sizeof(was));
	for (vector = 0; vector < 256; vector++) {
		for (i = 0; i < IKC_MAX_BELLS; i++)
			WRITE_ONCE(bell[i], SHIMOS_BELL(cpu, vector));
		ikc_ring(kernel, QUEUE);
	}
	for (i = 0; i < IKC_MAX_BELLS; i++)
		WRITE_ONCE(bell[i], was[i]);
}

void misuse_version(u32 version)
{
	struct ikc_area *area = ikc_pointer(IKC_AREA_SPAN * IKC_SPAN_SIZE);

	area->version = version;
}
