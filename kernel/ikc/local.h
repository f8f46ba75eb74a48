/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of IKC share.  Calls go down: host.c; attach.c; look.c; echo.c,
 * device.c, channel.c; queue.c; tx.c and rx.c; block.c; peers.c; area.c and bell.c;
 * heap.c and ring.h.  What is below tells those above by callbacks.
 */
#ifndef _IKC_LOCAL_H
#define _IKC_LOCAL_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>

#include "heap.h"
#include "ring.h"

struct complaint;
struct ikc_channel;

/* ---- arch/x86/bell.c, arch/arm64/bell.c: what an architecture provides ---- */

/**
 * struct ikc_arch_bell_user - whom the architecture tells
 * @rang: a bell rang; hard interrupt context
 * @moved: a bell has another CPU or vector; hard interrupt context
 */
struct ikc_arch_bell_user {
	void (*rang)(unsigned int number);
	void (*moved)(unsigned int number);
};

int ikc_arch_bells_init(unsigned int count, const struct ikc_arch_bell_user *user);
void ikc_arch_bells_exit(void);
/* Where a bell of this kernel is: a SHIMOS_BELL, or 0.  Any context. */
u64 ikc_arch_bell_get(unsigned int number);
/* Can that be a bell of any kernel?  Never a vector that a CPU or Linux uses itself. */
bool ikc_arch_bell_valid(u64 bell);
/* Can that be the bell of an RTOS, which SPUMONE's layer hears? */
bool ikc_arch_bell_is_layers(u64 bell);
/* Ring one that is either; what was written before is visible first.  Any context. */
void ikc_arch_bell_ring(u64 bell);

/* ---- bell.c: this kernel's doorbells ---- */

#define IKC_CONTROL_BELL	0	/* the others are for queues */

/**
 * struct ikc_bell_queues - what takes part in IKC hears of queue bells
 * @rang: the bell of these queues rang, or may have; RCU, interrupt context
 * @moved: this queue bell, counted from 0, is there now; hard interrupt context
 */
struct ikc_bell_queues {
	void (*rang)(u64 queues);
	void (*moved)(unsigned int bell, u64 place);
};

int ikc_bells_init(void);
void ikc_bells_exit(void);
/* How many queue bells there are, and where one is. */
unsigned int ikc_bells_count(void);
u64 ikc_bells_get(unsigned int bell);
/* From now on @queues hears; NULL: nobody.  May sleep until nobody is in a callback. */
void ikc_bells_listen(const struct ikc_bell_queues *queues);

/*
 * Which of a kernel's @bells queue bells is for @queue, counted from 0.  Devices have
 * runs of IKC_MAX_BELLS queues, one for each ring: ring n's bell is that of CPU n,
 * however many CPUs there are.
 */
static inline unsigned int ikc_bell_index(unsigned int queue, unsigned int bells)
{
	return queue % IKC_MAX_BELLS % bells;
}

/* ---- area.c: the area as this kernel sees it ---- */

struct ikc_self {
	struct ikc_area *area;		/* NULL: takes no part */
	const struct ikc_facts *facts;	/* the host's own copy, or the area's */
	struct module *owner;
	struct ikc_port *ports;
	u32 number, life;
	struct ikc_heap heap;		/* grows under ikc_peers_mutex */
	u64 physical[IKC_MAX_CHUNKS];	/* addresses of the chunks */
	atomic64_t failed, too_large, double_free, foreign_free, reclaimed;
};

extern struct ikc_self ikc_self;
/* The area grew, or a peer changed: for those who wait. */
extern wait_queue_head_t ikc_changed;
/* Serialises leaving with those who want this kernel to stay. */
extern struct mutex ikc_attach_mutex;
/* Guards the set of rings and peers: who opens, closes, attaches, maps. */
extern struct mutex ikc_peers_mutex;

static inline bool ikc_attached(void)
{
	/* pairs with the release in ikc_attach_as() */
	return smp_load_acquire(&ikc_self.area);
}

static inline struct ikc_kernel *ikc_entry(unsigned int kernel)
{
	return &ikc_self.area->kernel[kernel];
}

static inline const struct ikc_facts *ikc_facts(unsigned int kernel)
{
	return &ikc_self.facts[kernel];
}

static inline struct ikc_port *ikc_port(unsigned int receiver, unsigned int sender,
					unsigned int queue)
{
	return &ikc_self.ports[(receiver * IKC_MAX_KERNELS + sender) * IKC_QUEUES + queue];
}

/* Map the next chunk.  ikc_peers_mutex, or nobody else is there yet.  May sleep. */
int ikc_area_map(u64 physical);
/* All kernels have mapped so many chunks: use them.  ikc_peers_mutex. */
void ikc_area_use(u32 chunks);
/*
 * Not on the host: map what it added, use what all have mapped.  ikc_peers_mutex.
 * Returns whether there was something to map, which the host wants to know.
 */
bool ikc_area_follow(void);
void ikc_area_unmap(void);

/* ---- peers.c: what is known of the other kernels, and ringing them ---- */

/* Who looks at the table when it has changed; see ikc_peers_look(). */
void ikc_peers_init(work_func_t look);
void ikc_peers_exit(void);
/* Copy what KLoader says of a kernel that is up in @life; 0: of this one. */
void ikc_peers_learn(unsigned int kernel, u32 life);
void ikc_peers_forget(unsigned int kernel);
void ikc_peer_move_bell(unsigned int kernel, u64 place);

/* Does this kernel hold memory of @kernel?  Any context. */
bool ikc_holds(unsigned int kernel);
/* Bitmap of the kernels that are up as far as is known.  Any context. */
u32 ikc_peers_up(void);
/* The life in which @kernel is up, 0 if it is not.  Any context. */
u32 ikc_peer_life(unsigned int kernel);
/* The larger of its pages and this kernel's, in bytes.  Any context. */
u32 ikc_peer_page(unsigned int kernel);

/* Something in the table or the ports may have changed: look.  Any context. */
void ikc_peers_look(void);
/* What is counted from now on makes the work run again. */
void ikc_peers_looking(void);
/* Look now, and return when that is done.  May sleep. */
void ikc_peers_flush(void);
/* Make another kernel look at the table and its ports.  Any context. */
void ikc_poke(unsigned int kernel);
void ikc_poke_all(void);
/* Ring the first bell of @kernel.  Any context. */
void ikc_peer_ring(unsigned int kernel);
/* Set the pending bits and ring; any context but NMI. */
void ikc_ring_queues(unsigned int kernel, u64 queues, unsigned int queue);
/* 0, -EINVAL, -ENXIO or -EHOSTDOWN */
int ikc_check_peer(unsigned int kernel);

/* ---- block.c ---- */

/* ikc_alloc() that waits until the host has added memory.  May sleep. */
void *ikc_alloc_wait(size_t size);

/* ---- queue.c ---- */

/* The reading end, in this kernel's memory. */
struct ikc_rx {
	struct ikc_consumer ring;
	u64 offset;
	u32 bytes;
	unsigned int sender, queue;
	u32 life;			/* the sender's */
	struct list_head dying;		/* ikc_peers_mutex */
};

/* The writing end. */
struct ikc_tx {
	raw_spinlock_t lock;		/* guards all below, and the ring's end */
	struct ikc_producer ring;
	u32 offset;			/* 0: not attached */
	u32 bytes;			/* of the block that it is in */
	struct ikc_channel *user;	/* a program has it */
	bool complained;
};

/* RCU: @kernel rang for @queue. */
void ikc_queue_rang(unsigned int kernel, unsigned int queue);
/* ikc_peers_mutex is held */
void ikc_queues_peer(unsigned int kernel, bool up);
void ikc_queues_gone(unsigned int kernel);
void ikc_queues_changed(void);
void ikc_queues_update(void);

/* Messages of any kind, below ikc_write() and ikc_read(). */
int ikc_queue_open_any(unsigned int queue, u32 slots, u32 slot_size,
		       const struct ikc_queue_ops *ops, void *context);
void ikc_queue_close_any(unsigned int queue);
int ikc_receive(unsigned int queue, void *data, u32 size, u32 *len, unsigned int *sender);
int ikc_send(unsigned int kernel, unsigned int queue, const void *data, u32 len);

/* ---- rx.c ---- */

/* Make a ring for @sender; ikc_peers_mutex is held.  May sleep. */
struct ikc_rx *ikc_rx_create(unsigned int sender, unsigned int queue, u32 slots,
			     u32 slot_size);
void ikc_rx_publish(struct ikc_rx *rx);
void ikc_rx_destroy(struct ikc_rx *rx);
/* Does the sender use it? */
bool ikc_rx_attached(const struct ikc_rx *rx);
void ikc_rx_update(void);
void ikc_rx_exit(void);
/* The sender wrote what cannot be: say so, read no more. */
void ikc_rx_break(struct ikc_rx *rx, const char *why);
/* The same; the ring code found it. */
void ikc_rx_broken(struct ikc_rx *rx);

/* ---- tx.c ---- */

/* Is @kernel up, and has it named a ring to @queue for this kernel? */
bool ikc_tx_open(unsigned int kernel, unsigned int queue);
int ikc_tx_prepare(unsigned int kernel);
struct ikc_tx *ikc_tx_find(unsigned int kernel, unsigned int queue);
/* Take the writing end for a program, or for the kernel (NULL).  tx->lock. */
int ikc_tx_attach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue,
		  struct ikc_channel *user);
void ikc_tx_detach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue);
void ikc_tx_detach_all(unsigned int kernel);
void ikc_tx_update(void);
void ikc_tx_exit(void);

/* ---- look.c: looking at the table, and at what rang ---- */

void ikc_look_init(void);
void ikc_look_exit(void);
/* The host's part of each look; ikc_peers_mutex is held. */
void ikc_look_also(void (*update)(void));

/* ---- attach.c ---- */

/* ikc_attach() of a kernel that believes @facts. */
int ikc_attach_as(u64 area, u32 number, u32 life, const struct ikc_facts *facts,
		  struct module *owner);

/* ---- device.c, channel.c: /dev/ikc ---- */

int ikc_device_init(void);
void ikc_device_exit(void);
struct ikc_channel *ikc_channel_new(void);
void ikc_channel_free(struct ikc_channel *ch);
int ikc_channel_open(struct ikc_channel *ch, struct ikc_open *arg, struct complaint *c);
int ikc_channel_connect(struct ikc_channel *ch, struct ikc_connect *arg,
			struct complaint *c);
int ikc_channel_notify(struct ikc_channel *ch);
int ikc_channel_eventfd(struct ikc_channel *ch, int fd);
int ikc_channel_mmap(struct ikc_channel *ch, struct vm_area_struct *vma);
struct poll_table_struct;
__poll_t ikc_channel_poll(struct ikc_channel *ch, struct file *file,
			  struct poll_table_struct *table);
/* RCU: @kernel rang for the program's ring, or for room in the one it writes */
void ikc_channel_rang(unsigned int kernel, unsigned int queue);
/* ikc_peers_mutex: is the other end of a channel gone? */
void ikc_channels_update(void);

/* ---- echo.c ---- */

int ikc_echo_init(void);
void ikc_echo_exit(void);

#endif
