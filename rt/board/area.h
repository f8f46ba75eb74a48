/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of IKC share.  Calls go down: ikc.c; channel.c and echo.c; tx.c and rx.c;
 * area.c; board.c.  The host is the only kernel that a real-time program talks to.
 *
 * Nothing here is locked: it is one task's, on the one CPU that there is.
 */
#ifndef _RT_AREA_H
#define _RT_AREA_H

#include "board.h"
#include "heap.h"
#include "ikc.h"
#include "ring.h"

#define BOARD_HOST	0	/* its number */

/* ---- board.c: what KLoader and the layer say; tests in user space have another ---- */

struct board_self {
	uint32_t kernel, life;
	uint64_t bell;
};

struct board_self board_self(void);
/* How many chunks there are, and where one is. */
uint32_t board_chunks(void);
void *board_chunk(uint32_t number);
uint64_t board_clock(void);

/* ---- area.c: the area as this kernel sees it ---- */

struct board_area {
	struct ikc_area *table;		/* NULL: takes no part */
	struct ikc_port *ports;
	uint32_t number, life;
	uint32_t host;			/* the host's life; 0: it is not up */
	uint32_t seen;			/* `events` at the last look */
	uint32_t chunks;		/* board_chunks() at the last look; 0: there was none */
	struct ikc_heap heap;
};

extern struct board_area board_area;

static inline struct ikc_kernel *board_entry(unsigned int kernel)
{
	return &board_area.table->kernel[kernel];
}

/* Where the host's packets to a queue of this kernel go, */
static inline struct ikc_port *board_port_here(unsigned int queue)
{
	return &board_area.ports[(board_area.number * IKC_MAX_KERNELS + BOARD_HOST) * IKC_QUEUES +
				 queue];
}

/* and this kernel's to one of the host's. */
static inline struct ikc_port *board_port_there(unsigned int queue)
{
	return &board_area.ports[(BOARD_HOST * IKC_MAX_KERNELS + board_area.number) * IKC_QUEUES +
				 queue];
}

static inline unsigned int board_queue(unsigned int channel)
{
	return IKC_FIRST_CHANNEL + channel;
}

int board_area_join(void);
/* Did something change?  Then follow it, and return true. */
bool board_area_look(void);
bool board_area_host_up(void);
/* Make the host look at the table and its ports. */
void board_area_poke(void);
/* Make it look at a queue: there is something, or there is room. */
void board_area_ring(unsigned int queue);
/* An offset, or 0: then the host was asked for more, and it says when there is. */
uint32_t board_area_alloc(uint32_t size);
void *board_area_pointer(uint32_t offset);

/* ---- rx.c: rings that the host's programs write ---- */

struct board_rx {
	struct ikc_consumer ring;
	uint32_t offset;	/* 0: there is none */
	uint32_t life;		/* the host's that it is for */
	bool named;		/* in its port: it can be taken */
};

/* Make one of so many slots and name it, if there is none.  0, -EHOSTDOWN or -ENOMEM. */
int board_rx_open(struct board_rx *rx, unsigned int channel, uint32_t slots, uint32_t slot_size);
/* Has a program of the host's written there?  If it is attached no more, it has left. */
bool board_rx_used(const struct board_rx *rx);
/* Does one use it?  What one has written that let go is there. */
bool board_rx_attached(const struct board_rx *rx, unsigned int channel);
/* Nobody shall take it any more; whoever has it is told. */
void board_rx_unname(struct board_rx *rx, unsigned int channel);
/* It is to go: free it, if it was let go.  What was in it is lost. */
void board_rx_free(struct board_rx *rx, unsigned int channel);
/* As ikc_ring_read() */
int board_rx_read(struct board_rx *rx, unsigned int channel, void *data, uint32_t size,
		  uint32_t *len);
/* As ikc_arm(), and true if nothing can come from it any more. */
bool board_rx_arm(struct board_rx *rx, unsigned int channel);

/* ---- tx.c: rings of the host's programs, by their channels there ---- */

/* From now on it is a channel's, and the echo service does not write there. */
int board_tx_take(unsigned int channel);
/* Is it attached, and the host's program has closed it? */
bool board_tx_stale(unsigned int channel);
void board_tx_detach(unsigned int channel);
/* Let go of what is closed and no channel's. */
void board_tx_update(void);
/*
 * 0; -EBUSY: it is a channel's and not @taken; -EHOSTDOWN; -ENOTCONN: nobody has opened it;
 * -EPIPE: it was closed; -EPROTO: what was opened is no ring; or as ikc_ring_write().
 */
int board_tx_write(unsigned int channel, bool taken, const void *data, uint32_t len);
/* Ring the reader, if it sleeps. */
void board_tx_notify(unsigned int channel);
/* It is full, or not there: true if one may sleep until that changes. */
bool board_tx_wait(unsigned int channel);
uint64_t board_tx_rung(unsigned int channel);

/* ---- channel.c, echo.c: after each board_area_look() ---- */

void board_channels_update(void);
void board_echo_update(void);
/* Answer some; true if there may be more at once. */
bool board_echo_serve(void);

#endif
