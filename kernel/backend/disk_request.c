// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of virtio-blk (virtio 1.2, section 5.2.6) become bios whose pages are the
 * user's own: the device reads and writes them directly.
 */
#include <linux/bio.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_blk.h>

#include "disk.h"

#define REQUESTS_KEPT	64		/* for progress when memory is short */
/* What is discarded or zeroed before others have their turn, and a stop its chance. */
#define DISCARD_PIECE	(SZ_128M / SECTOR_SIZE)
#define ZERO_PIECE	(SZ_1M / SECTOR_SIZE)

/* What is known of a request until it is completed. */
struct request_end {
	struct disk_queue *queue;
	u8 *status;			/* in the user's memory */
	u32 written;			/* bytes it may read, without the status */
	u16 head;
};

struct disk_bio {
	struct request_end end;
	struct bio bio;			/* last: its vectors follow */
};

/*
 * A discard or write of zeroes.  It has no asynchronous form, so the ring's thread does
 * it, piece by piece: within the limits that were set for it, between other requests,
 * and not for longer than the device is served.
 */
struct disk_range {
	struct list_head link;		/* disk_queue.ranges */
	struct request_end end;
	sector_t sector, sectors;	/* what is left */
	bool discard, unmap;
};

static struct bio_set disk_bios;

/* ---- ending ---- */

static void disk_count_error(struct backend_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->count.errors++;
	spin_unlock_irqrestore(&ring->lock, flags);
}

/*
 * A disk that completes while it is asked (a RAM disk, a cache) would have the user
 * called for each request of many that came together.
 */
static void disk_complete_request(struct disk_queue *q, u16 head, u32 written)
{
	if (current != q->thread || !q->batching || !in_task()) {
		backend_complete(q->ring, head, written);
		return;
	}
	backend_complete_quiet(q->ring, head, written);
	if (++q->batched == DISK_BATCH)
		disk_end_batch(q);
}

static void disk_end_request(const struct request_end *end, u8 status)
{
	struct disk_queue *q = end->queue;

	WRITE_ONCE(*end->status, status);
	if (status != VIRTIO_BLK_S_OK)
		disk_count_error(q->ring);
	disk_complete_request(q, end->head,
			      status == VIRTIO_BLK_S_OK ? end->written + 1 : 1);
	/* a full barrier; then disk_stop() may go on, and the queue be freed */
	if (atomic_dec_and_test(&q->in_flight))
		wake_up_var(&q->in_flight);
}

static u8 disk_to_status(blk_status_t status)
{
	if (!status)
		return VIRTIO_BLK_S_OK;
	return status == BLK_STS_NOTSUPP ? VIRTIO_BLK_S_UNSUPP : VIRTIO_BLK_S_IOERR;
}

static void disk_bio_done(struct bio *bio)
{
	struct request_end end = container_of(bio, struct disk_bio, bio)->end;
	u8 status = disk_to_status(bio->bi_status);

	bio_put(bio);
	disk_end_request(&end, status);
}

/* ---- reading and writing ---- */

/* Does the range lie on the disk, in whole blocks? */
static bool disk_has_sectors(const struct disk *disk, u64 sector, u64 sectors)
{
	u64 mask = disk->block / SECTOR_SIZE - 1;

	return !((sector | sectors) & mask) && sectors <= disk->sectors &&
	       sector <= disk->sectors - sectors;
}

static bool disk_add_data(struct disk *disk, struct bio *bio, const struct vqueue_segment *seg,
			  unsigned int count)
{
	unsigned int dma_mask = bdev_dma_alignment(disk->bdev.bdev) | (SECTOR_SIZE - 1);

	for (; count--; seg++) {
		if ((offset_in_page(seg->data) | seg->len) & dma_mask ||
		    bio_add_page(bio, virt_to_page(seg->data), seg->len,
				 offset_in_page(seg->data)) != seg->len)
			return false;
	}
	return true;
}

static struct bio *disk_new_bio(struct disk *disk, const struct request_end *end,
				unsigned int segments, blk_opf_t opf)
{
	struct bio *bio = bio_alloc_bioset(disk->bdev.bdev, segments, opf, GFP_NOIO,
					   &disk_bios);

	container_of(bio, struct disk_bio, bio)->end = *end;
	bio->bi_end_io = disk_bio_done;
	return bio;
}

static void disk_transfer(struct disk_queue *q, struct request_end *end, u64 sector, bool write)
{
	const struct vqueue_segment *seg = &q->chain.seg[write ? 1 : q->chain.out];
	unsigned int count = write ? q->chain.out - 1 : q->chain.in - 1;
	struct backend_counters *counters = &q->ring->count;
	struct disk *disk = q->disk;
	struct bio *bio;
	u64 bytes;

	if (write && disk->read_only) {
		disk_end_request(end, VIRTIO_BLK_S_IOERR);
		return;
	}
	/*
	 * REQ_IDLE, as for all direct I/O: somebody waits for this write.  Without it,
	 * writeback throttling would have the ring's only thread sleep.
	 */
	bio = disk_new_bio(disk, end, count,
			   (write ? REQ_OP_WRITE | REQ_IDLE : REQ_OP_READ) | REQ_SYNC);
	bio->bi_iter.bi_sector = sector;
	if (!count || !disk_add_data(disk, bio, seg, count) ||
	    !disk_has_sectors(disk, sector, bio_sectors(bio))) {
		bio_put(bio);
		disk_end_request(end, VIRTIO_BLK_S_IOERR);
		return;
	}
	bytes = bio->bi_iter.bi_size;
	if (write) {
		counters->writes++;
		counters->write_bytes += bytes;
	} else {
		counters->reads++;
		counters->read_bytes += bytes;
		container_of(bio, struct disk_bio, bio)->end.written = bytes;
	}
	counters->direct_bytes += bytes;
	submit_bio(bio);
}

static void disk_flush(struct disk_queue *q, struct request_end *end)
{
	q->ring->count.others++;
	submit_bio(disk_new_bio(q->disk, end, 0, REQ_OP_WRITE | REQ_PREFLUSH));
}

/* ---- discard and write zeroes ---- */

/* How much to do next: to the next multiple, so that no discard is lost at a seam. */
static sector_t disk_range_piece(const struct disk_range *r)
{
	u32 granularity = bdev_discard_granularity(r->end.queue->disk->bdev.bdev) / SECTOR_SIZE;
	u32 piece = r->discard ? DISCARD_PIECE : ZERO_PIECE, behind;

	if (granularity > piece)
		piece = granularity;
	else if (granularity)
		piece -= piece % granularity;
	div_u64_rem(r->sector, piece, &behind);
	return min_t(sector_t, r->sectors, piece - behind);
}

static void disk_range_end(struct disk_range *r, u8 status)
{
	list_del(&r->link);
	disk_end_request(&r->end, status);
	kfree(r);
}

bool disk_range_step(struct disk_queue *q)
{
	struct disk_range *r = list_first_entry_or_null(&q->ranges, struct disk_range, link);
	struct block_device *bdev = q->disk->bdev.bdev;
	sector_t piece;
	int ret;

	lockdep_assert_held(&q->mutex);
	if (!r)
		return false;
	piece = disk_range_piece(r);
	if (r->discard)
		ret = blkdev_issue_discard(bdev, r->sector, piece, GFP_NOIO);
	else
		ret = blkdev_issue_zeroout(bdev, r->sector, piece, GFP_NOIO,
					   r->unmap ? 0 : BLKDEV_ZERO_NOUNMAP);
	r->sector += piece;
	r->sectors -= piece;
	if (ret || !r->sectors)
		disk_range_end(r, disk_to_status(errno_to_blk_status(ret)));
	else
		list_move_tail(&r->link, &q->ranges);
	return !list_empty(&q->ranges);
}

void disk_range_cancel(struct disk_queue *q)
{
	struct disk_range *r, *next;

	lockdep_assert_held(&q->mutex);
	list_for_each_entry_safe(r, next, &q->ranges, link)
		disk_range_end(r, VIRTIO_BLK_S_IOERR);
}

static void disk_range_begin(struct disk_queue *q, struct request_end *end, bool discard)
{
	const struct vqueue_segment *seg = &q->chain.seg[1];
	struct virtio_blk_discard_write_zeroes range;
	struct disk_range *r;
	u32 flags;

	if (q->disk->read_only || q->chain.out != 2 || seg->len != sizeof(range)) {
		disk_end_request(end, VIRTIO_BLK_S_IOERR);
		return;
	}
	memcpy(&range, seg->data, sizeof(range));	/* once, then checked */
	barrier();
	flags = le32_to_cpu(range.flags);
	if (flags & ~(discard ? 0 : VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP)) {
		disk_end_request(end, VIRTIO_BLK_S_UNSUPP);
		return;
	}
	r = kzalloc(sizeof(*r), GFP_NOIO);
	if (!r || !range.num_sectors ||
	    (!discard && le32_to_cpu(range.num_sectors) > DISK_MAX_ZEROES) ||
	    !disk_has_sectors(q->disk, le64_to_cpu(range.sector), le32_to_cpu(range.num_sectors))) {
		kfree(r);
		disk_end_request(end, VIRTIO_BLK_S_IOERR);
		return;
	}
	q->ring->count.others++;
	r->end = *end;
	r->sector = le64_to_cpu(range.sector);
	r->sectors = le32_to_cpu(range.num_sectors);
	r->discard = discard;
	r->unmap = flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	list_add_tail(&r->link, &q->ranges);
}

/* ---- the rest ---- */

static void disk_get_id(struct disk_queue *q, struct request_end *end)
{
	const struct vqueue_segment *seg = &q->chain.seg[q->chain.out];
	char id[VIRTIO_BLK_ID_BYTES + 1] = {};

	if (q->chain.in != 2 || seg->len < VIRTIO_BLK_ID_BYTES) {
		disk_end_request(end, VIRTIO_BLK_S_IOERR);
		return;
	}
	snprintf(id, sizeof(id), "shimos-%s", kbasename(q->disk->backend->name));
	memcpy(seg->data, id, VIRTIO_BLK_ID_BYTES);
	end->written = VIRTIO_BLK_ID_BYTES;
	q->ring->count.others++;
	disk_end_request(end, VIRTIO_BLK_S_OK);
}

void disk_request(struct disk_queue *q)
{
	struct vqueue_chain *chain = &q->chain;
	const struct vqueue_segment *last = &chain->seg[chain->out + chain->in - 1];
	const struct virtio_blk_outhdr *hdr = chain->seg[0].data;
	struct request_end end = { .queue = q, .head = chain->head };
	u64 sector;
	u32 type;

	if (!chain->out || chain->seg[0].len != sizeof(*hdr) || !chain->in || last->len != 1) {
		backend_break(q->disk->backend, "a request without header or room for its status");
		return;
	}
	/* more than the ring holds: it makes the same ones available again and again */
	if (atomic_inc_return(&q->in_flight) > q->ring->v.size) {
		atomic_dec(&q->in_flight);
		backend_break(q->disk->backend, "more requests than the ring holds");
		return;
	}
	end.status = last->data;
	type = __virtio32_to_cpu(true, READ_ONCE(hdr->type));
	sector = __virtio64_to_cpu(true, READ_ONCE(hdr->sector));
	switch (type) {
	case VIRTIO_BLK_T_IN:
		disk_transfer(q, &end, sector, false);
		break;
	case VIRTIO_BLK_T_OUT:
		disk_transfer(q, &end, sector, true);
		break;
	case VIRTIO_BLK_T_FLUSH:
		disk_flush(q, &end);
		break;
	case VIRTIO_BLK_T_DISCARD:
		disk_range_begin(q, &end, true);
		break;
	case VIRTIO_BLK_T_WRITE_ZEROES:
		disk_range_begin(q, &end, false);
		break;
	case VIRTIO_BLK_T_GET_ID:
		disk_get_id(q, &end);
		break;
	default:
		disk_end_request(&end, VIRTIO_BLK_S_UNSUPP);
	}
}

int disk_requests_init(void)
{
	return bioset_init(&disk_bios, REQUESTS_KEPT, offsetof(struct disk_bio, bio),
			   BIOSET_NEED_BVECS);
}

void disk_requests_exit(void)
{
	bioset_exit(&disk_bios);
}
