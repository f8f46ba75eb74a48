/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of IKC share. */
#ifndef _IKC_LOCAL_H
#define _IKC_LOCAL_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <shimos/ikc.h>

#include "heap.h"
#include "ring.h"

struct ikc_channel;

/* ---- bell.c: this kernel's doorbells ---- */

#define IKC_CONTROL_BELL	0	/* the others are for queues */

int ikc_bells_init(void);
void ikc_bells_exit(void);
/* Publish the doorbells in this kernel's entry of the table. */
void ikc_bells_publish(void);

/* What an architecture provides; see arch/x86/bell.c. */
int ikc_arch_bells_init(unsigned int count);
void ikc_arch_bells_exit(void);
void ikc_arch_bell_get(unsigned int number, struct shimos_bell *bell);
bool ikc_arch_bell_valid(const struct shimos_bell *bell);
void ikc_arch_bell_ring(const struct shimos_bell *bell);

/* Called by the architecture; hard interrupt context. */
void ikc_bell_rang(unsigned int number);
void ikc_bell_moved(unsigned int number);

/* No bell is being answered any more; nobody attaches.  May sleep. */
void ikc_bells_quiet(void);

/* ---- area.c: the area as this kernel sees it ---- */

struct ikc_self {
	struct ikc_area *area;		/* NULL: takes no part */
	struct module *owner;
	struct ikc_port *ports;
	u32 number, life;
	struct ikc_heap heap;		/* grows under peers_mutex */
	u64 physical[IKC_MAX_CHUNKS];	/* addresses of the chunks */
	atomic64_t failed, too_large, double_free, foreign_free, reclaimed;
};

extern struct ikc_self ikc_self;
/* The area grew, or a peer changed: for those who wait. */
extern wait_queue_head_t ikc_changed;

static inline bool ikc_attached(void)
{
	/* pairs with the release in ikc_attach() */
	return smp_load_acquire(&ikc_self.area);
}

static inline struct ikc_kernel *ikc_entry(unsigned int kernel)
{
	return &ikc_self.area->kernel[kernel];
}

static inline struct ikc_port *ikc_port(unsigned int receiver, unsigned int sender,
					unsigned int queue)
{
	return &ikc_self.ports[(receiver * IKC_MAX_KERNELS + sender) * IKC_QUEUES + queue];
}

/* Map what was added, use what all have mapped.  peers_mutex. */
void ikc_area_update(void);
/* ikc_alloc() that waits until the host has added memory.  May sleep. */
void *ikc_alloc_wait(size_t size);

/* ---- peers.c: the other kernels ---- */

/* Does this kernel hold memory of @kernel?  Any context. */
bool ikc_holds(unsigned int kernel);
/* Bitmap of the kernels that are up as far as is known.  Any context. */
u32 ikc_peers_up(void);
/* The life in which @kernel is up, 0 if it is not.  Any context. */
u32 ikc_peer_life(unsigned int kernel);
/* Guards the set of rings and peers: who opens, closes, attaches, maps. */
extern struct mutex ikc_peers_mutex;

void ikc_peers_init(void);
void ikc_peers_exit(void);
/* Nobody is looking any more, nor will. */
void ikc_peers_quiet(void);
/* Something in the table or the ports changed: look.  Any context. */
void ikc_peers_look(void);
void ikc_peers_flush(void);
/* Make another kernel look at the table and its ports.  Any context. */
void ikc_poke(unsigned int kernel);
void ikc_poke_all(void);
/* Set the pending bits and ring; any context but NMI. */
void ikc_ring_queues(unsigned int kernel, u64 queues, unsigned int queue);
/* 0, -EINVAL, -ENXIO or -EHOSTDOWN */
int ikc_check_peer(unsigned int kernel);

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
	u32 bytes;
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
/* The sender wrote nonsense: say so, read no more. */
void ikc_rx_break(struct ikc_rx *rx, const char *why);
/* The same; the ring code found it. */
void ikc_rx_broken(struct ikc_rx *rx);

/* ---- tx.c ---- */

/* Is @kernel up, and has it named a ring to @queue for this kernel? */
bool ikc_is_open(unsigned int kernel, unsigned int queue);
int ikc_tx_prepare(unsigned int kernel);
struct ikc_tx *ikc_tx_find(unsigned int kernel, unsigned int queue);
/* Take the writing end for a program, or for the kernel (NULL).  tx->lock. */
int ikc_tx_attach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue,
		  struct ikc_channel *user);
void ikc_tx_detach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue);
void ikc_tx_detach_all(unsigned int kernel);
void ikc_tx_update(void);
void ikc_tx_exit(void);

/* ---- host.c: the host's part ---- */

void ikc_host_update(void);		/* ikc_peers_mutex */

/* ---- device.c, channel.c: /dev/ikc ---- */

int ikc_device_init(void);
void ikc_device_exit(void);
struct ikc_channel *ikc_channel_new(void);
void ikc_channel_free(struct ikc_channel *ch);
int ikc_channel_open(struct ikc_channel *ch, struct ikc_open *arg);
int ikc_channel_connect(struct ikc_channel *ch, struct ikc_connect *arg);
int ikc_channel_notify(struct ikc_channel *ch);
int ikc_channel_eventfd(struct ikc_channel *ch, const struct ikc_eventfd *arg);
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
