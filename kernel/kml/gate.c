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
#include <linux/security.h>
#include "kml.h"

static char *directory = "/trusted";
module_param(directory, charp, 0444);
MODULE_PARM_DESC(directory, "programs below it run in kernel mode (default /trusted)");

/* held from load to unload; no dentry: there is no such directory */
static struct path trusted;

/* Only root's, and nobody else can write it. */
static bool roots_own(const struct inode *inode)
{
	return uid_eq(inode->i_uid, GLOBAL_ROOT_UID) && !(inode->i_mode & (S_IWGRP | S_IWOTH));
}

static bool below_trusted(const struct path *path)
{
	struct dentry *dentry;
	bool fine = false;

	if (!trusted.dentry || path->mnt != trusted.mnt ||
	    !is_subdir(path->dentry, trusted.dentry))
		return false;
	/* every directory on the way, as who can rename can replace */
	rcu_read_lock();
	for (dentry = path->dentry; ; dentry = READ_ONCE(dentry->d_parent)) {
		const struct inode *inode = d_inode_rcu(dentry);

		fine = inode && roots_own(inode);
		if (!fine || dentry == trusted.dentry || IS_ROOT(dentry))
			break;
	}
	rcu_read_unlock();
	return fine;
}

static bool may_promote(const struct linux_binprm *bprm)
{
	return !bprm->secureexec && has_capability_noaudit(current, CAP_SYS_RAWIO) &&
	       current_user_ns() == &init_user_ns &&
	       !security_locked_down(LOCKDOWN_MODULE_SIGNATURE);
}

bool kml_gate_allows(const struct linux_binprm *bprm)
{
	const struct file *file = bprm->file;

	return S_ISREG(file_inode(file)->i_mode) && below_trusted(&file->f_path) &&
	       !(file->f_path.mnt->mnt_flags & MNT_NOSUID) &&
	       file_inode(file)->i_sb->s_user_ns == &init_user_ns && may_promote(bprm);
}

int kml_gate_init(void)
{
	int err = kern_path(directory, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &trusted);

	if (err) {
		pr_err("refused: no directory %s (mkdir %s, or directory=...)\n", directory, directory);
		return err;
	}
	if (!roots_own(d_inode(trusted.dentry))) {
		pr_err("refused: %s must be root's, and nobody else's to write\n", directory);
		path_put(&trusted);
		return -EPERM;
	}
	return 0;
}

void kml_gate_exit(void)
{
	path_put(&trusted);
}
