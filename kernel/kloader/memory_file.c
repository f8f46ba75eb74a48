// SPDX-License-Identifier: GPL-2.0
/*
 * A file descriptor on a partition's memory, for logs and dumps: the offset is
 * the physical address.  Reading only, running or dead; but nothing while it is protected
 * from the host.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "kloader.h"

/* Bytes readable at @addr, at most @len; 0 if it is not the partition's. */
static size_t memory_file_readable(const struct partition *p, u64 addr, size_t len)
{
	u32 i;

	for (i = 0; i < p->range_count; i++) {
		u64 offset = addr - p->ranges[i].start;

		if (addr >= p->ranges[i].start && offset < p->ranges[i].size)
			return min_t(u64, len, p->ranges[i].size - offset);
	}
	return 0;
}

static ssize_t memory_file_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct partition *p = file->private_data;
	ssize_t ret;
	size_t left;

	len = min_t(size_t, len, SZ_1M);	/* do not hold the lock for long */
	down_read(&p->memory_sem);
	ret = p->hidden ? -EBUSY : memory_file_readable(p, *pos, len);
	if (ret > 0) {
		left = copy_to_user(to, phys_to_virt(*pos), ret);
		ret = left == ret ? -EFAULT : ret - left;
	}
	up_read(&p->memory_sem);
	if (ret > 0)
		*pos += ret;
	return ret;
}

static loff_t memory_file_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence, MAX_LFS_FILESIZE);
}

static int memory_file_release(struct inode *inode, struct file *file)
{
	table_put(file->private_data);
	return 0;
}

static const struct file_operations memory_file_fops = {
	.owner		= THIS_MODULE,
	.read		= memory_file_read,
	.llseek		= memory_file_llseek,
	.release	= memory_file_release,
};

/**
 * memory_file_open() - a descriptor by which its memory can be read
 * @p: the descriptor holds it, though not its memory
 * @c: why not
 *
 * Context: may sleep.
 * Return: the descriptor or an error.
 */
int memory_file_open(struct partition *p, struct complaint *c)
{
	struct file *file;
	int fd;

	/* a start later on is met by the reads */
	if (READ_ONCE(p->hidden))
		return shimos_refuse(c, -EBUSY,
				     "'%s' is %s, and its memory is protected from the host: stop or kill it first",
				     p->name, state_name(p->state));
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile("[shimos-memory]", &memory_file_fops, p, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	kref_get(&p->ref);
	file->f_mode |= FMODE_LSEEK | FMODE_PREAD;
	fd_install(fd, file);
	return fd;
}
