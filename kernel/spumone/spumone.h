/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Linux side of SPUMONE: puts the layer under CPUs of the running kernel and takes
 * it away again.  This header is what its files share.
 *
 * Calls go down: main.c; launch.c; clock.c and image.c; the architecture.
 */
#ifndef _SPUMONE_H
#define _SPUMONE_H

#include <linux/list.h>
#include <linux/types.h>
#include <shimos/complaint.h>
#include <shimos/spumone.h>

#include <shimos/layer_abi.h>

/**
 * struct spumone_cpu - a CPU and its instance of the layer
 * @cpu: Linux's number
 * @own: what the instance has for itself, as Linux sees it
 * @own_order: of @own
 * @shared: the page that both write
 * @tables: pages of the instance's page tables, chained by their page->lru
 * @root: the physical address of the first of them
 * @code: a copy of the page of Linux's code in which they switch
 * @arch: one page more, which the architecture needs
 * @launched: Linux runs on it, on this CPU
 */
struct spumone_cpu {
	unsigned int cpu;
	void *own;
	unsigned int own_order;
	struct layer_shared *shared;
	struct list_head tables;
	u64 root;
	void *code;
	void *arch;
	bool launched;
};

/* The image, as it was built. */
extern const u8 spumone_layer_image[], spumone_layer_image_end[];

/* image.c: the layer in memory of its own */
int image_init(void);
void image_exit(void);
struct spumone_cpu *image_instance(unsigned int cpu);
void image_fill(struct spumone_cpu *s);
void image_free(struct spumone_cpu *s);
/* Where something in the image is for the layer. */
u64 image_address(u64 offset);
const struct layer_header *image_header(void);
/* The same in an instance's own part, as Linux sees it. */
void *image_own(struct spumone_cpu *s, u64 offset);

/* clock.c: whose the local timer is */
void clock_init(void);
u64 clock_scale(unsigned int cpu);
int clock_check(unsigned int cpu);
void clock_take(struct spumone_cpu *s);
void clock_give(struct spumone_cpu *s);

/* launch.c */
int launch_init(void);
void launch_exit(void);
void launch_leave_all(void);
bool launch_any(void);

/* ---- what an architecture provides ---- */

/* The name of the clock event devices that are its local timers. */
const char *spumone_arch_timer(void);

/* Can this CPU have a layer under it now? */
int spumone_arch_check(unsigned int cpu, struct complaint *c);
/* Fill an instance's page tables: map one page of memory at an address of the layer's. */
int spumone_arch_map(struct spumone_cpu *s, u64 address, u64 physical, bool write, bool run);
int spumone_arch_root(struct spumone_cpu *s);
int spumone_arch_map_switch(struct spumone_cpu *s);
/* Where the layer goes to leave. */
u64 spumone_arch_leave_address(void);
/* The physical address of the local interrupt controller's page; 0 if it has none. */
u64 spumone_arch_controller(void);
/* On the CPU, with interrupts off: under the layer, and natively again. */
int spumone_arch_enter(struct spumone_cpu *s);
void spumone_arch_leave(struct spumone_cpu *s);
/* A call to the instance of this CPU. */
void spumone_arch_call(enum layer_call call);

#endif
