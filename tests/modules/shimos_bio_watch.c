// SPDX-License-Identifier: GPL-2.0
/*
 * Where the data of a disk's bios lies, whatever our own counters say.  Commands in
 * /proc/bio_watch:
 *
 *   disk MAJOR:MINOR   look at this block device, count from 0
 *   range START SIZE   memory that counts as inside, hexadecimal; may be repeated
 *
 * Every bio with data that is submitted to the disk is looked at, page by page.  Writes
 * that writeback throttling may delay are counted.
 */
#include <linux/bio.h>
#include <linux/io.h>
#include <linux/kdev_t.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "command.h"

#define RANGES	16

static dev_t watched;
static struct { u64 start, size; } range[RANGES];
static unsigned int ranges;
static atomic64_t bios, inside, outside, flushes, fua, throttled;

static bool is_inside(u64 start, u64 size)
{
	unsigned int i;

	for (i = 0; i < ranges; i++)
		if (start >= range[i].start && start + size <= range[i].start + range[i].size)
			return true;
	return false;
}

static int look(struct kprobe *probe, struct pt_regs *regs)
{
	struct bio *bio = (struct bio *)regs_get_kernel_argument(regs, 0);
	struct bvec_iter iter;
	struct bio_vec vec;

	if (!bio->bi_bdev || bio->bi_bdev->bd_dev != watched)
		return 0;
	if (bio->bi_opf & REQ_PREFLUSH)
		atomic64_inc(&flushes);
	if (bio->bi_opf & REQ_FUA)
		atomic64_inc(&fua);
	if (!bio_has_data(bio))
		return 0;
	atomic64_inc(&bios);
	if (bio_op(bio) == REQ_OP_WRITE &&
	    (bio->bi_opf & (REQ_SYNC | REQ_IDLE)) != (REQ_SYNC | REQ_IDLE))
		atomic64_inc(&throttled);
	bio_for_each_segment(vec, bio, iter)
		atomic64_add(vec.bv_len,
			     is_inside(page_to_phys(vec.bv_page) + vec.bv_offset, vec.bv_len) ?
			     &inside : &outside);
	return 0;
}

static struct kprobe probe = {
	.symbol_name	= "submit_bio_noacct",
	.pre_handler	= look,
};

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "bios %lld\ninside %lld\noutside %lld\nflushes %lld\nfua %lld\nthrottled %lld\n",
		   atomic64_read(&bios), atomic64_read(&inside), atomic64_read(&outside),
		   atomic64_read(&flushes), atomic64_read(&fua), atomic64_read(&throttled));
	return 0;
}

static int run(const char *line)
{
	unsigned int major, minor;
	u64 start, size;

	if (sscanf(line, "disk %u:%u", &major, &minor) == 2) {
		watched = MKDEV(major, minor);
		atomic64_set(&bios, 0);
		atomic64_set(&inside, 0);
		atomic64_set(&outside, 0);
		atomic64_set(&flushes, 0);
		atomic64_set(&fua, 0);
		atomic64_set(&throttled, 0);
		return 0;
	}
	if (sscanf(line, "range %llx %llx", &start, &size) == 2 && ranges < RANGES) {
		range[ranges].start = start;
		range[ranges++].size = size;
		return 0;
	}
	return -EINVAL;
}

static int __init watch_init(void)
{
	int ret = register_kprobe(&probe);

	if (!ret)
		proc_create("bio_watch", 0600, NULL, &command_proc_ops);
	return ret;
}

static void __exit watch_exit(void)
{
	remove_proc_entry("bio_watch", NULL);
	unregister_kprobe(&probe);
}

module_init(watch_init);
module_exit(watch_exit);
MODULE_DESCRIPTION("SHIMOS tests: whose pages a disk's bios have");
MODULE_LICENSE("GPL");
