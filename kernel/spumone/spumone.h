/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Linux side of SPUMONE: puts the layer under CPUs of the running kernel and takes
 * it away again.  This header is what its files share.
 *
 * Calls go down: main.c; rt.c, guard.c and hotplug.c; policy.c; host.c; launch.c, vectors.c and watch.c;
 * turns.c; visits.c; rest.c; protect.c; tasks.c;
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

/* rest.c: one that has fled leaves the core where it is to its own */
int rest_begin(unsigned int cpu, const struct layer_shared *shared);
void rest_end(unsigned int cpu);

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

/**
 * spumone_arch_timer() - the name of the clock event devices that are its local timers
 *
 * Context: any.
 */
const char *spumone_arch_timer(void);

/**
 * spumone_arch_check() - can this CPU have a layer under it now?
 * @cpu: it is online
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: virtual machines run; -ENODEV: the processor or its kernel cannot.
 */
int spumone_arch_check(unsigned int cpu, struct complaint *c);

/**
 * spumone_arch_tables() - begin with page tables
 * @t: gets an empty one
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; spumone_arch_free_tables() may follow either way.
 */
int spumone_arch_tables(struct spumone_tables *t);

/**
 * spumone_arch_map() - map a page, large or not
 * @t: not yet in use
 * @address: where it is seen, aligned to its size
 * @physical: what is seen there
 * @flags: SPUMONE_*
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int spumone_arch_map(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags);

/**
 * spumone_arch_free_tables() - free all tables
 * @t: nobody uses it; nothing in it may have been begun
 *
 * Context: any.
 */
void spumone_arch_free_tables(struct spumone_tables *t);

/**
 * spumone_arch_identity() - all of physical memory at its own address
 * @t: gets it
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; the caller frees it either way.
 */
int spumone_arch_identity(struct spumone_tables *t);

/**
 * spumone_arch_hide() - hide some of it
 * @t: of spumone_arch_identity()
 * @start: physical address, of a page
 * @size: bytes, whole pages
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int spumone_arch_hide(struct spumone_tables *t, u64 start, u64 size);

/**
 * spumone_arch_show() - show something else at a page of it
 * @t: of spumone_arch_identity()
 * @address: of the page
 * @physical: what is seen there
 * @flags: see SPUMONE_WRITE
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int spumone_arch_show(struct spumone_tables *t, u64 address, u64 physical, unsigned int flags);

/**
 * spumone_arch_prepare_guest() - write to a guest's memory what the processor needs there
 * @g: with its image in its memory; gets start.tables
 *
 * Context: any.
 */
void spumone_arch_prepare_guest(struct spumone_guest *g);

/**
 * spumone_arch_map_switch() - show an instance the code by which Linux and it switch
 * @s: gets a copy of that page, at the same address
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int spumone_arch_map_switch(struct spumone_cpu *s);

/**
 * spumone_arch_leave_address() - where the layer goes to leave
 *
 * Context: any.
 * Return: an address in Linux's page tables and the instance's.
 */
u64 spumone_arch_leave_address(void);

/**
 * spumone_arch_controller() - where the local interrupt controller's page is
 *
 * Context: any; of this CPU, and the same on all.
 * Return: a physical address; 0: it has none.
 */
u64 spumone_arch_controller(void);

/**
 * spumone_arch_enter() - this CPU is under the layer
 * @s: its instance, filled
 *
 * Context: on the CPU, interrupts off.
 * Return: 0 or -EBUSY.
 */
int spumone_arch_enter(struct spumone_cpu *s);

/**
 * spumone_arch_leave() - this CPU runs natively again
 * @s: its instance
 *
 * Context: on the CPU, under the layer, interrupts off.
 */
void spumone_arch_leave(struct spumone_cpu *s);

/**
 * spumone_arch_call() - a call to the instance of this CPU
 * @call: which
 * @argument: see enum layer_call
 *
 * Context: on the CPU, under the layer; any, but may not move to another CPU.
 */
void spumone_arch_call(enum layer_call call, u64 argument);

/**
 * spumone_arch_check_protect() - can memory be hidden from Linux here?
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -ENODEV.
 */
int spumone_arch_check_protect(struct complaint *c);

/**
 * spumone_arch_protect() - Linux sees what page tables say
 * @root: physical, of spumone_arch_identity(); 0: all
 *
 * Context: on a CPU under the layer, from which it may not move.
 */
void spumone_arch_protect(u64 root);

/**
 * spumone_arch_vector_name() - what Linux calls what comes at a vector
 * @vector: below LAYER_VECTORS
 *
 * Context: any.
 * Return: a text, "" if nothing does.
 */
const char *spumone_arch_vector_name(unsigned int vector);

/**
 * spumone_arch_check_visits() - can CPUs of this kernel go to other cores here?
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -ENODEV.
 */
int spumone_arch_check_visits(struct complaint *c);

/**
 * spumone_arch_host_registers() - which registers go with a CPU that does
 * @numbers: gets them; it was zeroed, and the first 0 ends them
 *
 * Context: any.
 */
void spumone_arch_host_registers(u32 numbers[LAYER_HOST_MSRS]);

/**
 * spumone_arch_host_bell() - the command by which one instance rings that of another CPU
 * @cpu: the other one
 *
 * Context: any.
 * Return: as spumone_arch_bell().
 */
u64 spumone_arch_host_bell(unsigned int cpu);

/**
 * spumone_arch_host_peers() - all CPUs that are online now
 * @peers: gets a bit for each, by the numbers of their interrupt controllers
 *
 * Context: CPUs neither come nor go.
 */
void spumone_arch_host_peers(u64 peers[LAYER_APIC_IDS / 64]);

/**
 * spumone_arch_halt() - enable interrupts, and wait for one
 *
 * Context: interrupts off; on return they are on.
 */
void spumone_arch_halt(void);

/**
 * spumone_arch_ring() - ring for the RTOSes of a CPU
 * @cpu: which; what was written before is seen by them
 *
 * Context: any.
 */
void spumone_arch_ring(unsigned int cpu);

/**
 * spumone_arch_rt_bell() - the bell of all RTOSes on a CPU
 * @cpu: which
 *
 * Context: any.
 * Return: a SHIMOS_BELL.
 */
u64 spumone_arch_rt_bell(unsigned int cpu);

/**
 * spumone_arch_bell() - the command by which the layer rings a bell
 * @bell: a SHIMOS_BELL
 *
 * Context: any.
 * Return: a word for its interrupt controller; 0: there is no bell.
 */
u64 spumone_arch_bell(u64 bell);

/**
 * spumone_arch_reason() - why an RTOS that did what it may not was ended, in words
 * @rt: how it ended
 * @to: gets the text
 * @size: of @to
 *
 * Context: any.
 */
void spumone_arch_reason(const struct layer_rt *rt, char *to, size_t size);

#endif
