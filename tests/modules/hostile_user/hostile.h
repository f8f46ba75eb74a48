/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of shimos_hostile_user share; see main.c. */
#ifndef _HOSTILE_H
#define _HOSTILE_H

#include <linux/prandom.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <shimos/ikc.h>
#include <uapi/shimos_virtio.h>

#define OWNER		0		/* the host */
#define TARGETS		16
#define PATIENCE	(20 * HZ)

/* A device's memory, in one piece, and what lies where. */
#define ORDER		9
#define RINGS		SZ_128K
#define RING_BYTES	SZ_32K
#define AVAIL		SZ_16K
#define USED		(SZ_16K + SZ_8K)
#define TABLES		SZ_1M
#define DATA		(SZ_1M + SZ_64K)
#define HEADER		DATA		/* of the request that is built by itself */
#define STATUS		(DATA + 512)
#define PAYLOAD		(DATA + SZ_4K)
#define DATA_END	SZ_2M

struct target {
	u32 id, asked, answered;
	int answer;
	struct shimos_virtio_device desc;
	struct page *pages;
	u8 *mem;
	u64 phys;
	u16 made[SHIMOS_VIRTIO_QUEUES], seen[SHIMOS_VIRTIO_QUEUES];
};

/* How START can be wrong. */
enum how {
	RIGHT, VERSION, SIZE, SHORT, NO_BLOCK, FEATURES, OLD, QUEUES, FEW_QUEUES, STATE_HOST,
	STATE_ODD, STATE_END, DESC_HOST, DESC_ODD, DESC_END, AVAIL_HOST, AVAIL_ODD, USED_HOST,
	USED_ODD, RING_ODD, RING_LARGE, RING_HUGE, NOWHERE, HOWS,
};

/* main.c: the state, talking to the owner */
extern u64 victim;
extern bool enough;
extern u8 status;		/* of the last request */
extern bool used;		/* it came back */
extern u64 tries, restarts, completions;
extern struct rnd_state rnd;	/* of the thread that runs commands */
u32 below(struct rnd_state *r, u32 limit);
/* -EAGAIN: the owner reads nothing any more. */
int write_packet(const struct ikc_packet *pkt);
int tell(u32 id, u32 cmd, u32 number, u32 value, void *block, u32 size);
int ask(struct target *t, u32 cmd, void *block, u32 size);
u64 end_of_memory(void);
int start(struct target *t, enum how how);

/* requests.c: single requests, right and wrong */
struct vring_desc *desc_of(struct target *t, unsigned int q);
struct vring_avail *avail_of(struct target *t, unsigned int q);
struct vring_used *used_of(struct target *t, unsigned int q);
void set(struct vring_desc *d, u64 addr, u32 len, u16 flags, u16 next);
void kick(struct target *t, unsigned int q);
void make_available(struct target *t, unsigned int q, u16 head, u16 step);
void build(struct target *t, unsigned int q);
void type_is(struct target *t, u32 type, u64 sector);
u64 capacity(struct target *t);
int good(struct target *t);
int attack(struct target *t, const char *what);

/* load.c: many, counted */
int fuzz(struct target *t, unsigned int seconds, u64 seed);
int endless(struct target *t, unsigned int seconds, u32 type);
int storm(struct target *t, unsigned int count);
int random_packets(unsigned int count, u64 seed);

#endif
