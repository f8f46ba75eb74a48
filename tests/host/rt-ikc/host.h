/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host that is made up, by the same ring and allocator as the real one: its area, and programs
 * that talk to kernel NUMBER.  The client's tests have it, and images that run in a process.
 */
#ifndef _TESTS_RT_HOST_H
#define _TESTS_RT_HOST_H

#include "check.h"
#include "heap.h"
#include "ring.h"

#define HOST	0
#define HOST_LIFE	5
#define NUMBER	3		/* of the kernel that the client is, */
#define LIFE	7		/* and which life this is */
#define BELL	SHIMOS_BELL(1, 0xf1)

struct world {
	uint32_t exist;			/* chunks, by the boot record */
	struct ikc_area *area;
	struct ikc_heap heap;		/* the host's view */
};

extern struct world world;

/* A program of the host's with its two rings. */
struct host_end {
	unsigned int own, other;	/* channels here and there */
	uint32_t in_offset, out_offset;	/* 0: not open, not connected */
	struct ikc_consumer in;
	struct ikc_producer out;
};

/* The user's: zeroed memory for a chunk. */
void *world_memory(uint32_t number);
void world_begin(void);
/* Another chunk: the boot record says so; and then the table as well, as KLoader does. */
void world_add(void);
void world_grow(void);
/* Use what all have mapped. */
void world_use(void);
/* Take all memory that can be given. */
void world_fill(void);

struct ikc_kernel *host_entry(unsigned int kernel);
/* Where the host's packets for the client go, and the client's for the host. */
struct ikc_port *port_to_client(unsigned int channel);
struct ikc_port *port_to_host(unsigned int channel);
/* Has the client rung for this queue since the last time? */
bool host_heard(unsigned int channel);
/* Has it asked to look at the table? */
bool host_poked(void);
/* How many blocks are the client's. */
unsigned int client_blocks(void);
/* Make the client look. */
void host_poke(void);

struct ikc_ring *host_ring(uint32_t offset);
int host_open(struct host_end *end, unsigned int own, unsigned int other, uint32_t slots,
	      uint32_t slot_size);
int host_connect(struct host_end *end);
void host_close(struct host_end *end);
bool host_write(struct host_end *end, const void *data, uint32_t len);
/* The length, or a negative error. */
int host_read(struct host_end *end, void *data, uint32_t size);
/* Write, and ring if it must. */
bool host_send(struct host_end *end, const void *data, uint32_t len);

#endif
