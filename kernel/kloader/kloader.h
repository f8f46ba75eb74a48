/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KLoader: makes, loads, starts, stops and destroys partitions (SHIMOS 2009,
 * section 2.4).  This header is what its files share.
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
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>

/* Text for the user beside an error number; see refuse(). */
struct complaint {
	char text[SHIMOS_ERROR_LEN];
};

/* Writes the text and returns @err, so that callers can `return refuse(…)`. */
__printf(3, 4)
int refuse(struct complaint *c, int err, const char *fmt, ...);

/* Offsets of the parts of a partition's first memory range, from its start. */
struct layout {
	u64 kernel;		/* where the image runs from */
	u64 kernel_room;	/* bytes it needs there while it boots */
	u64 initrd;		/* working copy, RAM that the kernel frees */
	u64 stash;		/* pristine copies for a restart, not RAM */
	u64 shared;		/* struct shimos_shared and areas, not RAM */
	u64 end;
};

/* A kernel image, as an architecture's parser understood it. */
struct image {
	u64 size;		/* bytes in the stash */
	u64 room;		/* bytes it needs from its load address on */
	u64 align;		/* of the load address */
	u64 entry;		/* offset of the entry from the load address */
	char version[128];	/* "6.1.0-50-cloud-amd64", may be empty */
	const struct image_format *format;
};

struct pci_dev;

struct partition {
	struct kref ref;
	struct list_head link;		/* kloader_mutex */
	u32 id;
	char name[SHIMOS_NAME_LEN];
	u32 flags;			/* SHIMOS_CREATE_* */
	struct session *session;	/* kloader_mutex: dies with it, or NULL */

	/*
	 * Serialises the steps of the life cycle; guards everything below that
	 * names no other lock.  Taken after kloader_mutex where both are.
	 */
	struct mutex mutex;
	enum shimos_state state;
	enum shimos_cause cause;
	u64 event;
	wait_queue_head_t event_wait;
	bool gone;			/* resources given back */

	u32 cpu_count;
	u32 cpus[SHIMOS_MAX_CPUS];
	bool cpus_stuck;		/* a CPU did not park: keep everything */

	/* Write-held to change; readers copy from the memory. */
	struct rw_semaphore memory_sem;
	u64 memory;
	u32 range_count;
	struct shimos_range ranges[SHIMOS_MAX_RANGES];

	struct list_head passthrough;	/* of struct passthrough */
	u32 passthrough_count;

	struct layout layout;
	struct image image;
	u64 initrd_size;
	u32 kernel_crc, initrd_crc;
	char *cmdline;			/* as handed to the kernel */
	struct shimos_shared *shared;	/* in its memory, NULL before LOAD */
	int ikc_kernel;			/* its number for IKC */
	u32 ikc_life;			/* of the last start */
	void *arch;			/* the architecture's own */

	u32 starts;
	u64 started_ns, ready_ns;	/* ktime, 0: not */
	u32 agent;			/* its ABI version once ready */
	char message[256];

	/* Watching a running partition; see life.c. */
	struct hrtimer watch;
	struct work_struct work;
	enum shimos_cause reset;	/* what the watch saw, for the work */
	u32 heartbeat;			/* watch only */
	u64 heartbeat_ns;		/* last change, ktime */

	wait_queue_head_t console_wait;
	struct mutex input_mutex;	/* one writer of keyboard input */
	u64 input_head;			/* input_mutex; our copy, not the peer's */
	atomic_t watchers;
	struct device *device;
};

/* How an architecture boots and stops kernels; the core knows no more of it. */
struct kloader_arch {
	const char *name;
	int (*init)(void);
	void (*exit)(void);

	/* Can this host run partitions at all? */
	int (*check_host)(struct complaint *c);
	/* May this CPU be given away? */
	int (*check_cpu)(unsigned int cpu, struct complaint *c);
	/* Can a partition find this device and get its interrupts? */
	int (*check_pci)(struct pci_dev *pdev, struct complaint *c);
	/* May the user pass this command line? */
	int (*check_cmdline)(const char *cmdline, struct complaint *c);

	/* Per-partition state in p->arch; CPUs and memory are known. */
	int (*create)(struct partition *p, struct complaint *c);
	void (*destroy)(struct partition *p);

	/* Host memory spent on it outside of the partition's own; optional. */
	u64 (*host_bytes)(const struct partition *p);

	/* Which kind of image is it, and is it whole? */
	int (*parse_image)(const void *image, u64 size, struct image *out,
			   struct complaint *c);
	/* What containment needs; appended to the user's command line. */
	int (*append_cmdline)(struct partition *p, char *buf, size_t len);
	/* Copy the image to its place; write the platform description. */
	int (*stage)(struct partition *p, struct complaint *c);

	/* Let the first CPU enter the image; returns when it has. */
	int (*start)(struct partition *p, struct complaint *c);
	/* Stop the CPUs in their tracks, not waiting.  Any context. */
	void (*halt)(struct partition *p);
	/* Stop the CPUs and return when each has said so.  May sleep. */
	int (*park)(struct partition *p);
	/* Undo what a booting kernel did to hardware that all share. */
	void (*restore_legacy)(void);
	/* Does a hardware CPU id belong to the partition? */
	bool (*owns_cpu)(struct partition *p, u32 hardware_id);
	/* Did it write to its reset or sleep register?  Any context. */
	enum shimos_cause (*reset_requested)(struct partition *p);
};

extern const struct kloader_arch *const kloader_arch;

extern struct mutex kloader_mutex;	/* list of partitions, lent CPUs */

/* An open /dev/shimos. */
struct session {
	struct mutex mutex;	/* guards complaint: one call at a time */
	struct complaint complaint;
};

/* partition.c: the objects and their resources */
int partition_create(struct session *s, struct shimos_create *arg, const u32 *cpus);
int partition_destroy(struct partition *p, struct complaint *c);
void partition_destroy_session(struct session *s);
struct partition *partition_get(u32 id, bool next);
void partition_put(struct partition *p);
void partition_status(struct partition *p, struct shimos_status *out);
unsigned int partition_count(void);
void *partition_at(struct partition *p, u64 offset);
u64 partition_phys(struct partition *p, u64 offset);

/* life.c: the state machine */
const char *state_name(enum shimos_state state);
const char *cause_name(enum shimos_cause cause);
void life_init(struct partition *p);
void life_set_state(struct partition *p, enum shimos_state state);
int life_start(struct partition *p, u32 flags, struct complaint *c);
int life_stop(struct partition *p, struct complaint *c);
int life_kill(struct partition *p, struct complaint *c);
void life_kill_all(void);
bool life_any_up(void);
void life_wait_unheld(struct partition *p);
int life_check_unheld(struct partition *p, struct complaint *c);
int life_check_step(struct partition *p, enum shimos_state to, struct complaint *c);
bool life_ring(struct partition *p);
void life_quiesce(struct partition *p);
void life_rang(void);
void life_bell_moved(const struct shimos_bell *bell);
bool life_is_up(const struct partition *p);

/* cpus.c */
int cpus_init(void);
void cpus_exit(void);
int cpus_take(const u32 *cpus, u32 count, struct complaint *c);
void cpus_give_back(const u32 *cpus, u32 count);

/* memory.c */
#define MEMORY_ALIGN	SZ_2M
#define MEMORY_MIN	SZ_64M
int memory_take(struct partition *p, u64 size, struct complaint *c);
void memory_give_back(struct partition *p);

/* image.c */
int image_load(struct partition *p, const struct shimos_load *arg,
	       const char *cmdline, struct complaint *c);
int image_restage(struct partition *p, struct complaint *c);
void copy_pages(void *to, const void *from, u64 size);

/* console.c, memory_file.c */
int console_open(struct partition *p);
void console_rang(struct partition *p);
int memory_file_open(struct partition *p);

/* sysfs.c */
int sysfs_init(void);
void sysfs_exit(void);
int sysfs_add(struct partition *p);
void sysfs_remove(struct partition *p);
void sysfs_changed(struct partition *p);

#endif
