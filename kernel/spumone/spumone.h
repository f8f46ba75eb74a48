/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Linux side of SPUMONE: puts the layer under CPUs of the running kernel and takes
 * it away again.  This header is what its files share.
 *
 * Calls go down: main.c; rt.c, guard.c and hotplug.c; policy.c; host.c; launch.c, vectors.c and watch.c;
 * turns.c; visits.c; protect.c; tasks.c;
 * clock.c, guest.c and image.c; area.c and record.c; the architecture.
 */
#ifndef _SPUMONE_H
#define _SPUMONE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <shimos/complaint.h>
#include <shimos/spumone.h>

#include <shimos/layer_abi.h>

/**
 * struct spumone_tables - page tables, of the layer or of memory that a guest sees
 * @pages: all of them, chained by their page->lru
 * @root: the physical address of the first
 */
struct spumone_tables {
	struct list_head pages;
	u64 root;
};

/* What may be done with a page. */
#define SPUMONE_WRITE	BIT(0)
#define SPUMONE_RUN	BIT(1)
#define SPUMONE_NESTED	BIT(2)	/* it is in tables of memory that a guest sees */
#define SPUMONE_LARGE	BIT(3)	/* not a page, but 2 MiB of them */

/**
 * struct spumone_guest - an RTOS that can share CPUs with Linux
 * @number: its own, which is also the layer's
 * @taken: somebody has it
 * @cpu: the one that it shares, or would
 * @share: how much of it, and before whom
 * @shared: the page that the layer and Linux both write
 * @runs: it was started, so all below is there; cleared when it was stopped
 * @memory: all of it, as Linux sees it; its starter's
 * @size: bytes
 * @hidden: from @memory on, so many bytes are hidden from Linux while it runs, but for what
 *	both use; 0: none
 * @tables: what it may do with it
 * @chunks: how many of IKC's area it sees
 * @start: for the layer
 */
struct spumone_guest {
	unsigned int number;
	bool taken;
	unsigned int cpu;
	struct spumone_share share;
	struct layer_guest_shared *shared;
	bool runs;
	void *memory;
	u64 size;
	u64 hidden;
	struct spumone_tables tables;
	u32 chunks;
	struct layer_rt_start start;
};

/**
 * struct spumone_cpu - a CPU and its instance of the layer
 * @cpu: Linux's number
 * @own: what the instance has for itself, as Linux sees it
 * @own_order: of @own
 * @enter: where the layer is entered, as it sees it
 * @state: in @own: what the processor runs Linux by
 * @watched: in @own: which of the processor's registers the layer watches
 * @shared: the page that both write
 * @tables: the instance's page tables
 * @code: a copy of the page of Linux's code in which they switch
 * @arch: one page more, which the architecture needs
 * @asked: how often by spumone_launch(), so it has the timer, too; 0: it only hides memory
 * @launched: Linux runs on it, on this CPU
 */
struct spumone_cpu {
	unsigned int cpu;
	void *own;
	unsigned int own_order;
	u64 enter;
	void *state;
	void *watched;
	struct layer_shared *shared;
	struct spumone_tables tables;
	void *code;
	void *arch;
	unsigned int asked;
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
void image_text_range(u64 *start, u64 *size);
void image_pool_range(u64 *start, u64 *size);
void image_hosts_range(u64 *start, u64 *size);
u64 image_host_controller(unsigned int cpu);
struct layer_guest_shared *image_guest_shared(unsigned int number);
const struct layer_shared *image_lost(unsigned int *cpu);

/* clock.c: whose the local timer is */
void clock_init(void);
u64 clock_scale(unsigned int cpu);
int clock_check(unsigned int cpu);
void clock_take(struct spumone_cpu *s);
void clock_give(struct spumone_cpu *s);

/* guest.c: RTOSes in memory of their own */
/* All that there can be.  Changed under launch_mutex and cpus_read_lock(). */
extern struct spumone_guest guest_table[LAYER_GUESTS];
int guest_make(struct spumone_guest *g, const struct spumone_rt *rt, struct complaint *c);
void guest_free(struct spumone_guest *g);

/* area.c: what it shares with other kernels */
void area_add(unsigned int chunk, u64 physical);
void area_forget(void);
int area_show(struct spumone_guest *g);

/* record.c: what one that watches another shares with its starter */
int record_show(struct spumone_guest *g, const struct spumone_rt *rt);

/* protect.c: what Linux sees of memory, on CPUs under which the layer is */
bool protect_on(void);
int protect_begin(void);
void protect_end(void);
int protect_renew(void);
int protect_tables_for(struct spumone_tables *t);
void protect_shrink(void);
void protect_change_guests(void (*change)(void));
void protect_open_guests(void);
void protect_close_guests(void);
void protect_flush(unsigned int cpu);
void protect_leaves(struct spumone_cpu *s);
int protect_look(int (*visit)(void *arg, u64 start, u64 size), void *arg);
u64 protect_faults(void);

/* turns.c: which RTOS is on which CPU */
int turns_begin(struct spumone_guest *g, struct complaint *c);
void turns_end(struct spumone_guest *g);
void turns_end_all(unsigned int cpu);
void turns_move(struct spumone_guest *g, unsigned int cpu);
void turns_priority(struct spumone_guest *g, u32 priority);
bool turns_any(unsigned int cpu);

/* host.c: where this kernel's CPUs are wanted */
int host_ask_both(unsigned int cpu, unsigned int core, struct complaint *c);
void host_ask_no_more(unsigned int cpu, unsigned int core);
int host_move(unsigned int cpu, unsigned int core, struct complaint *c);
void host_home(void);

/* policy.c: where they are because of RTOSes */
void policy_renew(void);

/* visits.c: which CPU of this kernel is on which core */
void visits_init(void);
int visits_check(unsigned int cpu, struct complaint *c);
unsigned int visits_wanted(unsigned int cpu);
void visits_want(unsigned int cpu, unsigned int core);
unsigned int visits_refuge(unsigned int cpu);
void visits_take_refuge(unsigned int cpu, unsigned int core);
void visits_keep_kernel_out(unsigned int cpu, bool out);
void visits_forget(unsigned int cpu);
bool visits_any(unsigned int cpu);
void visits_home(void);
void visits_again(void);

/* tasks.c: real-time tasks that go before RTOSes */
int tasks_count(unsigned int cpu, struct layer_tasks *t, u32 limit, struct complaint *c);
void tasks_forget(unsigned int cpu);
void tasks_forget_all(void);

/* launch.c */
/* Guards which CPUs are in launch_cpus, why, and what they see.  Before cpus_read_lock(). */
extern struct mutex launch_mutex;
/*
 * Those that have the layer under them while they are online.  A CPU that comes or goes
 * changes its own; all others do so under launch_mutex and cpus_read_lock().
 */
DECLARE_PER_CPU(struct spumone_cpu *, launch_cpus);
/* Both: launch_mutex and cpus_read_lock(). */
void launch_lock(void);
void launch_unlock(void);
int launch_here(struct spumone_cpu *s);
void launch_leave_here(struct spumone_cpu *s);
int launch_ask(unsigned int cpu, struct complaint *c);
int launch_ask_no_more(unsigned int cpu);
int launch_add(unsigned int cpu, unsigned int asked, struct complaint *c);
int launch_guard(unsigned int cpu, struct complaint *c);
void launch_remove(struct spumone_cpu *s);
void launch_leave_all(void);
bool launch_any(void);
int launch_check_lost(struct complaint *c);
int launch_lock_all(struct complaint *c);

/* hotplug.c: CPUs that come and go */
int hotplug_init(void);
void hotplug_exit(void);

/* ---- what an architecture provides ---- */

/* The name of the clock event devices that are its local timers. */
const char *spumone_arch_timer(void);

/* Can this CPU have a layer under it now? */
int spumone_arch_check(unsigned int cpu, struct complaint *c);
/* Page tables: begin, map a page, large or not, of memory at an address, free.  May sleep. */
int spumone_arch_tables(struct spumone_tables *t);
int spumone_arch_map(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags);
void spumone_arch_free_tables(struct spumone_tables *t);
/* All of physical memory at its own address; hide some of it.  May sleep. */
int spumone_arch_identity(struct spumone_tables *t);
int spumone_arch_hide(struct spumone_tables *t, u64 start, u64 size);
/* Something else at a page of it; see SPUMONE_WRITE.  May sleep. */
int spumone_arch_show(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags);
/* What the processor needs in a guest's memory before it is entered. */
void spumone_arch_prepare_guest(struct spumone_guest *g);
int spumone_arch_map_switch(struct spumone_cpu *s);
/* Where the layer goes to leave. */
u64 spumone_arch_leave_address(void);
/* The physical address of the local interrupt controller's page; 0 if it has none. */
u64 spumone_arch_controller(void);
/* On the CPU, with interrupts off: under the layer, and natively again. */
int spumone_arch_enter(struct spumone_cpu *s);
void spumone_arch_leave(struct spumone_cpu *s);
/* A call to the instance of this CPU. */
void spumone_arch_call(enum layer_call call, u64 argument);
/* Can memory be hidden from Linux here? */
int spumone_arch_check_protect(struct complaint *c);
/* On a CPU under the layer: Linux sees what the tables at an address say; 0: all. */
void spumone_arch_protect(u64 root);
/* What Linux calls what comes at a vector, which is below LAYER_VECTORS; "" if nothing. */
const char *spumone_arch_vector_name(unsigned int vector);
/* Can CPUs of this kernel go to other cores here? */
int spumone_arch_check_visits(struct complaint *c);
/* Registers that go with one, by their numbers; 0: no more. */
void spumone_arch_host_registers(u32 numbers[LAYER_HOST_MSRS]);
/* The command by which one instance rings that of another CPU. */
u64 spumone_arch_host_bell(unsigned int cpu);
/* All CPUs that are online now, by the numbers of their interrupt controllers. */
void spumone_arch_host_peers(u64 peers[LAYER_APIC_IDS / 64]);
/* Ring for the RTOSes of a CPU.  Any context. */
void spumone_arch_ring(unsigned int cpu);
/* The bell of all RTOSes on a CPU: a SHIMOS_BELL. */
u64 spumone_arch_rt_bell(unsigned int cpu);
/* The command by which the layer rings a SHIMOS_BELL; 0 for none. */
u64 spumone_arch_bell(u64 bell);
/* Why an RTOS that did what it may not was ended, in words. */
void spumone_arch_reason(const struct layer_rt *rt, char *to, size_t size);

#endif
