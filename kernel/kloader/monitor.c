// SPDX-License-Identifier: GPL-2.0
/*
 * Real-time partitions that watch others (SPUMONE 2011, section 5): who watches whom while
 * both run, and what becomes of it.
 *
 * What nobody may change in a partition's memory is known from its image, before it runs.
 * One that watches sees these pages and a list of what they shall hold, and works through it
 * again and again in its own budget.  What it reports is hostile like all that a partition
 * writes: one number, read once, which names a page of the list as it is now or nothing.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <crypto/sha2.h>
#include <shimos/spumone.h>
#include <uapi/shimos_rt.h>

#include "kloader.h"

struct monitor {
	struct partition *p;
	struct list_head up;		/* in monitor_up */

	/* As one that is watched.  What nobody may change, as of its last start. */
	struct shimos_rt_page *fixed;
	u32 count;			/* of these, or more than can be watched */
	/* What was found, since its last start; by[0] is 0: nothing. */
	u32 changed;			/* in @fixed */
	char by[SHIMOS_NAME_LEN];

	/* As one that watches.  What both see; NULL: it watches nobody. */
	void *record;
	struct monitor *target;		/* while both run, or NULL */
	u32 generation;			/* of the list; odd while there is no target */
	u64 reported;			/* what was looked at last */
	u32 found, nonsense;
};

/* A page for the report, and the list behind it. */
#define MONITOR_RECORD	(PAGE_SIZE + PAGE_ALIGN(sizeof(struct shimos_rt_watch)))

/* Guards who is up, and who watches whom.  Taken after a partition's mutex. */
static DEFINE_MUTEX(monitor_mutex);
static LIST_HEAD(monitor_up);
/*
 * Guards what reports are looked at with, and what comes of them: in hard interrupts, too.
 * Who watches whom changes under both locks.
 */
static DEFINE_RAW_SPINLOCK(monitor_lock);

static struct shimos_rt_report *monitor_report(struct monitor *w)
{
	return w->record;
}

static struct shimos_rt_watch *monitor_list(struct monitor *w)
{
	return w->record + PAGE_SIZE;
}

static bool monitor_names(const struct monitor *w, const struct monitor *target)
{
	return w->record && !strcmp(w->p->watches, target->p->name);
}

/* ---- who can be watched ---- */

static int monitor_check_count(const char *name, u32 count, struct complaint *c)
{
	if (count <= SHIMOS_RT_WATCH_PAGES)
		return 0;
	return shimos_refuse(c, -E2BIG,
			     "'%s' has more than %u KiB that can be read or run only, the most that can be watched",
			     name, (u32)(SHIMOS_RT_WATCH_PAGES * PAGE_SIZE >> 10));
}

static int monitor_check_target(struct partition *t, struct complaint *c)
{
	int ret;

	if (t->kind != &kind_rt)
		return shimos_refuse(c, -EINVAL,
				     "'%s' is a Linux, which changes its own text as it runs: only a real-time program can be watched",
				     t->name);
	mutex_lock(&t->mutex);
	/* one that is being made has no program yet */
	ret = t->gone || !t->state ? 0 : monitor_check_count(t->name, t->monitor->count, c);
	mutex_unlock(&t->mutex);
	return ret;
}

static int monitor_check_name(const struct partition *p, struct complaint *c)
{
	struct partition *t;
	int ret = -ENOENT;
	u32 id = 0;

	if (!strcmp(p->watches, p->name))
		return shimos_refuse(c, -EINVAL,
				     "'%s' cannot watch itself: name another real-time partition",
				     p->name);
	while (ret == -ENOENT && (t = table_get(id, true))) {
		id = t->id;
		if (!strcmp(t->name, p->watches))
			ret = monitor_check_target(t, c);
		table_put(t);
	}
	if (ret == -ENOENT)
		return shimos_refuse(c, ret,
				     "there is no partition '%s' to be watched: start it first; `shimos ls` has their names",
				     p->watches);
	return ret;
}

/* ---- making it ---- */

/**
 * monitor_create() - what a real-time partition needs to be watched, and to watch
 * @p: it has no kernel yet; its @watches is known
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int monitor_create(struct partition *p, struct complaint *c)
{
	int ret = p->watches[0] ? monitor_check_name(p, c) : 0;
	struct monitor *w;

	if (ret)
		return ret;
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	w->p = p;
	w->generation = 1;
	INIT_LIST_HEAD(&w->up);
	if (p->watches[0]) {
		w->record = vzalloc(MONITOR_RECORD);
		if (!w->record) {
			kfree(w);
			return -ENOMEM;
		}
	}
	p->monitor = w;
	return 0;
}

/**
 * monitor_destroy() - undo monitor_create()
 * @p: not up, and nobody asks for it any more
 *
 * Context: may sleep.
 */
void monitor_destroy(struct partition *p)
{
	struct monitor *w = p->monitor;

	p->monitor = NULL;
	kvfree(w->fixed);
	vfree(w->record);
	kfree(w);
}

/**
 * monitor_host_bytes() - host memory spent on it
 * @p: a real-time partition
 *
 * Context: p->mutex is held.
 * Return: bytes.
 */
u64 monitor_host_bytes(const struct partition *p)
{
	const struct monitor *w = p->monitor;

	if (p->gone || !p->state)
		return 0;
	return sizeof(*w) + (w->record ? MONITOR_RECORD : 0) +
	       (w->fixed ? w->count * sizeof(*w->fixed) : 0);
}

/**
 * monitor_load() - remember what nobody may change in its memory
 * @p: its mutex is held, and it is not up
 * @image: has been checked
 * @len: its bytes
 * @size: bytes of memory that its program sees
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int monitor_load(struct partition *p, const void *image, u64 len, u64 size)
{
	struct monitor *w = p->monitor;
	struct shimos_rt_page *fixed;
	int count = spumone_rt_fixed(image, len, size, &fixed);

	if (count < 0) {
		kvfree(fixed);
		return count;
	}
	kvfree(w->fixed);
	w->fixed = fixed;
	w->count = count;
	return 0;
}

/* ---- who watches whom ---- */

static void monitor_set_target(struct monitor *w, struct monitor *target)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&monitor_lock, flags);
	w->target = target;
	w->generation++;
	raw_spin_unlock_irqrestore(&monitor_lock, flags);
}

/* Both run from now on. */
static void monitor_begin(struct monitor *w, struct monitor *target)
{
	struct shimos_rt_watch *list = monitor_list(w);
	struct complaint c;
	int ret;

	ret = monitor_check_count(target->p->name, target->count, &c);
	if (!ret)
		ret = spumone_rt_watch(kind_rt_number(w->p), partition_phys(target->p, 0), target->fixed,
				       target->count);
	if (ret) {
		pr_err("%s: cannot watch '%s': %s\n", w->p->name, target->p->name,
		       ret == -E2BIG ? c.text : "the host has no memory left for page tables");
		return;
	}
	memcpy(list->pages, target->fixed, target->count * sizeof(*list->pages));
	WRITE_ONCE(list->count, target->count);
	monitor_set_target(w, target);
	/* pairs with the program's first look: list and pages are there */
	smp_store_release(&list->generation, w->generation);
}

/* One of them is about to end: its memory is seen by nobody else from now on. */
static void monitor_end(struct monitor *w)
{
	struct monitor *target = w->target;

	monitor_set_target(w, NULL);
	WRITE_ONCE(monitor_list(w)->generation, w->generation);
	/* pairs with the program's second look, after what it has read: zeros are no news */
	smp_wmb();
	spumone_rt_unwatch(kind_rt_number(w->p), target->fixed, target->count);
}

/**
 * monitor_prepare() - it is about to be started
 * @p: its mutex is held
 * @rt: gets what it needs to watch
 */
void monitor_prepare(struct partition *p, struct spumone_rt *rt)
{
	struct monitor *w = p->monitor;
	unsigned long flags;

	raw_spin_lock_irqsave(&monitor_lock, flags);
	w->by[0] = '\0';
	w->reported = 0;
	raw_spin_unlock_irqrestore(&monitor_lock, flags);
	if (!w->record)
		return;
	memset(w->record, 0, PAGE_SIZE);
	WRITE_ONCE(monitor_list(w)->generation, w->generation);
	rt->watch = w->record;
	rt->watch_size = MONITOR_RECORD;
}

/**
 * monitor_started() - it runs: whom it watches, and who watches it, begins
 * @p: a real-time partition
 *
 * Context: may sleep; p->mutex is held.
 */
void monitor_started(struct partition *p)
{
	struct monitor *w = p->monitor, *other;

	mutex_lock(&monitor_mutex);
	list_for_each_entry(other, &monitor_up, up) {
		if (monitor_names(other, w))
			monitor_begin(other, w);
		if (monitor_names(w, other))
			monitor_begin(w, other);
	}
	list_add(&w->up, &monitor_up);
	mutex_unlock(&monitor_mutex);
}

/**
 * monitor_ends() - it runs no more, or is about to
 * @p: its memory is still its own
 *
 * Context: may sleep; p->mutex is held.
 */
void monitor_ends(struct partition *p)
{
	struct monitor *w = p->monitor, *other;

	mutex_lock(&monitor_mutex);
	list_del_init(&w->up);
	if (w->target)
		monitor_end(w);
	list_for_each_entry(other, &monitor_up, up) {
		if (other->target == w)
			monitor_end(other);
	}
	mutex_unlock(&monitor_mutex);
}

/* ---- what comes of it ---- */

/*
 * What was found is true at most while the list is the one that it was found with: older ones
 * can come late, and are no news.
 */
static void monitor_hear(struct monitor *w, u64 found)
{
	u32 generation = found >> 32, page = found;
	struct monitor *t = w->target;

	if (generation < w->generation && generation && !(generation & 1))
		return;
	if (generation != w->generation || !t || page >= t->count) {
		w->nonsense++;
		return;
	}
	w->found++;
	if (t->by[0])
		return;
	t->changed = page;
	strscpy(t->by, w->p->name, sizeof(t->by));
	/* it is up, so its end waits for the work */
	queue_work(system_highpri_wq, &t->p->work);
}

/**
 * monitor_look() - has it something to report?
 * @p: up
 *
 * Context: any.
 */
void monitor_look(struct partition *p)
{
	struct monitor *w = p->monitor;
	unsigned long flags;
	u64 found;

	if (!w->record)
		return;
	raw_spin_lock_irqsave(&monitor_lock, flags);
	found = READ_ONCE(monitor_report(w)->found);
	if (found != w->reported) {
		w->reported = found;
		monitor_hear(w, found);
	}
	raw_spin_unlock_irqrestore(&monitor_lock, flags);
}

/**
 * monitor_changed() - has somebody found it changed?
 * @p: up
 *
 * Context: any.
 */
bool monitor_changed(struct partition *p)
{
	unsigned long flags;
	bool changed;

	raw_spin_lock_irqsave(&monitor_lock, flags);
	changed = p->monitor->by[0];
	raw_spin_unlock_irqrestore(&monitor_lock, flags);
	return changed;
}

static bool monitor_as_loaded(struct partition *p, const struct shimos_rt_page *page)
{
	u8 digest[SHIMOS_RT_DIGEST];

	sha256(partition_at(p, page->address), PAGE_SIZE, digest);
	return !memcmp(digest, page->digest, sizeof(digest));
}

/**
 * monitor_reason() - what was found, in words, and whether it is still to be seen
 * @p: its mutex is held; it has ended, and the host sees its memory
 * @to: gets a text
 * @size: bytes there
 *
 * Context: may sleep.
 */
void monitor_reason(struct partition *p, char *to, size_t size)
{
	const struct monitor *w = p->monitor;
	const struct shimos_rt_page *page = &w->fixed[w->changed];

	if (monitor_as_loaded(p, page))
		snprintf(to, size, "'%s' says that its text or constants at 0x%llx were changed from outside, but they are as they were",
			 w->by, page->address);
	else
		snprintf(to, size, "its text or constants at 0x%llx were changed from outside, as '%s' found",
			 page->address, w->by);
}

/* Whom it watches, and what it found.  p->mutex is held. */
void monitor_status(struct partition *p, struct shimos_status *out)
{
	struct monitor *w = p->monitor;
	unsigned long flags;

	strscpy_pad(out->watch, p->watches, sizeof(out->watch));
	if (p->gone || !p->state || !w || !w->record)
		return;
	out->watch_rounds = READ_ONCE(monitor_report(w)->rounds);
	raw_spin_lock_irqsave(&monitor_lock, flags);
	out->watch_pages = w->target ? w->target->count : 0;
	out->watch_found = w->found;
	out->watch_nonsense = w->nonsense;
	raw_spin_unlock_irqrestore(&monitor_lock, flags);
}

/**
 * monitor_check() - look oneself, once
 * @p: its mutex is held, it was started, and the host sees its memory
 * @out: gets what was found of its pages
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or -E2BIG.
 */
int monitor_check(struct partition *p, struct shimos_rt_check *out, struct complaint *c)
{
	const struct monitor *w = p->monitor;
	int ret = monitor_check_count(p->name, w->count, c);
	u32 i;

	for (i = 0; !ret && i < w->count; i++) {
		out->pages++;
		if (!monitor_as_loaded(p, &w->fixed[i])) {
			out->first = out->changed ? out->first : w->fixed[i].address;
			out->changed++;
		}
		cond_resched();
	}
	return ret;
}
