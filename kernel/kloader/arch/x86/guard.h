/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guarded partitions: their kernels run as guests of AMD's SVM, on their own CPUs, and see
 * no more of the machine than what is theirs (AMD64 APM volume 2, chapter 15).
 */
#ifndef _KLOADER_X86_GUARD_H
#define _KLOADER_X86_GUARD_H

#include <linux/list.h>

#include "x86.h"

struct guard_cpu;

/**
 * struct x86_guard_tables - page tables: the guard's own, or those of what the kernel sees
 * @pages: chained by their page->lru
 * @root: physical address of the first
 * @count: how many
 */
struct x86_guard_tables {
	struct list_head pages;
	u64 root;
	u32 count;
};

/**
 * struct x86_guard - what guards a partition
 * @link: in all of them; x86_guard_mutex
 * @image: a copy of the guard's image
 * @image_order: of its pages
 * @idt: the guard's
 * @ports: which are not let through, a bit each
 * @registers: the same of MSRs
 * @blank: stands for what is others' below 1 MiB
 * @own: what the guard sees
 * @seen: what its kernel sees; x86_guard_mutex, once there is a partition
 * @cpu_count: how many CPUs
 * @cpu: what each has for itself
 * @reason: why the guard has ended it, in words
 */
struct x86_guard {
	struct list_head link;
	void *image;
	unsigned int image_order;
	void *idt;
	void *ports;
	void *registers;
	void *blank;
	struct x86_guard_tables own;
	struct x86_guard_tables seen;
	u32 cpu_count;
	struct guard_cpu *cpu[SHIMOS_MAX_CPUS];
	char reason[sizeof_field(struct partition, message)];
};

/* guard.c */
int x86_guard_create(struct partition *p);
void x86_guard_destroy(struct partition *p);
int x86_guard_stage(struct partition *p);
int x86_guard_start(struct partition *p, struct complaint *c);
u64 x86_guard_host_bytes(const struct x86_guard *g);

/* guard_seen.c: page tables.  May sleep. */
int x86_guard_make_tables(struct x86_guard *g, struct partition *p);
int x86_guard_show_devices(struct x86_guard *g, struct partition *p);
void x86_guard_free_tables(struct x86_guard *g);

/* guard_maps.c */
void x86_guard_fill_maps(struct x86_guard *g);
void x86_guard_allow_ports(struct x86_guard *g, u32 first, u32 last);

/* guard_image.S */
extern const u8 kloader_guard_image[], kloader_guard_image_end[];

#endif
