// SPDX-License-Identifier: GPL-2.0
/*
 * Trusted tasks. Each has a preempt notifier, by which the CPU is told when the
 * task becomes current and when it ceases to be, and holds the module. So does one
 * that was demoted, until its exec or exit.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/task_work.h>
#include "kml.h"

struct trusted {
	struct preempt_notifier notifier;
	struct task_struct *task;	/* removed before it goes */
	const struct mm_struct *mm;	/* is only compared */
	struct callback_head demote;
	bool demoting;			/* only current looks and writes */
	bool demoted;			/* written while all CPUs stand still */
	struct list_head link;		/* empty if demoted */
};

static bool no_child;
module_param(no_child, bool, 0600);
MODULE_PARM_DESC(no_child, "for tests only: as if there were no memory to trust a child (default off)");

static int (*kml_task_work_add)(struct task_struct *task, struct callback_head *work,
				enum task_work_notify_mode mode);

/* guards the list and its length; taken in tracepoints, not by interrupts */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(all);
static unsigned long count;

static void kml_task_sched_in(struct preempt_notifier *notifier, int cpu)
{
	const struct trusted *trusted = container_of(notifier, struct trusted, notifier);

	kml_arch_enter(!trusted->demoted);
}

static void kml_task_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	kml_arch_leave();
}

static struct preempt_ops ops = { .sched_in = kml_task_sched_in, .sched_out = kml_task_sched_out };

/* Only current looks at and changes its list. */
static struct trusted *kml_task_find_current(void)
{
	struct preempt_notifier *n;

	hlist_for_each_entry(n, &current->preempt_notifiers, link)
		if (n->ops == &ops)
			return container_of(n, struct trusted, notifier);
	return NULL;
}

static struct trusted *kml_task_create(struct task_struct *task)
{
	struct trusted *trusted = kzalloc(sizeof(*trusted), GFP_ATOMIC);

	if (!trusted)
		return NULL;
	/* the module is about to go: who is trusted now would be left behind */
	if (!try_module_get(THIS_MODULE)) {
		kfree(trusted);
		return NULL;
	}
	preempt_notifier_init(&trusted->notifier, &ops);
	trusted->task = task;
	trusted->mm = task->mm;
	spin_lock(&lock);
	list_add_tail(&trusted->link, &all);
	count++;
	spin_unlock(&lock);
	return trusted;
}

/**
 * kml_current_trusted() - is current trusted?
 *
 * Context: preemption off.
 */
bool kml_current_trusted(void)
{
	const struct trusted *trusted = kml_task_find_current();

	return trusted && !trusted->demoted;
}

/**
 * kml_is_our_notifier() - is that how we hear of a task becoming current?
 * @notifier: anybody's
 *
 * Context: any.
 */
bool kml_is_our_notifier(const struct preempt_notifier *notifier)
{
	return notifier->ops == &ops;
}

/**
 * kml_trusted_tasks() - how many tasks are trusted
 *
 * Context: any; it may have changed when it returns.
 */
unsigned long kml_trusted_tasks(void)
{
	return READ_ONCE(count);
}

/**
 * kml_list_tasks() - which tasks are trusted
 * @tids: gets their thread ids, as current sees them
 * @room: how many @tids can take
 *
 * Context: process; takes a spinlock.
 * Return: how many there are, which may be more than @room.
 */
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

/**
 * kml_trust_current() - make current trusted
 *
 * Context: atomic; current has just exec'ed, in its new address space.
 * Return: 0; -ENOMEM: no memory, or the module is about to go.
 */
int kml_trust_current(void)
{
	struct trusted *trusted = kml_task_find_current();

	if (trusted && trusted->demoted) {
		kml_distrust_current();
		trusted = NULL;
	}
	if (trusted) {
		trusted->mm = current->mm;
	} else {
		trusted = kml_task_create(current);
		if (!trusted)
			return -ENOMEM;
		preempt_disable();
		preempt_notifier_register(&trusted->notifier);
		kml_arch_enter(true);
		preempt_enable();
	}
	/* Who may look into it could make it do anything: root's debuggers only. */
	set_mask_bits(&current->mm->flags, MMF_DUMPABLE_MASK, SUID_DUMP_ROOT);
	kml_arch_own_mm(current->mm);
	return 0;
}

/**
 * kml_trust_child() - make a new child trusted as current is
 * @child: has not run
 *
 * Context: atomic.
 * Return: 0; -ENOMEM: no memory, or the module is about to go.
 */
int kml_trust_child(struct task_struct *child)
{
	struct trusted *trusted = no_child ? NULL : kml_task_create(child);

	if (!trusted)
		return -ENOMEM;
	if (child->mm != current->mm)
		kml_arch_own_mm(child->mm);
	/* what preempt_notifier_register() does for current */
	hlist_add_head(&trusted->notifier.link, &child->preempt_notifiers);
	return 0;
}

/* With the lock held. */
static void kml_task_unlink(struct trusted *trusted)
{
	if (list_empty(&trusted->link))
		return;
	list_del_init(&trusted->link);
	count--;
}

/**
 * kml_distrust_current() - current is no more trusted, if it was
 *
 * Context: atomic; current execs or exits.
 */
void kml_distrust_current(void)
{
	struct trusted *trusted = kml_task_find_current();

	if (!trusted)
		return;
	preempt_disable();
	preempt_notifier_unregister(&trusted->notifier);
	kml_arch_leave();
	preempt_enable();
	kml_arch_detach();
	spin_lock(&lock);
	kml_task_unlink(trusted);
	spin_unlock(&lock);
	/*
	 * Work that is still to come needs both. Only an oops can end a task between
	 * a change of its rights and the return: signals do the work first.
	 */
	if (trusted->demoting && !trusted->demoted)
		return;
	kfree(trusted);
	module_put(THIS_MODULE);
}

/*
 * All CPUs stand still in the kernel, so no task is in user space and none in the
 * middle of a switch: each hears of it by kml_task_sched_in(). The flag leads those that are
 * on the short way off it, to where it is seen that they are demoted.
 */
static int kml_task_demote_all(void *data)
{
	struct mm_struct *mm = data;
	struct trusted *trusted, *next;

	spin_lock(&lock);
	list_for_each_entry_safe(trusted, next, &all, link) {
		if (trusted->mm != mm)
			continue;
		trusted->demoted = true;
		kml_task_unlink(trusted);
		set_tsk_thread_flag(trusted->task, TIF_NOTIFY_RESUME);
	}
	spin_unlock(&lock);
	kml_arch_disown_mm(mm);
	return 0;
}

/* On the way back from the system call that gave up the rights. */
static void kml_task_demote(struct callback_head *work)
{
	const struct trusted *trusted = container_of(work, struct trusted, demote);

	/* gone: exiting; demoted: by another thread that did the same */
	if (current->mm && !trusted->demoted)
		stop_machine(kml_task_demote_all, current->mm, NULL);
}

/**
 * kml_demote_current() - current shall leave kernel mode, if it is trusted
 *
 * When its system call returns it is not trusted, nor is anything else that has its memory, and
 * all goes on in user mode.
 *
 * Context: atomic; current is in a system call.
 */
void kml_demote_current(void)
{
	struct trusted *trusted = kml_task_find_current();

	if (!trusted || trusted->demoted || trusted->demoting)
		return;
	trusted->demoting = true;
	init_task_work(&trusted->demote, kml_task_demote);
	/* fails only if current is exiting */
	if (kml_task_work_add(current, &trusted->demote, TWA_RESUME))
		trusted->demoting = false;
}

/**
 * kml_tasks_init() - get ready to trust tasks
 *
 * Says in the log what the kernel lacks.
 *
 * Context: process; after kml_arch_init().
 * Return: 0 or -EOPNOTSUPP.
 */
int kml_tasks_init(void)
{
	kml_task_work_add = (void *)kml_symbol("task_work_add");
	if (!kml_task_work_add) {
		pr_err("refused: the kernel has no task_work_add\n");
		return -EOPNOTSUPP;
	}
	preempt_notifier_inc();
	return 0;
}

/**
 * kml_tasks_exit() - undo kml_tasks_init()
 *
 * Context: process; no task is trusted, for each holds the module.
 */
void kml_tasks_exit(void)
{
	preempt_notifier_dec();
}
