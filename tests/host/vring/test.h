/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the virtqueue's ends share: a user's memory, and a driver that
 * was written from the standard and knows nothing of vqueue.c.
 */
#ifndef _VRING_TEST_H
#define _VRING_TEST_H

#include "check.h"
#include "vqueue.h"
#include "recover.h"

#define FEATURE_EVENT		(1ULL << VIRTIO_RING_F_EVENT_IDX)
#define FEATURE_INDIRECT	(1ULL << VIRTIO_RING_F_INDIRECT_DESC)

/* ---- memory.c ---- */

/* Each piece is just as large as it says, so that ASan sees what goes beyond. */
struct piece {
	u64 start, size;		/* physical */
	char *data;
};

#define PIECES	8

struct user_memory {
	unsigned int pieces;
	struct piece piece[PIECES];
};

/* Returns the physical address. */
u64 memory_add(struct user_memory *m, u64 start, u64 size);
void memory_free(struct user_memory *m);
/* Does it lie in the memory, all of it? */
bool memory_has(const struct user_memory *m, const void *data, u64 len);

/* ---- driver.c ---- */

#define MAX_PARTS	6
#define DATA_BYTES	65536
#define LONGEST		512		/* of a part */
#define MAX_RING	(2 * SHIMOS_VIRTIO_RING)	/* more than vqueue.c takes */

struct part {
	u64 addr;
	u32 len;
};

/* By head: what the driver has asked for. */
struct request {
	bool outstanding;
	bool is_indirect;
	unsigned int out, in, descs;
	struct part part[MAX_PARTS];
};

struct driver {
	struct user_memory memory;
	u64 features;
	u32 size;
	struct shimos_virtio_queue queue;
	u64 state_addr, tables, data;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	struct shimos_virtio_state *state;
	struct shimos_virtio_ring_state *book;

	u16 made, told, seen;		/* positions: avail, avail when asked, used */
	unsigned int free, outstanding;
	bool is_free[MAX_RING];
	struct request request[MAX_RING];
};

/* A ring in which all positions are @position already. */
void driver_open(struct driver *d, u32 size, u64 features, u16 position);
void driver_close(struct driver *d);
/* Make a request with so many parts available; its head, or -1: no descriptors. */
int driver_add(struct driver *d, unsigned int out, unsigned int in, bool indirect);
/* Does the device want to be told of what was made since this was last asked? */
bool driver_must_kick(struct driver *d);
/* The next used one's head, or -1.  It must be one that is outstanding. */
int driver_get(struct driver *d, u32 *written);
/* Want to be called, or not; true: there is something already. */
bool driver_wait(struct driver *d);
void driver_poll(struct driver *d);

/* The device's end of it. */
static inline void complete_one(struct vqueue *v, u16 head, u32 written)
{
	vqueue_push_used(v, head, written);
	vqueue_publish_used(v);
}

void driver_attach(struct driver *d, struct vqueue *v, u16 position);

/* ---- the tests ---- */

void test_open(void);
void test_requests(u64 seed);
void test_wakeups(u64 seed);
void test_nonsense(void);
void test_order(void);
void test_death(void);
void fuzz_chains(u64 seed);
void fuzz_during(u64 seed);
void fuzz_beside(u64 seed);

#endif
