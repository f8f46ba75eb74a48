// SPDX-License-Identifier: GPL-2.0
/*
 * I/O from the lowest pages there are: insmod shimos_low_io.ko disk=/dev/vdd.  In each
 * MiB below 16 that has two free pages, one is written to the disk and read back into
 * the other.  Loading always fails: with ECANCELED if all came back as it was; the log
 * says for which MiB.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <shimos/compat.h>

#define LOW		16		/* MiB that GFP_DMA comes from */

static char *disk;
module_param(disk, charp, 0);

static struct compat_bdev bdev;
static struct page *found[LOW][2];

static int transfer(struct page *page, bool write)
{
	struct bio_vec vec;
	struct bio bio;
	int ret;

	bio_init(&bio, bdev.bdev, &vec, 1, write ? REQ_OP_WRITE | REQ_SYNC : REQ_OP_READ);
	bio.bi_iter.bi_sector = 8;
	__bio_add_page(&bio, page, PAGE_SIZE, 0);
	ret = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return ret;
}

/* To the disk and back. */
static int check(struct page *page[2])
{
	void *out = page_address(page[0]), *in = page_address(page[1]);
	int ret;

	memset(out, 0x5a, PAGE_SIZE);
	memcpy(out, &page[0], sizeof(page[0]));
	memset(in, 0, PAGE_SIZE);
	ret = transfer(page[0], true) ?: transfer(page[1], false);
	if (!ret && memcmp(out, in, PAGE_SIZE))
		ret = -EILSEQ;
	if (ret)
		pr_err("pages %#llx and %#llx: error %d\n", (u64)page_to_phys(page[0]),
		       (u64)page_to_phys(page[1]), ret);
	return ret;
}

/* All free low pages; of each MiB two are kept. */
static void find_low(struct list_head *rest)
{
	struct page *page;
	unsigned int mib;

	while ((page = alloc_page(GFP_KERNEL | GFP_DMA | __GFP_NOWARN | __GFP_NORETRY))) {
		mib = page_to_phys(page) >> 20;
		if (mib < LOW && !found[mib][0])
			found[mib][0] = page;
		else if (mib < LOW && !found[mib][1])
			found[mib][1] = page;
		else
			list_add(&page->lru, rest);
		if (mib >= LOW)
			break;
	}
}

static int __init low_io_init(void)
{
	struct page *page, *next;
	unsigned int mib, i;
	LIST_HEAD(rest);
	u32 seen = 0;
	dev_t dev;
	int ret;

	ret = lookup_bdev(disk, &dev) ?: compat_bdev_open(&bdev, dev, true, &bdev);
	if (ret)
		return ret;
	find_low(&rest);
	for (mib = 0; mib < LOW && !ret; mib++) {
		if (found[mib][0] && found[mib][1]) {
			ret = check(found[mib]);
			seen |= BIT(mib);
		}
	}
	for (mib = 0; mib < LOW; mib++)
		for (i = 0; i < 2; i++)
			if (found[mib][i])
				__free_page(found[mib][i]);
	list_for_each_entry_safe(page, next, &rest, lru)
		__free_page(page);
	compat_bdev_close(&bdev);
	pr_info("shimos_low_io: MiB %#x\n", seen);
	return ret ?: -ECANCELED;	/* done: need not stay */
}

module_init(low_io_init);
MODULE_DESCRIPTION("SHIMOS test: I/O from low pages");
MODULE_LICENSE("GPL");
