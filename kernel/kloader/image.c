// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel image and initrd in a partition's memory.
 *
 * Both are read once into the stash, a place that the partition's kernel does
 * not take for RAM, and copied from there to where they run at every start.
 */
#include <linux/crc32.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel_read_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "arch.h"

#define KERNEL_OFFSET	SZ_16M		/* below: boot structures and some RAM */
#define IMAGE_MAX	SZ_512M
#define LARGEST_PAGE	SZ_64K		/* of a kernel, on any architecture */
#define RAM_SLACK	SZ_32M		/* beyond image and initrd, to get going */

/**
 * image_copy_pages() - copy whole pages, one at a time
 * @to: page aligned
 * @from: page aligned
 * @size: bytes; of the last page all is copied
 *
 * Faster than memcpy() where `rep movsb` is slow.
 *
 * Context: may sleep.
 */
void image_copy_pages(void *to, const void *from, u64 size)
{
	u64 at;

	for (at = 0; at < size; at += PAGE_SIZE) {
		copy_page(to + at, (void *)from + at);
		if (!(at & (SZ_1M - 1)))
			cond_resched();
	}
}

/**
 * image_open() - a file that a caller has opened to be read
 * @fd: the caller's descriptor
 * @what: of what it is, for a refusal
 * @size: gets its bytes
 * @c: why not
 *
 * Context: may sleep.
 * Return: it, to be given back by fput(), or an error.
 */
struct file *image_open(int fd, const char *what, u64 *size, struct complaint *c)
{
	struct file *file = fget(fd);
	loff_t length;
	int ret;

	if (!file) {
		ret = shimos_refuse(c, -EBADF, "the %s's file descriptor %d is not open", what, fd);
		return ERR_PTR(ret);
	}
	length = i_size_read(file_inode(file));
	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_mode & FMODE_READ))
		ret = shimos_refuse(c, -EINVAL, "the %s is not a regular file open for reading", what);
	else if (!length)
		ret = shimos_refuse(c, -ENOEXEC, "the %s is empty", what);
	else if (length > IMAGE_MAX)
		ret = shimos_refuse(c, -EFBIG, "the %s has %llu MiB; at most %u MiB are taken",
				    what, (u64)length >> 20, IMAGE_MAX >> 20);
	else
		ret = 0;
	if (ret) {
		fput(file);
		return ERR_PTR(ret);
	}
	*size = length;
	return file;
}

static int image_read(struct file *file, void *to, u64 size,
		      enum kernel_read_file_id id, const char *what,
		      struct complaint *c)
{
	size_t file_size;
	ssize_t got = kernel_read_file(file, 0, &to, size, &file_size, id);

	if (got < 0)
		return shimos_refuse(c, got, "reading the %s failed with error %zd%s", what, got,
				     got == -ETXTBSY ? ": it is open for writing" : "");
	if (got != size)
		return shimos_refuse(c, -EIO, "the %s changed while it was read", what);
	return 0;
}

/**
 * image_read_kernel() - read all of what is going to be run
 * @file: of image_open()
 * @to: gets it
 * @size: bytes
 * @what: of what it is, for a refusal
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int image_read_kernel(struct file *file, void *to, u64 size, const char *what,
		      struct complaint *c)
{
	return image_read(file, to, size, READING_KEXEC_IMAGE, what, c);
}

/*
 * From the end of the first range down: shared area, stash, working initrd.  RAM ends where
 * a page ends, however large the kernel's pages are.
 */
static int image_place_files(struct partition *p, u64 kernel, u64 initrd,
			     struct layout *l, struct complaint *c)
{
	u64 size = p->ranges[0].size;
	u64 files = PAGE_ALIGN(kernel) + 2 * PAGE_ALIGN(initrd) + description_room() + LARGEST_PAGE;

	if (KERNEL_OFFSET + SHIMOS_SHARED_SIZE + files > size)
		return shimos_refuse(c, -ENOMEM,
				     "kernel (%llu MiB) and initrd (%llu MiB, kept twice) do not fit into its %llu MiB (largest range %llu MiB): give it more memory",
				     kernel >> 20, initrd >> 20, p->memory >> 20, size >> 20);
	l->end = size;
	l->shared = size - SHIMOS_SHARED_SIZE;
	l->description = l->shared - description_room();
	l->stash = ALIGN_DOWN(l->description - PAGE_ALIGN(kernel) - PAGE_ALIGN(initrd),
			      LARGEST_PAGE);
	l->initrd = l->stash - PAGE_ALIGN(initrd);
	return 0;
}

static int image_place_kernel(struct partition *p, const struct image *image, u64 initrd,
			      struct layout *l, struct complaint *c)
{
	u64 base = p->ranges[0].start;
	u64 need;

	l->kernel = ALIGN(base + KERNEL_OFFSET, image->align) - base;
	l->kernel_room = image->room;
	need = l->kernel + image->room + RAM_SLACK + l->end - l->initrd + initrd;
	if (need > p->ranges[0].size)
		return shimos_refuse(c, -ENOMEM,
				     "this kernel and initrd need at least %llu MiB to boot; it has %llu MiB (largest range %llu MiB): give it more memory",
				     ALIGN(need, SZ_16M) >> 20, p->memory >> 20,
				     p->ranges[0].size >> 20);
	return 0;
}

/**
 * image_checksum() - a sum by which a change is noticed
 * @p: whose memory
 * @offset: from the start of it
 * @size: bytes
 *
 * Context: any; long.
 * Return: a CRC-32.
 */
u32 image_checksum(struct partition *p, u64 offset, u64 size)
{
	return crc32_le(~0, partition_at(p, offset), size);
}

static u64 image_initrd_stash(struct partition *p)
{
	return p->layout.stash + PAGE_ALIGN(p->image.size);
}

static char *image_compose_cmdline(struct partition *p, const char *user,
				   struct complaint *c)
{
	const size_t room = sizeof_field(struct shimos_status, cmdline);
	char *line = kzalloc(room, GFP_KERNEL);
	int used, more;

	if (!line)
		return NULL;
	used = scnprintf(line, room, "%s%s", user, *user ? " " : "");
	more = kloader_arch_append_cmdline(p, line + used, room - used);
	if (more >= room - used) {
		shimos_refuse(c, -E2BIG, "the command line is too long by %zu bytes with what containment adds",
			      used + more + 1 - room);
		kfree(line);
		return NULL;
	}
	return line;
}

static int image_fill(struct partition *p, struct file *kernel, u64 kernel_size,
		      struct file *initrd, u64 initrd_size, const char *cmdline,
		      struct complaint *c)
{
	struct layout l = {};
	struct image image = {};
	void *stash;
	char *line;
	int ret;

	ret = image_place_files(p, kernel_size, initrd_size, &l, c);
	if (ret)
		return ret;
	stash = partition_at(p, l.stash);
	ret = image_read_kernel(kernel, stash, kernel_size, "kernel", c);
	if (ret)
		return ret;
	ret = kloader_arch_parse_image(stash, kernel_size, &image, c);
	if (ret)
		return ret;
	image.size = kernel_size;
	ret = image_place_kernel(p, &image, initrd_size, &l, c);
	if (ret)
		return ret;
	if (initrd) {
		ret = image_read(initrd, stash + PAGE_ALIGN(kernel_size), initrd_size,
				 READING_KEXEC_INITRAMFS, "initrd", c);
		if (ret)
			return ret;
	}
	p->image = image;
	line = image_compose_cmdline(p, cmdline, c);
	if (!line)
		return c->text[0] ? -E2BIG : -ENOMEM;
	p->cmdline = line;
	p->initrd_size = initrd_size;
	p->layout = l;
	p->kernel_crc = image_checksum(p, l.stash, kernel_size);
	p->initrd_crc = image_checksum(p, image_initrd_stash(p), initrd_size);
	return 0;
}

/**
 * image_loaded() - all that it needs is in its memory
 * @p: was created
 *
 * Context: may sleep; p->mutex is held.
 */
void image_loaded(struct partition *p)
{
	down_write(&p->memory_sem);
	p->shared = partition_at(p, p->layout.shared);
	memset(p->shared, 0, SHIMOS_SHARED_SIZE);
	up_write(&p->memory_sem);
	state_set(p, SHIMOS_LOADED);
}

/**
 * image_load() - fill a partition that has none with kernel and initrd
 * @p: was created, and has none
 * @arg: what the user asks for
 * @cmdline: the user's part
 * @c: why not
 *
 * Context: may sleep; takes p->mutex.
 * Return: 0 or an error: the partition is as before.
 */
int image_load(struct partition *p, const struct shimos_load *arg,
	       const char *cmdline, struct complaint *c)
{
	struct file *kernel, *initrd = NULL;
	u64 kernel_size, initrd_size = 0;
	int ret;

	kernel = image_open(arg->kernel_fd, "kernel", &kernel_size, c);
	if (IS_ERR(kernel))
		return PTR_ERR(kernel);
	if (arg->initrd_fd >= 0) {
		initrd = image_open(arg->initrd_fd, "initrd", &initrd_size, c);
		if (IS_ERR(initrd)) {
			fput(kernel);
			return PTR_ERR(initrd);
		}
	}

	mutex_lock(&p->mutex);
	ret = state_check_step(p, SHIMOS_LOADED, c);
	if (!ret)
		ret = image_fill(p, kernel, kernel_size, initrd, initrd_size, cmdline, c);
	if (!ret)
		image_loaded(p);
	mutex_unlock(&p->mutex);
	if (initrd)
		fput(initrd);
	fput(kernel);
	return ret;
}

/**
 * image_restage() - copy the initrd to its place and check that the stash is whole
 * @p: loaded
 * @c: why not
 *
 * A partition gone wild may have written there.  The kernel is the architecture's to place.
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or -EIO.
 */
int image_restage(struct partition *p, struct complaint *c)
{
	if (image_checksum(p, p->layout.stash, p->image.size) != p->kernel_crc ||
	    image_checksum(p, image_initrd_stash(p), p->initrd_size) != p->initrd_crc)
		return shimos_refuse(c, -EIO,
				     "the copies of kernel and initrd kept in the memory of '%s' were overwritten: remove it and run it anew",
				     p->name);
	image_copy_pages(partition_at(p, p->layout.initrd),
			 partition_at(p, image_initrd_stash(p)), PAGE_ALIGN(p->initrd_size));
	return 0;
}
