/* SPDX-License-Identifier: GPL-2.0 */
/* What other modules may ask of SPUMONE's Linux side. */
#ifndef _SHIMOS_SPUMONE_H
#define _SHIMOS_SPUMONE_H

#include <linux/types.h>

struct complaint;
struct layer_late;
struct layer_rt;
struct layer_shared;
struct shimos_rt_page;
struct shimos_rt_vectors;

/**
 * struct spumone_share - how an RTOS shares its CPU
 * @budget_ns: how long it may have the CPU in each period; see spumone_check_budget()
 * @period_ns: 0 if as long as it wants
 * @priority: SHIMOS_RT_MIN_PRIORITY to SHIMOS_RT_MAX_PRIORITY, the highest goes first; this
 *	kernel goes after all of them
 */
struct spumone_share {
	u64 budget_ns;
	u64 period_ns;
	u32 priority;
};

/**
 * struct spumone_rt - an RTOS, as whoever starts it has it
 * @memory: all that it shall see, in one piece, whole pages
 * @size: bytes of @memory; the last SHIMOS_SHARED_SIZE are the caller's to fill
 * @image: see uapi/shimos_rt.h; the caller's again after the start, unless it is hidden
 * @len: its bytes
 * @hidden: bytes from @memory on that this kernel does not see until spumone_rt_stop(), at
 *	least @size, but for the boot record and the last SHIMOS_SHARED_SIZE of @size; whole
 *	pages; 0: none
 * @watch: if it watches another one: vmalloc()ed, a page for its struct shimos_rt_report, and
 *	the caller's struct shimos_rt_watch behind that; else NULL
 * @watch_size: bytes of @watch, whole pages
 */
struct spumone_rt {
	void *memory;
	u64 size;
	const void *image;
	u64 len;
	u64 hidden;
	void *watch;
	u64 watch_size;
};

/**
 * spumone_check() - can a CPU be shared?
 * @cpu: it must be online
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int spumone_check(unsigned int cpu, struct complaint *c);

/**
 * spumone_launch() - put the layer under a CPU of this kernel
 * @cpu: it must be online; if it goes off and comes again, so does the layer
 * @c: why not
 *
 * Counted: each is ended by one spumone_leave().
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int spumone_launch(unsigned int cpu, struct complaint *c);

/**
 * spumone_leave() - the counterpart of spumone_launch()
 * @cpu: any number
 *
 * With the last one the layer is taken away, and its RTOSes run no more.
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is none.
 */
int spumone_leave(unsigned int cpu);

/**
 * spumone_look() - what the layer under this CPU says of itself
 *
 * Context: on that CPU, interrupts off.  What has been delivered is counted.
 * Return: NULL if there is none under it.
 */
const struct layer_shared *spumone_look(void);

/**
 * spumone_check_budget() - may an RTOS have its CPU for so long in each period?
 * @budget_ns: 10 us to 95 % of its period; 0 without a period: as long as it wants
 * @period_ns: 100 us to 1 s
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int spumone_check_budget(u64 budget_ns, u64 period_ns, struct complaint *c);

/**
 * spumone_rt_check() - is this an image that can be started?
 * @image: see uapi/shimos_rt.h
 * @len: its bytes
 * @size: bytes of memory that it will have
 * @c: why not
 *
 * Context: any.
 * Return: 0, -EINVAL for the memory or -ENOEXEC for the image.
 */
int spumone_rt_check(const void *image, u64 len, u64 size, struct complaint *c);

/**
 * spumone_check_priority() - is this a priority?
 * @priority: as somebody asks for it
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int spumone_check_priority(u32 priority, struct complaint *c);

/**
 * spumone_rt_new() - have an RTOS, which does not run yet
 * @cpu: the layer is under it, and stays there until spumone_rt_free() or spumone_rt_move()
 * @share: how it shares that
 * @c: why not; -EBUSY: together with the others its budget would be too much
 *
 * Context: may sleep.
 * Return: its number, or an error.
 */
int spumone_rt_new(unsigned int cpu, const struct spumone_share *share, struct complaint *c);

/**
 * spumone_rt_free() - the counterpart of spumone_rt_new(); it does not run
 * @number: of spumone_rt_new()
 *
 * Context: may sleep.
 */
void spumone_rt_free(int number);

/**
 * spumone_rt_start() - let it run
 * @number: by spumone_rt_new()
 * @rt: what is started; its memory is the RTOS's until spumone_rt_stop()
 * @c: why not
 *
 * Its CPU stays online until it is stopped.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int spumone_rt_start(int number, const struct spumone_rt *rt, struct complaint *c);

/**
 * spumone_rt_stop() - it runs no more
 * @number: of spumone_rt_new()
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if it did not.
 */
int spumone_rt_stop(int number);

/**
 * spumone_rt_move() - it shares another CPU from now on, as it is, whether or not it runs
 * @number: of spumone_rt_new()
 * @cpu: the layer is under it, and stays there
 * @c: why not
 *
 * A bell that rang for it meanwhile is made good.
 *
 * Context: may sleep.
 * Return: 0, or an error: it is where it was.
 */
int spumone_rt_move(int number, unsigned int cpu, struct complaint *c);

/**
 * spumone_rt_priority() - it has another priority from now on, whether or not it runs
 * @number: of spumone_rt_new()
 * @priority: SHIMOS_RT_MIN_PRIORITY to SHIMOS_RT_MAX_PRIORITY
 * @c: why not
 *
 * Of those on its CPU that have the same one, it goes last.
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL: it has the one that it had.
 */
int spumone_rt_priority(int number, u32 priority, struct complaint *c);

/**
 * spumone_rt_any() - is there an RTOS, whether or not it runs?
 *
 * Context: may sleep.
 */
bool spumone_rt_any(void);

/**
 * struct spumone_host - one of this kernel's CPUs
 * @core: where it is; its own number: at home
 * @moves: from core to core, since the layer is under it
 * @moved_last: cycles that it was on none, the last time,
 * @moved_max: and the longest
 * @exits: how often this kernel has left it
 * @lost: it has had a triple fault, and never runs again
 * @priority: up to this one its tasks go before RTOSes; 0: they do not
 */
struct spumone_host {
	unsigned int core;
	bool lost;
	u32 priority;
	u64 moves, moved_last, moved_max, exits;
};

/**
 * spumone_host_move() - one of this kernel's CPUs runs on another one's core from now on
 * @cpu: which
 * @core: the other one's number; its own: it comes home
 * @c: why not
 *
 * Where several share a core they take turns, after its RTOSes.  The layer is under both CPUs
 * meanwhile.
 *
 * Context: may sleep.
 * Return: 0 or an error: it is where it was.
 */
int spumone_host_move(unsigned int cpu, unsigned int core, struct complaint *c);

/**
 * spumone_host_priority() - real-time tasks of a CPU go before RTOSes that are less urgent
 * @cpu: an RTOS shares it
 * @priority: up to this one a task has its own, as SCHED_FIFO has it; 0: the CPU goes after all
 *	RTOSes
 * @c: why not
 *
 * Until the last RTOS is gone, or the CPU is shared no more.
 *
 * Context: may sleep.
 * Return: 0 or an error: it is as it was.
 */
int spumone_host_priority(unsigned int cpu, u32 priority, struct complaint *c);

/**
 * spumone_host_lost() - has one of this kernel's CPUs had a triple fault, while RTOSes ran?
 * @cpu: which one
 * @at: the address where it was
 *
 * They go on, and nothing about them can be changed any more.
 *
 * Context: any.
 */
bool spumone_host_lost(unsigned int *cpu, u64 *at);

/**
 * enum spumone_policy - where CPUs of this kernel's are while RTOSes share some of them
 * @SPUMONE_POLICY_FIXED: where they were moved to; one whose core an RTOS has waits
 * @SPUMONE_POLICY_LHP: one whose core an RTOS has runs on another one meanwhile, against
 *	lock-holder preemption (SPUMONE 2011, section 4.2.2)
 * @SPUMONE_POLICY_SPREAD: on the cores that no RTOS shares (figure 2, left top)
 * @SPUMONE_POLICY_PACK: all on the core that the first RTOS shares (figure 2, left below)
 * @SPUMONE_POLICY_USER_ONLY: one that shares its core with an RTOS runs programs there, and the
 *	kernel elsewhere (section 4.1.2)
 */
enum spumone_policy {
	SPUMONE_POLICY_FIXED,
	SPUMONE_POLICY_LHP,
	SPUMONE_POLICY_SPREAD,
	SPUMONE_POLICY_PACK,
	SPUMONE_POLICY_USER_ONLY,
};

/**
 * spumone_policy() - another policy, for all CPUs
 * @to: which
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error: it is as it was.
 */
int spumone_policy(enum spumone_policy to, struct complaint *c);

/**
 * spumone_policy_now() - the policy that is in force
 *
 * Context: may sleep.
 */
enum spumone_policy spumone_policy_now(void);

/**
 * spumone_host_state() - where one is
 * @cpu: whichever
 * @out: untouched if the layer is not under it
 *
 * Context: may sleep.
 * Return: the layer is under it.
 */
bool spumone_host_state(unsigned int cpu, struct spumone_host *out);

/**
 * spumone_protect() - memory can be hidden from all CPUs of this kernel from now on
 * @c: why not
 *
 * The layer comes under all of them, also those that come online later, and hides itself.
 * Counted: each is ended by one spumone_unprotect().
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int spumone_protect(struct complaint *c);

/**
 * spumone_unprotect() - the counterpart of spumone_protect()
 *
 * With the last one, CPUs that nobody has launched the layer under run natively again.
 *
 * Context: may sleep.  No RTOS has hidden memory.
 */
void spumone_unprotect(void);

/**
 * spumone_faults() - how often this kernel has touched what was hidden from it
 *
 * Context: may sleep.
 */
u64 spumone_faults(void);

/**
 * spumone_hidden() - all that is hidden now
 * @visit: called for each range, in physical addresses, until it returns something else than 0
 * @arg: for @visit
 *
 * Context: may sleep.
 * Return: what @visit returned last.
 */
int spumone_hidden(int (*visit)(void *arg, u64 start, u64 size), void *arg);

/**
 * spumone_rt_state() - how it is
 * @number: of spumone_rt_new()
 * @out: a copy
 *
 * Context: any.
 */
void spumone_rt_state(int number, struct layer_rt *out);

/**
 * spumone_rt_late() - how late it gets its timer interrupts
 * @number: of spumone_rt_new()
 *
 * Context: any.
 * Return: what the layer goes on counting, since it was started; there until spumone_rt_free().
 */
const struct layer_late *spumone_rt_late(int number);

/**
 * spumone_exits() - how often this kernel has left a CPU
 * @cpu: any number
 *
 * Context: may sleep.
 * Return: how often since the layer is under it, 0 if it is not.
 */
u64 spumone_exits(unsigned int cpu);

/**
 * spumone_vectors() - which interrupts this kernel and the layer have had on a CPU
 * @cpu: the layer is under it while it is online
 * @to: see uapi/shimos_rt_interrupts.h; its host and layer, as they are at one moment
 *
 * Context: may sleep.
 */
void spumone_vectors(unsigned int cpu, struct shimos_rt_vectors *to);

/**
 * spumone_rt_reason() - why an RTOS that did what it may not was ended, in words
 * @rt: how it ended
 * @to: gets the text
 * @size: of @to
 *
 * Context: any.
 */
void spumone_rt_reason(const struct layer_rt *rt, char *to, size_t size);

/**
 * spumone_rt_ring() - ring its bell; others on its CPU hear it, too
 * @number: of spumone_rt_new()
 *
 * Context: any.
 */
void spumone_rt_ring(int number);

/**
 * spumone_rt_hear() - where it rings when it has something to say
 * @number: of spumone_rt_new()
 * @bell: of this kernel, a SHIMOS_BELL; 0: nowhere
 *
 * Context: any.
 */
void spumone_rt_hear(int number, u64 bell);

/**
 * spumone_rt_bell() - where others ring the RTOSes of a CPU
 * @cpu: which
 *
 * Context: any.
 * Return: a SHIMOS_BELL.
 */
u64 spumone_rt_bell(unsigned int cpu);

/**
 * spumone_rt_fixed() - what nobody may change in an RTOS's memory, and what it holds
 * @image: see uapi/shimos_rt.h; it has been checked for @size
 * @len: its bytes
 * @size: bytes of memory that it will have
 * @to: gets all pages that it can read or run only, as the image has them, for kvfree()
 *	after an error, too; NULL if there are none, or more than SHIMOS_RT_WATCH_PAGES
 *
 * Context: may sleep.
 * Return: how many there are, or an error.
 */
int spumone_rt_fixed(const void *image, u64 len, u64 size, struct shimos_rt_page **to);

/**
 * spumone_rt_watch() - let an RTOS read some pages of memory at SHIMOS_RT_WATCH
 * @number: it was started with a &spumone_rt.watch
 * @memory: where address 0 of the pages is, physically
 * @pages: their addresses
 * @count: how many
 *
 * Context: may sleep.
 * Return: 0; -ENOENT: it does not run; -ENOMEM: it sees none of them.
 */
int spumone_rt_watch(int number, u64 memory, const struct shimos_rt_page *pages, u32 count);

/**
 * spumone_rt_unwatch() - the counterpart of spumone_rt_watch(), with the same pages
 * @number: of spumone_rt_new()
 * @pages: as spumone_rt_watch() had them
 * @count: how many
 *
 * The RTOS may go on reading there, and finds zeros.  It remembers nothing of the memory
 * when this returns.
 *
 * Context: may sleep.
 */
void spumone_rt_unwatch(int number, const struct shimos_rt_page *pages, u32 count);

/**
 * spumone_rt_share() - let every RTOS see one more chunk of IKC's area
 * @chunk: its number, in ascending order from 0
 * @physical: where it is, for as long as there is an RTOS
 *
 * One that runs is told after that, and not rung.
 *
 * Context: may sleep.
 */
void spumone_rt_share(unsigned int chunk, u64 physical);

/**
 * spumone_rt_unshare() - IKC's area goes; no RTOS runs
 *
 * Context: may sleep.
 */
void spumone_rt_unshare(void);

#endif
