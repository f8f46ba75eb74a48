// SPDX-License-Identifier: GPL-2.0
/*
 * Trusted tasks. Each has a preempt notifier, by which the CPU is told when the
 * task becomes current and when it ceases to be, and holds the module.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "kml.h"

struct trusted {
	struct preempt_notifier notifier;
	struct task_struct *task;	/* removed before it goes */
	struct list_head link;
};

/* guards the list and its length; taken in tracepoints, not by interrupts */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(all);
static unsigned long count;

static void sched_in(struct preempt_notifier *notifier, int cpu)
{
	kml_arch_enter();
}

static void sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	kml_arch_leave();
}

static struct preempt_ops ops = { .sched_in = sched_in, .sched_out = sched_out };

/* Only current looks at and changes its list. */
static struct trusted *find_current(void)
{
	struct preempt_notifier *n;

	hlist_for_each_entry(n, &current->preempt_notifiers, link)
		if (n->ops == &ops)
			return container_of(n, struct trusted, notifier);
	return NULL;
}

static struct trusted *make(struct task_struct *task)
{
	struct trusted *trusted = kzalloc(sizeof(*trusted), GFP_ATOMIC);

	if (!trusted)
		return NULL;
	preempt_notifier_init(&trusted->notifier, &ops);
	__module_get(THIS_MODULE);
	trusted->task = task;
	spin_lock(&lock);
	list_add_tail(&trusted->link, &all);
	count++;
	spin_unlock(&lock);
	return trusted;
}

bool kml_current_trusted(void)
{
	return find_current();
}

unsigned long kml_trusted_tasks(void)
{
	return READ_ONCE(count);
}

u32 kml_list_tasks(u32 *tids, u32 room)
{
	struct trusted *trusted;
	u32 n = 0;

	spin_lock(&lock);
	list_for_each_entry(trusted, &all, link) {
		if (n < room)
			tids[n] = task_pid_vnr(trusted->task);
		n++;
	}
	spin_unlock(&lock);
	return n;
}

int kml_trust_current(void)
{
	struct trusted *trusted;

	/* Who may look into it could make it do anything: root's debuggers only. */
	set_mask_bits(&current->mm->flags, MMF_DUMPABLE_MASK, SUID_DUMP_ROOT);
	kml_arch_own_mm(current->mm);
	if (find_current())
		return 0;
	trusted = make(current);
	if (!trusted)
		return -ENOMEM;
	preempt_disable();
	preempt_notifier_register(&trusted->notifier);
	kml_arch_enter();
	preempt_enable();
	return 0;
}

int kml_trust_child(struct task_struct *child)
{
	struct trusted *trusted = make(child);

	if (!trusted)
		return -ENOMEM;
	if (child->mm != current->mm)
		kml_arch_own_mm(child->mm);
	/* what preempt_notifier_register() does for current */
	hlist_add_head(&trusted->notifier.link, &child->preempt_notifiers);
	return 0;
}

void kml_distrust_current(void)
{
	struct trusted *trusted = find_current();

	if (!trusted)
		return;
	preempt_disable();
	preempt_notifier_unregister(&trusted->notifier);
	kml_arch_leave();
	preempt_enable();
	kml_arch_detach();
	spin_lock(&lock);
	list_del(&trusted->link);
	count--;
	spin_unlock(&lock);
	kfree(trusted);
	module_put(THIS_MODULE);
}

int kml_tasks_init(void)
{
	preempt_notifier_inc();
	return 0;
}

void kml_tasks_exit(void)
{
	preempt_notifier_dec();
}
