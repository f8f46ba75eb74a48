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

/**
 * ikc_arch_bells_init() - make this kernel's bells
 * @count: how many; number n + 1 is for CPU n, and 0 is the control bell
 * @user: whom to tell
 *
 * Context: may sleep.
 * Return: 0 or an error; then there is none.
 */
int ikc_arch_bells_init(unsigned int count, const struct ikc_arch_bell_user *user);

/**
 * ikc_arch_bells_exit() - give them back
 *
 * Context: may sleep.  None rings any more when it returns.
 */
void ikc_arch_bells_exit(void);

/**
 * ikc_arch_bell_get() - where a bell of this kernel is
 * @number: below the count
 *
 * Context: any.
 * Return: a SHIMOS_BELL, or 0.
 */
u64 ikc_arch_bell_get(unsigned int number);

/**
 * ikc_arch_bell_valid() - can that be a bell of any kernel?
 * @bell: what a peer says
 *
 * Never a vector that a CPU or Linux uses itself.
 *
 * Context: any.
 */
bool ikc_arch_bell_valid(u64 bell);

/**
 * ikc_arch_bell_is_layers() - can that be the bell of an RTOS, which SPUMONE's layer hears?
 * @bell: what a peer says
 *
 * Context: any.
 */
bool ikc_arch_bell_is_layers(u64 bell);

/**
 * ikc_arch_bell_ring() - ring a bell
 * @bell: one that is valid, or the layer's; what was written before is visible first
 *
 * Context: any, NMI included.
 */
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
unsigned int ikc_bells_count(void);
u64 ikc_bells_get(unsigned int bell);
void ikc_bells_listen(const struct ikc_bell_queues *queues);

/**
 * ikc_bell_index() - which of a kernel's queue bells is for a queue
 * @queue: which
 * @bells: how many queue bells it has
 *
 * Devices have runs of IKC_MAX_BELLS queues, one for each ring: ring n's bell is that of CPU n,
 * however many CPUs there are.
 *
 * Context: any.
 * Return: counted from 0.
 */
static inline unsigned int ikc_bell_index(unsigned int queue, unsigned int bells)
{
	return queue % IKC_MAX_BELLS % bells;
}

/* ---- area.c: the area as this kernel sees it ---- */

/**
 * struct ikc_self - the area as this kernel sees it
 * @area: NULL: takes no part
 * @facts: the host's own copy, or the area's
 * @owner: cannot be unloaded while IKC is used
 * @ports: see ikc_port()
 * @number: this kernel's
 * @life: of it
 * @heap: grows under ikc_peers_mutex
 * @physical: addresses of the chunks
 * @failed: allocations for which there was nothing left
 * @too_large: those of more than a block can have
 * @double_free: blocks given back that were free
 * @foreign_free: those that were another's, or none
 * @reclaimed: blocks taken back from dead kernels
 */
struct ikc_self {
	struct ikc_area *area;
	const struct ikc_facts *facts;
	struct module *owner;
	struct ikc_port *ports;
	u32 number, life;
	struct ikc_heap heap;
	u64 physical[IKC_MAX_CHUNKS];
	atomic64_t failed, too_large, double_free, foreign_free, reclaimed;
};

extern struct ikc_self ikc_self;
/* The area grew, or a peer changed: for those who wait. */
extern wait_queue_head_t ikc_changed;
/* Serialises leaving with those who want this kernel to stay. */
extern struct mutex ikc_attach_mutex;
/* Guards the set of rings and peers: who opens, closes, attaches, maps. */
extern struct mutex ikc_peers_mutex;

/**
 * ikc_attached() - does this kernel take part?
 *
 * Context: any.
 */
static inline bool ikc_attached(void)
{
	/* pairs with the release in ikc_attach_as() */
	return smp_load_acquire(&ikc_self.area);
}

/**
 * ikc_entry() - a kernel's own part of the table, which it writes
 * @kernel: below IKC_MAX_KERNELS
 *
 * Context: any, while attached.
 */
static inline struct ikc_kernel *ikc_entry(unsigned int kernel)
{
	return &ikc_self.area->kernel[kernel];
}

/**
 * ikc_facts() - what KLoader says of a kernel
 * @kernel: below IKC_MAX_KERNELS
 *
 * Context: any, while attached.
 */
static inline const struct ikc_facts *ikc_facts(unsigned int kernel)
{
	return &ikc_self.facts[kernel];
}

/**
 * ikc_port() - where a receiver names the ring of a sender to its queue
 * @receiver: below IKC_MAX_KERNELS
 * @sender: below IKC_MAX_KERNELS
 * @queue: of the receiver
 *
 * Context: any, while attached.
 */
static inline struct ikc_port *ikc_port(unsigned int receiver, unsigned int sender,
					unsigned int queue)
{
	return &ikc_self.ports[(receiver * IKC_MAX_KERNELS + sender) * IKC_QUEUES + queue];
}

int ikc_area_map(u64 physical);
void ikc_area_use(u32 chunks);
bool ikc_area_follow(void);
void ikc_area_unmap(void);

/* ---- peers.c: what is known of the other kernels, and ringing them ---- */

/**
 * ikc_peers_init() - know this kernel itself: its memory is no other's
 * @look: who looks at the table when it has changed; see ikc_peers_look()
 *
 * Context: may sleep; nobody else is there yet.
 */
void ikc_peers_init(work_func_t look);

/**
 * ikc_peers_exit() - look no more
 *
 * Context: may sleep.  Nobody is looking when it returns.
 */
void ikc_peers_exit(void);

/**
 * ikc_peers_learn() - copy what KLoader says of a kernel
 * @kernel: which
 * @life: the one in which it is up; 0: it is this one
 *
 * Context: ikc_peers_mutex, or nobody else is there yet.
 */
void ikc_peers_learn(unsigned int kernel, u32 life);

/**
 * ikc_peers_resized() - copy anew what memory kernels have
 *
 * Context: ikc_peers_mutex.
 */
void ikc_peers_resized(void);

/**
 * ikc_peers_forget() - it is not up any more
 * @kernel: which
 *
 * Context: ikc_peers_mutex.
 */
void ikc_peers_forget(unsigned int kernel);

void ikc_peer_move_bell(unsigned int kernel, u64 place);

/**
 * ikc_holds() - does this kernel hold memory of another?
 * @kernel: whose
 *
 * Context: any.
 */
bool ikc_holds(unsigned int kernel);

/**
 * ikc_peers_up() - the kernels that are up, as far as is known
 *
 * Context: any.
 * Return: a bitmap.
 */
u32 ikc_peers_up(void);

/* The life in which each kernel is up as far as this one knows; 0: it is not. */
extern u32 ikc_peer_lives[IKC_MAX_KERNELS];

/**
 * ikc_peer_life() - the life in which a kernel is up
 * @kernel: which
 *
 * Context: any.
 * Return: it; 0: it is not up.
 */
static inline u32 ikc_peer_life(unsigned int kernel)
{
	return READ_ONCE(ikc_peer_lives[kernel]);
}

/**
 * ikc_peer_is_up() - does another kernel take part, as far as it and this one know?
 * @kernel: below IKC_MAX_KERNELS
 *
 * What ikc_check_peer() finds, without the reason.
 *
 * Context: any, while attached.
 */
static inline bool ikc_peer_is_up(unsigned int kernel)
{
	u32 life = ikc_peer_life(kernel);

	return life && READ_ONCE(ikc_entry(kernel)->ready) == life;
}

/**
 * ikc_peer_page() - the larger of a kernel's pages and this kernel's
 * @kernel: which
 *
 * Context: any.
 * Return: bytes.
 */
u32 ikc_peer_page(unsigned int kernel);

/**
 * ikc_peers_look() - something in the table or the ports may have changed: look
 *
 * Context: any.
 */
void ikc_peers_look(void);

/**
 * ikc_peers_looking() - what is counted from now on makes the work run again
 *
 * Context: the work.
 */
void ikc_peers_looking(void);

/**
 * ikc_peers_flush() - look now, and return when that is done
 *
 * Context: may sleep; not under ikc_peers_mutex, which the work takes.
 */
void ikc_peers_flush(void);

/**
 * ikc_poke() - make a kernel look at the table and its ports
 * @kernel: which; also this one
 *
 * Context: any.
 */
void ikc_poke(unsigned int kernel);

/**
 * ikc_poke_all() - make all of them look
 *
 * Context: any.
 */
void ikc_poke_all(void);

/**
 * ikc_peer_ring() - ring a kernel's first bell
 * @kernel: which
 *
 * Context: any.
 */
void ikc_peer_ring(unsigned int kernel);

/**
 * ikc_ring_queues() - say for which queues, and ring
 * @kernel: whose
 * @queues: a bit for each
 * @queue: whose bell
 *
 * Context: any but NMI.
 */
void ikc_ring_queues(unsigned int kernel, u64 queues, unsigned int queue);

/**
 * ikc_check_peer() - does a kernel take packets?
 * @kernel: anything
 *
 * Context: any.
 * Return: 0; -ENODEV: this kernel takes no part; -EINVAL, -ENXIO: no such kernel; -EHOSTDOWN: it
 * does not run.
 */
int ikc_check_peer(unsigned int kernel);

/* ---- block.c ---- */

void *ikc_alloc_wait(size_t size);

/* ---- queue.c ---- */

/**
 * struct ikc_rx - the reading end of a ring, in this kernel's memory
 * @ring: how far it was read
 * @offset: of the ring in the area
 * @bytes: of its block
 * @sender: who writes to it
 * @queue: for which it is
 * @life: the sender's
 * @dying: waits until the sender lets go; ikc_peers_mutex
 */
struct ikc_rx {
	struct ikc_consumer ring;
	u64 offset;
	u32 bytes;
	unsigned int sender, queue;
	u32 life;
	struct list_head dying;
};

/**
 * struct ikc_tx - the writing end of a ring
 * @lock: guards all below, and the ring's end
 * @ring: how far it was written
 * @offset: of the ring in the area; 0: not attached
 * @bytes: of the block that it is in
 * @user: a program has it
 * @complained: about what the reader wrote
 */
struct ikc_tx {
	raw_spinlock_t lock;
	struct ikc_producer ring;
	u32 offset;
	u32 bytes;
	struct ikc_channel *user;
	bool complained;
};

void ikc_queue_rang(unsigned int kernel, unsigned int queue);
void ikc_queues_peer(unsigned int kernel, bool up);
void ikc_queues_gone(unsigned int kernel);
void ikc_queues_changed(void);
void ikc_queues_update(void);

int ikc_queue_open_any(unsigned int queue, u32 slots, u32 slot_size,
		       const struct ikc_queue_ops *ops, void *context);
void ikc_queue_close_any(unsigned int queue);
int ikc_receive(unsigned int queue, void *data, u32 size, u32 *len, unsigned int *sender);
int ikc_send(unsigned int kernel, unsigned int queue, const void *data, u32 len);

/* ---- rx.c ---- */

struct ikc_rx *ikc_rx_create(unsigned int sender, unsigned int queue, u32 slots,
			     u32 slot_size);
void ikc_rx_publish(struct ikc_rx *rx);
void ikc_rx_destroy(struct ikc_rx *rx);
bool ikc_rx_attached(const struct ikc_rx *rx);
void ikc_rx_update(void);
void ikc_rx_exit(void);
void ikc_rx_break(struct ikc_rx *rx, const char *why);
void ikc_rx_broken(struct ikc_rx *rx);

/* ---- tx.c ---- */

bool ikc_tx_open(unsigned int kernel, unsigned int queue);
int ikc_tx_prepare(unsigned int kernel);
struct ikc_tx *ikc_tx_find(unsigned int kernel, unsigned int queue);
int ikc_tx_attach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue,
		  struct ikc_channel *user);
void ikc_tx_detach(struct ikc_tx *tx, unsigned int kernel, unsigned int queue);
void ikc_tx_detach_all(unsigned int kernel);
void ikc_tx_update(void);
void ikc_tx_exit(void);

/* ---- look.c: looking at the table, and at what rang ---- */

void ikc_look_init(void);
void ikc_look_exit(void);
void ikc_look_also(void (*update)(void));

/* ---- attach.c ---- */

int ikc_attach_as(u64 area, u32 number, u32 life, const struct ikc_facts *facts,
		  struct module *owner);

/* ---- device.c: /dev/ikc; see channel.h ---- */

int ikc_device_init(void);
void ikc_device_exit(void);

/* ---- echo.c ---- */

int ikc_echo_init(void);
void ikc_echo_exit(void);

#endif
