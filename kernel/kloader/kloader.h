/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KLoader: makes, loads, starts, stops and destroys partitions (SHIMOS 2009,
 * section 2.4).  This header is what its files share.
 *
 * Calls go down: ioctl.c and main.c; partition.c, resize*.c; life.c; kind_linux.c and kind_rt.c; monitor.c;
 * description.c; image.c, cmdline.c, passthrough.c, console.c; confine.c, stray.c; shared.c, state.c and table.c;
 * cpus.c and memory.c.
 */
#ifndef _KLOADER_H
#define _KLOADER_H

#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <shimos/complaint.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>

/**
 * struct layout - offsets of the parts of a partition's first memory range, from its start
 * @kernel: where the image runs from
 * @kernel_room: bytes it needs there while it boots
 * @initrd: working copy, RAM that the kernel frees
 * @stash: pristine copies for a restart, not RAM
 * @description: the last of them, where the caller writes it
 * @shared: struct shimos_shared and areas, not RAM
 * @end: behind all of them
 */
struct layout {
	u64 kernel;
	u64 kernel_room;
	u64 initrd;
	u64 stash;
	u64 description;
	u64 shared;
	u64 end;
};

/**
 * struct image - a kernel image, as an architecture's parser understood it
 * @size: bytes in the stash
 * @room: bytes it needs from its load address on
 * @align: of the load address
 * @entry: offset of the entry from the load address
 * @version: "6.1.0-50-cloud-amd64", may be empty
 * @format: the parser, where there are several
 */
struct image {
	u64 size;
	u64 room;
	u64 align;
	u64 entry;
	char version[128];
	const struct image_format *format;
};

struct session;
struct partition;
struct spumone_rt;

/**
 * struct partition_kind - what runs in a partition, as far as the life cycle asks
 * @memory_min: bytes, the least that it can have
 * @memory_max: bytes, the most
 * @number: an enum shimos_kind
 * @own_cpus: it has CPUs that are nobody else's
 * @one_range: its memory is in one piece
 * @devices: it can have PCI devices
 * @flags: SHIMOS_CREATE_* that it can have
 * @heartbeat: an agent in it says again and again that it lives
 * @check_share: may it share its CPU as asked?  Sets what was not asked for
 * @check_host: can this host run such a partition now?
 * @create: its CPUs, and the kind's own state; memory is known
 * @destroy: the counterpart of @create
 * @host_bytes: host memory spent on it outside of the partition's own
 * @busy_ns: CPU time of this start
 * @faults: stray accesses of the host to its memory, or of its own to others', or NULL
 * @exits: how often its kernel was left, since the last start, or NULL
 * @load: fill it with what it shall run; takes p->mutex, on failure it is as before
 * @stage: write everything anew that a start needs; p->mutex is held
 * @start: let its first CPU go; returns when it has
 * @halt: stop its CPUs in their tracks, not waiting; any context
 * @park: stop its CPUs and return when each has said so: 0, or -EIO if one has not
 * @settle: undo what its start or its run did to hardware that all share
 * @watch: has it ended without a word?  Any context, while it is up
 * @ready: the version of what it runs for us once that is up, else 0.  Any context
 * @ended: why it has ended, as it says itself or as is known for sure.  Any context
 * @words: its last ones, not to be trusted; it is parked
 * @ring: ring for what it runs for us; false: it cannot hear.  Any context
 * @hear: where it finds the host's bell from now on.  Any context
 * @bell: its own for IKC, a SHIMOS_BELL; only of a kind without CPUs of its own
 *
 * Those that say no context may sleep.
 */
struct partition_kind {
	u64 memory_min, memory_max;
	u32 number, flags;
	bool own_cpus, one_range, devices, heartbeat;
	int (*check_share)(struct shimos_create *arg, struct complaint *c);
	int (*check_host)(struct complaint *c);
	int (*create)(struct partition *p, struct complaint *c);
	void (*destroy)(struct partition *p);
	u64 (*host_bytes)(const struct partition *p);
	u64 (*busy_ns)(struct partition *p);
	u32 (*faults)(struct partition *p);
	u64 (*exits)(struct partition *p);
	int (*load)(struct partition *p, const struct shimos_load *arg,
		    const char *cmdline, struct complaint *c);
	int (*stage)(struct partition *p, struct complaint *c);
	int (*start)(struct partition *p, struct complaint *c);
	void (*halt)(struct partition *p);
	int (*park)(struct partition *p);
	void (*settle)(struct partition *p);
	enum shimos_cause (*watch)(struct partition *p);
	u32 (*ready)(struct partition *p);
	enum shimos_cause (*ended)(struct partition *p);
	const char *(*words)(struct partition *p);
	bool (*ring)(struct partition *p);
	void (*hear)(struct partition *p, u64 bell);
	u64 (*bell)(struct partition *p);
};

/**
 * struct partition - a partition, from SHIMOS_IOC_CREATE until nobody holds it
 * @ref: who knows it
 * @link: in table_partitions; kloader_mutex
 * @id: never used again
 * @name: as the user calls it
 * @flags: SHIMOS_CREATE_*
 * @kind: what runs in it
 * @session: kloader_mutex: dies with it, or NULL
 * @mutex: serialises the steps of the life cycle; guards everything below that names no other
 *	lock.  Taken after kloader_mutex where both are
 * @state: how it is
 * @cause: of the last stop
 * @event: counts what has happened
 * @event_wait: who waits for the next event
 * @gone: resources given back
 * @cpu_count: how many CPUs of its own
 * @cpus: these, as Linux calls them
 * @hardware_ids: in the order of @cpus
 * @cpus_lock: guards these three against those who stop its CPUs without @mutex
 * @more_count: how many CPUs its kernel knows of that it may get later, constant
 * @more: these, its first ones among them or not
 * @resizing: it is getting or losing a CPU
 * @resize_number: of the last such request
 * @memory_sem: write-held to change the memory; readers copy from it
 * @hidden: nobody can copy from it
 * @node: that all of the memory is in, constant; NUMA_NO_NODE: near its first CPU if there is room
 * @memory: bytes
 * @range_count: how many of @ranges
 * @lasting_ranges: of these, from the first: those that it has started with
 * @ranges: its memory, the largest first
 * @passthrough: of struct passthrough
 * @passthrough_count: how many of these
 * @confinements: of struct confinement
 * @layout: of the first range
 * @image: what it boots
 * @initrd_size: bytes; 0: there is none
 * @kernel_crc: of the kernel in the stash
 * @initrd_crc: of the initrd there
 * @description_size: 0: there is none
 * @description_seed: see struct shimos_describe, as the next two
 * @description_start: the same
 * @description_entropy: the same
 * @description_crc: of the description in the stash
 * @cmdline: as handed to the kernel
 * @shared: in its memory, NULL before LOAD
 * @ikc_kernel: its number for IKC
 * @ikc_life: of the last start
 * @arch: the architecture's own, see kloader_arch_create()
 * @rt: kind_rt.c's own
 * @monitor: monitor.c's own, of a real-time partition
 * @watches: whom it watches, constant; empty: nobody
 * @budget_ns: of one that shares a CPU, constant; else 0
 * @period_ns: the same
 * @priority: of one that shares a CPU; else 0
 * @starts: how often it was started
 * @started_ns: ktime; 0: not
 * @ready_ns: ktime; 0: not
 * @agent: its ABI version once ready
 * @message: its last words
 * @watch: looks at it while it runs; see life.c
 * @work: what the watch may not do itself
 * @reset: what the watch saw, for the work
 * @heartbeat: watch only
 * @heartbeat_ns: last change, ktime
 * @console_wait: who waits for output, or for room for input
 * @input_mutex: one writer of keyboard input
 * @input_head: input_mutex; our copy, not the peer's
 * @watchers: descriptors of console_open()
 * @device: in sysfs
 */
struct partition {
	struct kref ref;
	struct list_head link;
	u32 id;
	char name[SHIMOS_NAME_LEN];
	u32 flags;
	const struct partition_kind *kind;
	struct session *session;

	struct mutex mutex;
	enum shimos_state state;
	enum shimos_cause cause;
	u64 event;
	wait_queue_head_t event_wait;
	bool gone;

	u32 cpu_count;
	u32 cpus[SHIMOS_MAX_CPUS];
	u64 hardware_ids[SHIMOS_MAX_CPUS];
	spinlock_t cpus_lock;
	u32 more_count;
	u32 more[SHIMOS_MAX_CPUS];
	bool resizing;
	u32 resize_number;

	struct rw_semaphore memory_sem;
	bool hidden;
	int node;
	u64 memory;
	u32 range_count, lasting_ranges;
	struct shimos_range ranges[SHIMOS_MAX_RANGES];

	struct list_head passthrough;
	u32 passthrough_count;
	struct list_head confinements;

	struct layout layout;
	struct image image;
	u64 initrd_size;
	u32 kernel_crc, initrd_crc;
	u32 description_size;
	u32 description_seed, description_start, description_entropy;
	u32 description_crc;
	char *cmdline;
	struct shimos_shared *shared;
	int ikc_kernel;
	u32 ikc_life;
	void *arch;
	struct kind_rt *rt;
	struct monitor *monitor;
	char watches[SHIMOS_NAME_LEN];
	u64 budget_ns, period_ns;
	u32 priority;

	u32 starts;
	u64 started_ns, ready_ns;
	u32 agent;
	char message[256];

	struct hrtimer watch;
	struct work_struct work;
	enum shimos_cause reset;
	u32 heartbeat;
	u64 heartbeat_ns;

	wait_queue_head_t console_wait;
	struct mutex input_mutex;
	u64 input_head;
	atomic_t watchers;
	struct device *device;
};

/* table.c: finding partitions, and their memory */
extern struct mutex kloader_mutex;	/* guards table_partitions and sessions */
/* In ascending order of id; changed under kloader_mutex, walked under RCU too. */
extern struct list_head table_partitions;

int table_enter(struct partition *p, struct complaint *c);
void table_leave(struct partition *p);
struct partition *table_get(u32 id, bool next);
void table_put(struct partition *p);
unsigned int table_count(void);

/**
 * partition_at() - a place in a partition's first memory range
 * @p: it has memory
 * @offset: from the range's start
 *
 * Context: any.
 * Return: where the host has it mapped.
 */
static inline void *partition_at(struct partition *p, u64 offset)
{
	return phys_to_virt(p->ranges[0].start + offset);
}

/**
 * partition_phys() - the physical address of a place in it
 * @p: it has memory
 * @offset: from the range's start
 *
 * Context: any.
 */
static inline u64 partition_phys(struct partition *p, u64 offset)
{
	return p->ranges[0].start + offset;
}

/* state.c: the states and which may follow which */
const char *state_name(enum shimos_state state);
const char *state_cause_name(enum shimos_cause cause);
bool state_is_up(const struct partition *p);
int state_check_step(struct partition *p, enum shimos_state to, struct complaint *c);
int state_refuse_stuck(const struct partition *p, struct complaint *c);
void state_set(struct partition *p, enum shimos_state state);
void state_event(struct partition *p);

/* partition.c: the objects and their resources */
int partition_create(struct session *s, struct shimos_create *arg, const u32 *cpus,
		     const u32 *more, struct complaint *c);
int partition_destroy(struct partition *p, struct complaint *c);
void partition_destroy_session(struct session *s);
void partition_status(struct partition *p, struct shimos_status *out);
const struct partition_kind *partition_kind(u32 kind);

/* resize.c: CPUs and memory that come and go */
int resize_partition(struct partition *p, struct shimos_resize *arg, struct complaint *c);

/* life.c: starting, stopping, noticing the end */
void life_init(struct partition *p);
int life_start(struct partition *p, u32 flags, struct complaint *c);
void life_moved(struct partition *p);
int life_stop(struct partition *p, struct complaint *c);
int life_kill(struct partition *p, struct complaint *c);
void life_shut(void);
int life_sleep(void);
void life_wake(void);
void life_wait_unheld(struct partition *p);
int life_check_unheld(struct partition *p, struct complaint *c);
void life_quiesce(struct partition *p);

/**
 * life_rang() - somebody rang; nobody says who
 *
 * Context: hard interrupt.
 */
void life_rang(void);

/**
 * life_bell_moved() - tell every partition where the host's bell is now
 * @place: a SHIMOS_BELL
 *
 * Context: hard interrupt.
 */
void life_bell_moved(u64 place);

void life_lost(struct partition *p);

/* kind_linux.c: a stock Linux on CPUs and memory of its own */
extern const struct partition_kind kind_linux;

/* kind_rt.c: a real-time program that shares a CPU with the host; or none_rt.c: there are none */
extern const struct partition_kind kind_rt;
int kind_rt_status(struct partition *p, struct shimos_rt_status *out, struct complaint *c);
int kind_rt_latency(struct partition *p, struct shimos_rt_latency *out, struct complaint *c);
int kind_rt_move(struct partition *p, u32 cpu, struct complaint *c);
int kind_rt_host_move(u32 cpu, u32 core, struct complaint *c);
int kind_rt_host_priority(u32 cpu, u32 priority, struct complaint *c);
int kind_rt_host_cpus(struct shimos_host_cpus *out);
int kind_rt_host_policy(struct shimos_host_policy *arg, struct complaint *c);
int kind_rt_priority(struct partition *p, u32 priority, struct complaint *c);
int kind_rt_vectors(struct partition *p, struct shimos_rt_vectors *out, struct complaint *c);
int kind_rt_check(struct partition *p, struct shimos_rt_check *out, struct complaint *c);

/**
 * kind_rt_number() - the layer's number of it
 * @p: of this kind
 *
 * Context: any.
 */
int kind_rt_number(const struct partition *p);

/**
 * kind_rt_share() - IKC's area has one more chunk
 * @chunk: its number
 * @physical: its address
 *
 * Context: may sleep.
 */
void kind_rt_share(unsigned int chunk, u64 physical);

/**
 * kind_rt_unshare() - IKC's area goes
 *
 * Context: may sleep.
 */
void kind_rt_unshare(void);

/* monitor.c: real-time partitions that watch others */
int monitor_create(struct partition *p, struct complaint *c);
void monitor_destroy(struct partition *p);
u64 monitor_host_bytes(const struct partition *p);
int monitor_load(struct partition *p, const void *image, u64 len, u64 size);
void monitor_prepare(struct partition *p, struct spumone_rt *rt);
void monitor_started(struct partition *p);
void monitor_ends(struct partition *p);
void monitor_look(struct partition *p);
bool monitor_changed(struct partition *p);
void monitor_reason(struct partition *p, char *to, size_t size);

/**
 * monitor_status() - whom it watches, and what it found
 * @p: any partition
 * @out: gets that; the rest of it stays
 *
 * Context: p->mutex is held.
 */
void monitor_status(struct partition *p, struct shimos_status *out);

int monitor_check(struct partition *p, struct shimos_rt_check *out, struct complaint *c);

/* cpus.c */
int cpus_init(void);
void cpus_exit(void);
int cpus_check_present(u32 cpu, struct complaint *c);
int cpus_take(const u32 *cpus, u32 count, struct complaint *c);
int cpus_share(u32 cpu, struct complaint *c);
void cpus_unshare(u32 cpu);
void cpus_hardware_ids(const u32 *cpus, u32 count, u64 *ids);
void cpus_give_back(const u32 *cpus, u32 count);

/* memory.c */
#define MEMORY_ALIGN	SZ_2M
int memory_take(struct partition *p, u64 size, struct complaint *c);
void memory_give_back(struct partition *p);
int memory_take_more(const struct partition *p, u64 size, u64 step, struct shimos_range *out,
		     struct complaint *c);
void memory_give_range_back(const struct shimos_range *range);

/* image.c */
int image_load(struct partition *p, const struct shimos_load *arg,
	       const char *cmdline, struct complaint *c);
int image_restage(struct partition *p, struct complaint *c);
void image_copy_pages(void *to, const void *from, u64 size);
struct file *image_open(int fd, const char *what, u64 *size, struct complaint *c);
int image_read_kernel(struct file *file, void *to, u64 size, const char *what,
		      struct complaint *c);
u32 image_checksum(struct partition *p, u64 offset, u64 size);
void image_loaded(struct partition *p);

/**
 * struct cmdline_refused - a parameter that a user may not give a partition's kernel
 * @name: of it, with underscores
 * @reason: why not
 */
struct cmdline_refused {
	const char *name;
	const char *reason;
};

int cmdline_check(const char *cmdline, const struct cmdline_refused *refused, size_t count,
		  struct complaint *c);
const char *cmdline_next_word(const char **at, size_t *len);
size_t cmdline_name_length(const char *word, size_t len);
bool cmdline_same_name(const char *word, size_t len, const char *name);

/* description.c: what a partition is told of its platform, where the caller writes that */
u64 description_room(void);
int description_facts(struct partition *p, struct shimos_platform *out, struct complaint *c);
int description_take(struct partition *p, const struct shimos_describe *arg,
		     struct complaint *c);
int description_check(struct partition *p, struct complaint *c);
void description_copy(struct partition *p, u64 offset);

/* shared.c */
void shared_reset(struct partition *p);
void shared_publish_bell(struct partition *p);
void shared_copy_text(char *to, const char *from, size_t size);

/* console.c, memory_file.c */
int console_open(struct partition *p, struct complaint *c);
int memory_file_open(struct partition *p, struct complaint *c);

/* sysfs.c */
int sysfs_init(void);
void sysfs_exit(void);
int sysfs_enter(struct partition *p);
void sysfs_leave(struct partition *p);

/* ioctl.c */
int ioctl_init(void);
void ioctl_exit(void);

#endif
