// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that want to reach what is not their partition's: who was it?
 *
 * Some drivers of IOMMUs tell whoever owns the device.  Intel's only writes it to the kernel's
 * log, and no more than ten times in five seconds: so we read that as it is written.
 */
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <shimos/tracepoints.h>

#include "arch.h"
#include "confine.h"

static DEFINE_MUTEX(stray_mutex);	/* one call at a time into the tracepoints */
static DEFINE_RAW_SPINLOCK(stray_lock);	/* guards the list; nobody writes to the log with it held */
static LIST_HEAD(stray_watched);

/**
 * stray_seen() - the IOMMU has refused something to a device
 * @requester: bus and function of whoever wanted it; the log does not say in which segment
 * @addr: what it wanted to reach
 *
 * Context: any.
 */
void stray_seen(u16 requester, u64 addr)
{
	struct stray *stray;
	unsigned long flags;

	raw_spin_lock_irqsave(&stray_lock, flags);
	list_for_each_entry(stray, &stray_watched, link) {
		if (stray->requester != requester)
			continue;
		atomic64_inc(&stray->count);
		WRITE_ONCE(stray->addr, addr);
		schedule_work(&stray->stop);
	}
	raw_spin_unlock_irqrestore(&stray_lock, flags);
}

/* A line of the kernel's log, in the context of whoever has written it. */
static void stray_read(void *unused, const char *text, size_t len)
{
	u16 requester;
	u64 addr;

	if (kloader_arch_read_iommu_fault(text, len, &requester, &addr))
		stray_seen(requester, addr);
}

static struct shimos_tracepoint stray_log = { .name = "console", .probe = stray_read };

/**
 * stray_watch() - look after it from now on
 * @stray: a device
 *
 * Context: may sleep.
 */
void stray_watch(struct stray *stray)
{
	const char *missing;

	mutex_lock(&stray_mutex);
	if (shimos_tracepoints_hear(&stray_log, 1, &missing))
		pr_notice("devices that go astray are not counted: this kernel does not say what it writes to its log\n");
	mutex_unlock(&stray_mutex);
	raw_spin_lock_irq(&stray_lock);
	list_add_tail(&stray->link, &stray_watched);
	raw_spin_unlock_irq(&stray_lock);
}

/**
 * stray_forget() - do not look after it any more
 * @stray: a device
 *
 * Context: may sleep.  What was seen before may be about to stop the device.
 */
void stray_forget(struct stray *stray)
{
	raw_spin_lock_irq(&stray_lock);
	list_del(&stray->link);
	raw_spin_unlock_irq(&stray_lock);
}

/**
 * stray_exit() - undo all of stray_watch(): nobody is watched any more
 *
 * Context: may sleep.
 */
void stray_exit(void)
{
	shimos_tracepoints_leave(&stray_log, 1);
}
