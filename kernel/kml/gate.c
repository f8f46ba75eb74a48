// SPDX-License-Identifier: GPL-2.0
/*
 * Who may run what in kernel mode. Ring 0 is all that loading a module is, so it
 * takes the same rights, and a file that nobody but root can have written.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/rcupdate.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <shimos/complaint.h>
#include <uapi/shimos_kml.h>
#include "kml.h"

static char *directory = "/trusted";
module_param(directory, charp, 0444);
MODULE_PARM_DESC(directory, "programs below it run in kernel mode (default /trusted)");

/* held from load to unload */
static struct path trusted;

/* A task whose next exec is trusted: its name is only compared. */
struct next {
	struct list_head link;
	const struct task_struct *task;
};

/* guards all below; taken in tracepoints, interrupts do not take it */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(nexts);
static u64 count_trusted, count_refused;
static char last_reason[SHIMOS_KML_REASON_LEN];

static bool kml_gate_take_next(void)
{
	struct next *n, *found = NULL;

	spin_lock(&lock);
	list_for_each_entry(n, &nexts, link) {
		if (n->task == current) {
			found = n;
			list_del(&n->link);
			break;
		}
	}
	spin_unlock(&lock);
	kfree(found);
	return found;
}

/**
 * kml_gate_keeps() - may who has these rights stay in kernel mode?
 * @cred: the rights
 *
 * Context: atomic.
 */
bool kml_gate_keeps(const struct cred *cred)
{
	return cred->user_ns == &init_user_ns &&
	       cap_raised(cred->cap_effective, CAP_SYS_RAWIO);
}

/* Who may have kernel mode: who may load modules. */
static int kml_gate_check_caller(struct complaint *c)
{
	if (!has_capability_noaudit(current, CAP_SYS_RAWIO) || !kml_gate_keeps(current_cred()))
		return shimos_refuse(c, -EPERM, "the caller lacks CAP_SYS_RAWIO");
	if (security_locked_down(LOCKDOWN_MODULE_SIGNATURE))
		return shimos_refuse(c, -EPERM, "the kernel is locked down");
	return 0;
}

/**
 * kml_gate_trust_next() - the next exec of current need not be of a file below the directory
 * @c: why it is refused
 *
 * Context: process; may sleep.
 * Return: 0; -ENOMEM; or refused.
 */
int kml_gate_trust_next(struct complaint *c)
{
	struct next *next;
	int err = kml_gate_check_caller(c);

	if (err)
		return err;
	kml_gate_take_next();
	next = kmalloc(sizeof(*next), GFP_KERNEL);
	if (!next)
		return -ENOMEM;
	next->task = current;
	spin_lock(&lock);
	list_add(&next->link, &nexts);
	spin_unlock(&lock);
	return 0;
}

/**
 * kml_gate_forget() - current has asked for nothing
 *
 * Context: atomic.
 */
void kml_gate_forget(void)
{
	if (!list_empty(&nexts))
		kml_gate_take_next();
}

/* Only root's, and nobody else can write it. */
static bool kml_gate_only_root_writes(const struct inode *inode)
{
	return uid_eq(inode->i_uid, GLOBAL_ROOT_UID) && !(inode->i_mode & 0022);
}

static bool kml_gate_below_directory(const struct path *path)
{
	return path->mnt == trusted.mnt && is_subdir(path->dentry, trusted.dentry);
}

/*
 * The file and all directories on the way to @top, or to the file system's root:
 * who can rename can replace. A sticky directory, as /tmp, does not let others.
 */
static int kml_gate_check_file(struct complaint *c, const struct path *path,
			       const struct dentry *top)
{
	struct dentry *dentry;
	int err = 0;

	if (!S_ISREG(d_inode(path->dentry)->i_mode))
		return shimos_refuse(c, -EPERM, "not a regular file");
	if (!kml_gate_only_root_writes(d_inode(path->dentry)))
		return shimos_refuse(c, -EPERM, "the file is not root's alone to write");
	if (path->mnt->mnt_flags & MNT_NOSUID)
		return shimos_refuse(c, -EPERM, "the file system is mounted nosuid");
	if (d_inode(path->dentry)->i_sb->s_user_ns != &init_user_ns)
		return shimos_refuse(c, -EPERM, "the file system was mounted in another user namespace");

	rcu_read_lock();
	for (dentry = path->dentry; dentry != top && !IS_ROOT(dentry);) {
		const struct inode *inode;

		dentry = READ_ONCE(dentry->d_parent);
		inode = d_inode_rcu(dentry);
		if (!inode || (!kml_gate_only_root_writes(inode) &&
			       !(uid_eq(inode->i_uid, GLOBAL_ROOT_UID) &&
				 (inode->i_mode & S_ISVTX)))) {
			err = shimos_refuse(c, -EPERM,
					    "a directory of its path is not root's alone to write");
			break;
		}
	}
	rcu_read_unlock();
	return err;
}

/**
 * kml_gate_allows() - may what current just exec'ed run in kernel mode?
 * @bprm: the exec
 *
 * Counts, and keeps the latest refusal's reason.
 *
 * Context: atomic; uses up what kml_gate_trust_next() has granted.
 */
bool kml_gate_allows(const struct linux_binprm *bprm)
{
	const struct path *path = &bprm->file->f_path;
	bool asked = kml_gate_take_next(), below = kml_gate_below_directory(path);
	struct complaint c;
	const char *why;
	int err;

	if (!asked && !below)
		return false;
	if (bprm->secureexec)
		err = shimos_refuse(&c, -EPERM, "the program gives its caller more rights");
	else
		err = kml_gate_check_caller(&c);
	if (!err)
		err = kml_gate_check_file(&c, path, below ? trusted.dentry : NULL);
	why = err ? NULL : kml_arch_objection();
	if (why)
		err = shimos_refuse(&c, -EPERM, "%s", why);

	spin_lock(&lock);
	if (err) {
		count_refused++;
		snprintf(last_reason, sizeof(last_reason), "%s: %s", current->comm, c.text);
	} else {
		count_trusted++;
	}
	spin_unlock(&lock);
	return !err;
}

/**
 * kml_gate_status() - what the gate has decided
 * @status: gets counts and the latest refusal's reason; the rest of it stays
 *
 * Context: atomic at most; takes a spinlock.
 */
void kml_gate_status(struct shimos_kml_status *status)
{
	spin_lock(&lock);
	status->trusted = count_trusted;
	status->refused = count_refused;
	memcpy(status->reason, last_reason, sizeof(status->reason));
	spin_unlock(&lock);
}

/**
 * kml_gate_init() - find the directory of trusted programs
 *
 * It must be only root's to write; says in the log if not.
 *
 * Context: process; may sleep.
 * Return: 0; -EPERM; or as kern_path().
 */
int kml_gate_init(void)
{
	int err = kern_path(directory, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &trusted);

	if (err) {
		pr_err("refused: no directory %s (mkdir %s, or directory=...)\n", directory, directory);
		return err;
	}
	if (!kml_gate_only_root_writes(d_inode(trusted.dentry))) {
		pr_err("refused: %s must be root's, and nobody else's to write\n", directory);
		path_put(&trusted);
		return -EPERM;
	}
	return 0;
}

/**
 * kml_gate_exit() - give the directory back, and forget who asked
 *
 * Context: process; no task execs into the gate any more.
 */
void kml_gate_exit(void)
{
	struct next *n, *save;

	list_for_each_entry_safe(n, save, &nexts, link)
		kfree(n);
	path_put(&trusted);
}
