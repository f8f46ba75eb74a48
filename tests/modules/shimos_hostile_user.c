// SPDX-License-Identifier: GPL-2.0
/*
 * A user of shared devices gone bad: loaded in a partition in place of shimos_virtio,
 * it speaks the protocol by itself and lies.  /proc/hostile takes commands, which
 * return when they are done, and gives results as "name value" lines:
 *
 *	victim ADDR		physical memory that is not this partition's
 *	start ID [HOW]		START, right or wrong in one way (enum how)
 *	reset ID		RESET
 *	good ID			a request that is right in every way, on each queue
 *	attack ID WHAT		one that is wrong (attacks[]), on queue 0 of disks, 1 of networks
 *	fuzz ID SECONDS SEED	everything at random, another thread rewrites descriptors
 *	endless ID SECONDS TYPE	a ring that is never empty, until the device is removed
 *	storm ID COUNT		RESET and START, without waiting for answers
 *	packets COUNT SEED	packets at random
 *	mute 0|1		REMOVE is not answered
 *	enough			ends what of this is going on
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <shimos/ikc.h>
#include <uapi/shimos_virtio.h>

#include "command.h"

#define OWNER		0		/* the host */
#define TARGETS		16
#define PATIENCE	(20 * HZ)

/* A device's memory, in one piece, and what lies where. */
#define ORDER		9
#define RINGS		SZ_128K
#define RING_BYTES	SZ_32K
#define AVAIL		SZ_16K
#define USED		(SZ_16K + SZ_8K)
#define TABLES		SZ_1M
#define DATA		(SZ_1M + SZ_64K)
#define HEADER		DATA		/* of the request that is built by itself */
#define STATUS		(DATA + 512)
#define PAYLOAD		(DATA + SZ_4K)
#define DATA_END	SZ_2M

#define LONG		8		/* pieces of data in a long request */

struct target {
	u32 id, asked, answered;
	int answer;
	struct shimos_virtio_device desc;
	struct page *pages;
	u8 *mem;
	u64 phys;
	u16 made[SHIMOS_VIRTIO_QUEUES], seen[SHIMOS_VIRTIO_QUEUES];
};

static struct target targets[TARGETS];
static DECLARE_WAIT_QUEUE_HEAD(changed);
static u64 victim = 0x100000;
static bool mute;
static bool enough;
static u8 status;			/* of the last request */
static bool used;			/* it came back */
static u64 tries, restarts, completions, removals;
static struct rnd_state rnd;		/* of the thread that runs commands */

static u32 below(struct rnd_state *r, u32 limit)
{
	return prandom_u32_state(r) % (limit ?: 1);
}

/* ---- talking ---- */

static struct target *find(u32 id)
{
	int i;

	for (i = 0; i < TARGETS; i++)
		if (targets[i].id == id && id)
			return &targets[i];
	return NULL;
}

static void added(const struct ikc_packet *pkt)
{
	struct target *t = find(pkt->param[0]);
	int i;

	for (i = 0; !t && i < TARGETS; i++)
		if (!targets[i].id)
			t = &targets[i];
	if (!t || pkt->size != sizeof(t->desc))
		return;
	memcpy(&t->desc, ikc_pointer(pkt->data), sizeof(t->desc));
	if (!t->pages)
		t->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	if (!t->pages)
		return;
	t->mem = page_address(t->pages);
	t->phys = page_to_phys(t->pages);
	WRITE_ONCE(t->id, pkt->param[0]);
}

/* -EAGAIN: the owner reads nothing any more. */
static int write_packet(const struct ikc_packet *pkt)
{
	unsigned long until = jiffies + PATIENCE;
	int ret;

	while ((ret = ikc_write(pkt, OWNER, SHIMOS_VIRTIO_OWNER)) == -EAGAIN &&
	       time_before(jiffies, until)) {
		ikc_notify(OWNER, SHIMOS_VIRTIO_OWNER);
		usleep_range(50, 100);
	}
	return ret;
}

static int tell(u32 id, u32 cmd, u32 number, u32 value, void *block, u32 size)
{
	struct ikc_packet pkt = { .cmd = cmd, .param = { id, number, value } };
	int ret;

	if (block) {
		pkt.flags = IKC_DATA_SHARED;
		pkt.data = ikc_offset(block);
		pkt.size = size;
	}
	ret = write_packet(&pkt);
	if (ret && block)
		ikc_free(block);
	ikc_notify(OWNER, SHIMOS_VIRTIO_OWNER);
	return ret;
}

static void removed(struct target *t)
{
	removals++;
	if (mute || !t)
		return;
	tell(t->id, SHIMOS_VIRTIO_REMOVED, 0, 0, NULL, 0);
	/* its memory is kept: the owner has let go of it, we could not care less */
	t->id = 0;
}

static void hear(struct work_struct *work)
{
	struct ikc_packet pkt;
	struct target *t;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_USER)) {
			t = find(pkt.param[0]);
			if (pkt.cmd == SHIMOS_VIRTIO_ADD)
				added(&pkt);
			else if (pkt.cmd == SHIMOS_VIRTIO_REMOVE)
				removed(t);
			else if (pkt.cmd == SHIMOS_VIRTIO_ANSWER && t) {
				t->answer = -(int)pkt.param[2];
				WRITE_ONCE(t->answered, pkt.param[1]);
			}
			if (pkt.flags == IKC_DATA_SHARED)
				ikc_free(ikc_pointer(pkt.data));
		}
		wake_up_all(&changed);
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_USER));
}

static DECLARE_WORK(hear_work, hear);

static void rang(void *context, unsigned int kernel)
{
	schedule_work(&hear_work);
}

static const struct ikc_queue_ops ops = { .notify = rang };

static int ask(struct target *t, u32 cmd, void *block, u32 size)
{
	u32 number = ++t->asked;
	int ret = tell(t->id, cmd, number, 0, block, size);

	if (ret)
		return ret;
	if (!wait_event_timeout(changed, READ_ONCE(t->answered) == number, PATIENCE))
		return -ETIME;
	return t->answer;
}

/* ---- starting ---- */

enum how {
	RIGHT, VERSION, SIZE, SHORT, NO_BLOCK, FEATURES, OLD, QUEUES, FEW_QUEUES, STATE_HOST,
	STATE_ODD, STATE_END, DESC_HOST, DESC_ODD, DESC_END, AVAIL_HOST, AVAIL_ODD, USED_HOST,
	USED_ODD, RING_ODD, RING_LARGE, RING_HUGE, NOWHERE, HOWS,
};

static const char *const hows[HOWS] = {
	"right", "version", "size", "short", "no_block", "features", "old", "queues",
	"few_queues", "state_host", "state_odd", "state_end", "desc_host", "desc_odd",
	"desc_end", "avail_host", "avail_odd", "used_host", "used_odd", "ring_odd",
	"ring_large", "ring_huge", "nowhere",
};

static u64 end_of_memory(void)
{
	struct ikc_range range[IKC_MAX_RANGES];

	ikc_peer_ranges(ikc_self_number(), range);
	return range[0].start + range[0].size;
}

static void spoil_start(struct shimos_virtio_start *m, enum how how)
{
	struct shimos_virtio_queue *q = &m->queue[0];

	switch (how) {
	case VERSION:
		m->version++;
		break;
	case SIZE:
		m->size--;
		break;
	case FEATURES:
		m->features = ~0ULL;
		break;
	case OLD:
		m->features = 0;
		break;
	case QUEUES:
		m->queues = SHIMOS_VIRTIO_QUEUES + 1;
		break;
	case FEW_QUEUES:
		m->queues = 0;
		break;
	case STATE_HOST:
		m->state = victim;
		break;
	case STATE_ODD:
		m->state += 64;
		break;
	case STATE_END:
		m->state = end_of_memory();
		break;
	case DESC_HOST:
		q->desc = victim;
		break;
	case DESC_ODD:
		q->desc += 8;
		break;
	case DESC_END:
		q->desc = end_of_memory() - 16;
		break;
	case AVAIL_HOST:
		q->avail = victim;
		break;
	case AVAIL_ODD:
		q->avail++;
		break;
	case USED_HOST:
		q->used = victim;
		break;
	case USED_ODD:
		q->used += 2;
		break;
	case RING_ODD:
		q->size--;
		break;
	case RING_LARGE:
		q->size = 2 * SHIMOS_VIRTIO_RING;
		break;
	case RING_HUGE:
		q->size = 1U << 31;
		break;
	case NOWHERE:
		q->desc = ~0ULL - 15;
		break;
	default:
		break;
	}
}

static int start(struct target *t, enum how how)
{
	struct shimos_virtio_start *m = ikc_alloc(sizeof(*m));
	unsigned int n;

	if (!m)
		return -ENOMEM;
	memset(t->mem, 0, RINGS + SHIMOS_VIRTIO_BELLS * 3 * RING_BYTES);
	memset(t->made, 0, sizeof(t->made));
	memset(t->seen, 0, sizeof(t->seen));
	*m = (struct shimos_virtio_start){
		.version = SHIMOS_VIRTIO_VERSION,
		.size = sizeof(*m),
		.features = t->desc.features,
		.state = t->phys,
		.queues = t->desc.queues,
	};
	for (n = 0; n < t->desc.queues; n++) {
		u64 ring = t->phys + RINGS + n * RING_BYTES;

		m->queue[n] = (struct shimos_virtio_queue){
			ring, ring + AVAIL, ring + USED, t->desc.ring,
		};
	}
	spoil_start(m, how);
	if (how == NO_BLOCK) {
		ikc_free(m);
		return ask(t, SHIMOS_VIRTIO_START, NULL, 0);
	}
	return ask(t, SHIMOS_VIRTIO_START, m, how == SHORT ? sizeof(*m) - 1 : sizeof(*m));
}

/* ---- rings ---- */

static struct vring_desc *desc_of(struct target *t, unsigned int q)
{
	return (void *)t->mem + RINGS + q * RING_BYTES;
}

static struct vring_avail *avail_of(struct target *t, unsigned int q)
{
	return (void *)desc_of(t, q) + AVAIL;
}

static struct vring_used *used_of(struct target *t, unsigned int q)
{
	return (void *)desc_of(t, q) + USED;
}

static void set(struct vring_desc *d, u64 addr, u32 len, u16 flags, u16 next)
{
	WRITE_ONCE(d->addr, addr);
	WRITE_ONCE(d->len, len);
	WRITE_ONCE(d->flags, flags);
	WRITE_ONCE(d->next, next);
}

static void kick(struct target *t, unsigned int q)
{
	struct shimos_virtio_state *s = (void *)t->mem;

	atomic64_or(BIT_ULL(q), (atomic64_t *)&s->kicks);
	ikc_ring(OWNER, SHIMOS_VIRTIO_KICK + shimos_virtio_bell(t->desc.type, q));
}

static void make_available(struct target *t, unsigned int q, u16 head, u16 step)
{
	avail_of(t, q)->ring[t->made[q] % t->desc.ring] = head;
	virt_wmb();	/* as a driver does */
	t->made[q] += step;
	WRITE_ONCE(avail_of(t, q)->idx, t->made[q]);
	kick(t, q);
}

static bool wait_used(struct target *t, unsigned int q, unsigned int ms)
{
	while (READ_ONCE(used_of(t, q)->idx) == t->seen[q]) {
		if (!ms--)
			return false;
		usleep_range(1000, 1100);
	}
	t->seen[q]++;
	return true;
}

/* A request to read the first sectors, or an Ethernet frame to nobody. */
static void build(struct target *t, unsigned int q)
{
	struct virtio_blk_outhdr *header = (void *)t->mem + HEADER;
	struct vring_desc *d = desc_of(t, q);

	t->mem[STATUS] = 0xee;
	if (t->desc.type == 1) {
		memset(header, 0, 64);
		set(d, t->phys + HEADER, 12 + 60, 0, 0);
		return;
	}
	*header = (struct virtio_blk_outhdr){ .type = VIRTIO_BLK_T_IN };
	set(&d[0], t->phys + HEADER, sizeof(*header), VRING_DESC_F_NEXT, 1);
	set(&d[1], t->phys + PAYLOAD, SZ_4K, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 2);
	set(&d[2], t->phys + STATUS, 1, VRING_DESC_F_WRITE, 0);
}

static int good(struct target *t)
{
	unsigned int q;

	for (q = 0; q < t->desc.queues; q++) {
		if (t->desc.type == 1 && (q % 2 == 0 || q + 1 == t->desc.queues))
			continue;	/* to receive and for control */
		build(t, q);
		make_available(t, q, 0, 1);
		used = wait_used(t, q, 20000);
		status = t->mem[STATUS];
		if (!used || (t->desc.type == 2 && status))
			return -EIO;
	}
	return 0;
}

/* ---- attacks ---- */

static void type_is(struct target *t, u32 type, u64 sector)
{
	struct virtio_blk_outhdr *header = (void *)t->mem + HEADER;

	header->type = type;
	header->sector = sector;
}

static u64 capacity(struct target *t)
{
	return ((struct virtio_blk_config *)t->desc.config)->capacity;
}

/* Discard or write zeroes: the second part is the range. */
static void range_is(struct target *t, u32 type, u64 sector, u32 sectors, u32 flags)
{
	struct virtio_blk_discard_write_zeroes *range = (void *)t->mem + PAYLOAD;

	type_is(t, type, 0);
	range->sector = sector;
	range->num_sectors = sectors;
	range->flags = flags;
	set(&desc_of(t, 0)[1], t->phys + PAYLOAD, sizeof(*range), VRING_DESC_F_NEXT, 2);
}

static void indirect(struct target *t, struct vring_desc *d, u32 len, u16 flags)
{
	memcpy(t->mem + TABLES, d, 3 * sizeof(*d));
	set(d, t->phys + TABLES, len, VRING_DESC_F_INDIRECT | flags, 0);
}

static const char *const attacks[] = {
	/* what breaks the device */
	"host_to", "host_from", "host_header", "host_status", "host_table", "edge", "below",
	"huge", "wrap", "null", "loop", "long", "leave", "nested", "table_odd", "table_empty",
	"table_next", "table_huge", "empty", "backwards", "jump", "head", "no_header",
	"no_status", "long_status", "short_header",
	/* what only fails */
	"beyond", "far", "around", "unaligned", "odd", "nothing", "type", "discard_beyond",
	"zero_beyond", "zero_flags", "zero_short", "read_from",
};

/* Spoil the request that build() made; returns by how much the position jumps. */
static int spoil(struct target *t, unsigned int q, const char *what, u16 *head)
{
	struct vring_desc *d = desc_of(t, q), *table = (void *)t->mem + TABLES;
	struct vring_desc *data = t->desc.type == 1 ? d : d + 1;
	const u32 size = sizeof(*d);
	int i;

#define IS(name) (!strcmp(what, name))
	if (IS("host_to"))
		data->addr = victim;
	else if (IS("host_from") && t->desc.type == 1)
		data->addr = victim;
	else if (IS("host_from"))
		type_is(t, VIRTIO_BLK_T_OUT, 0), data->addr = victim,
		data->flags = VRING_DESC_F_NEXT;
	else if (IS("host_header"))
		d->addr = victim;
	else if (IS("host_status"))
		d[2].addr = victim;
	else if (IS("host_table"))
		indirect(t, d, 3 * size, 0), d->addr = victim;
	else if (IS("edge"))
		data->addr = end_of_memory() - 512, data->len = 1024;
	else if (IS("below"))
		data->addr = victim - 512, data->len = SZ_4K;
	else if (IS("huge"))
		data->len = U32_MAX;
	else if (IS("wrap"))
		data->addr = ~0ULL - 511, data->len = SZ_4K;
	else if (IS("null"))
		data->addr = 0;
	else if (IS("loop"))
		data->flags |= VRING_DESC_F_NEXT, data->next = data - d;
	else if (IS("long"))
		for (i = 1; i < t->desc.ring; i++)
			set(&d[i], t->phys + PAYLOAD, 512, d[1].flags, i + 1);
	else if (IS("leave"))
		data->flags |= VRING_DESC_F_NEXT, data->next = t->desc.ring;
	else if (IS("nested"))
		indirect(t, d, 3 * size, 0), table[0].flags |= VRING_DESC_F_INDIRECT;
	else if (IS("table_odd"))
		indirect(t, d, 3 * size + 8, 0);
	else if (IS("table_empty"))
		indirect(t, d, 0, 0);
	else if (IS("table_next"))
		indirect(t, d, 3 * size, VRING_DESC_F_NEXT);
	else if (IS("table_huge"))
		indirect(t, d, U32_MAX & ~15, 0);
	else if (IS("empty"))
		data->len = 0;
	else if (IS("backwards"))
		d[0].flags |= VRING_DESC_F_WRITE, d[1].flags &= ~VRING_DESC_F_WRITE;
	else if (IS("jump"))
		return t->desc.ring + 1;
	else if (IS("head"))
		*head = t->desc.ring;
	else if (IS("no_header"))
		*head = 1;
	else if (IS("no_status"))
		d[1].flags = d[0].flags = VRING_DESC_F_NEXT, d[2].flags = 0;
	else if (IS("long_status"))
		d[2].len = 2;
	else if (IS("short_header"))
		d[0].len = 15;
	else if (IS("beyond"))
		type_is(t, VIRTIO_BLK_T_IN, capacity(t) - 1);
	else if (IS("far"))
		type_is(t, VIRTIO_BLK_T_IN, capacity(t));
	else if (IS("around"))
		type_is(t, VIRTIO_BLK_T_IN, ~0ULL - 3);
	else if (IS("unaligned"))
		data->addr += 1;
	else if (IS("odd"))
		data->len = 1000;
	else if (IS("nothing"))
		d[0].next = 2;
	else if (IS("type"))
		type_is(t, 4711, 0);
	else if (IS("discard_beyond"))
		range_is(t, VIRTIO_BLK_T_DISCARD, capacity(t), 8, 0);
	else if (IS("zero_beyond"))
		range_is(t, VIRTIO_BLK_T_WRITE_ZEROES, 8, U32_MAX, 0);
	else if (IS("zero_flags"))
		range_is(t, VIRTIO_BLK_T_WRITE_ZEROES, 0, 8, U32_MAX);
	else if (IS("zero_short"))
		range_is(t, VIRTIO_BLK_T_WRITE_ZEROES, 0, 8, 0), d[1].len--;
	else if (IS("read_from"))	/* room for the answer where there is none */
		d[1].flags = VRING_DESC_F_NEXT;
	else
		return -EINVAL;
#undef IS
	return 1;
}

static int attack(struct target *t, const char *what)
{
	unsigned int q = t->desc.type == 1;
	u16 head = 0;
	int step;

	build(t, q);
	step = spoil(t, q, what, &head);
	if (step < 0)
		return step;
	make_available(t, q, head, step);
	used = wait_used(t, q, 300);
	status = t->mem[STATUS];
	return 0;
}

/* ---- at random ---- */

static u64 random_addr(struct target *t, struct rnd_state *r)
{
	switch (below(r, 24)) {
	case 0:
		return victim + below(r, SZ_8K);
	case 1:
		return end_of_memory() - below(r, 2);
	case 2:
		return (u64)below(r, U32_MAX) << below(r, 20) | 1ULL << 52;
	case 3:
		return ~0ULL - below(r, SZ_4K);
	case 4:
		return below(r, SZ_1M);
	case 5:
		return t->phys + TABLES + 16 * below(r, 512);
	default:
		/* of this memory only what the device may have: we want to live on */
		return t->phys + PAYLOAD + (below(r, 4) ? 512 : 1) * below(r, 500);
	}
}

static u32 random_len(struct rnd_state *r)
{
	switch (below(r, 16)) {
	case 0:
		return U32_MAX - below(r, 16);
	case 1:
		return below(r, 3);
	case 2:
		return sizeof(struct virtio_blk_outhdr) * below(r, 140);
	case 3:
		return 1U << below(r, 18);
	default:
		return 512 * (1 + below(r, 64));
	}
}

/* What lies behind the payload may be written over, as far as DATA_END. */
static void spoil_one(struct target *t, struct rnd_state *r)
{
	unsigned int q = below(r, t->desc.queues);
	struct vring_desc *d = below(r, 3) ? &desc_of(t, q)[below(r, t->desc.ring)] :
			       (struct vring_desc *)(t->mem + TABLES) + below(r, 512);

	switch (below(r, 8)) {
	case 0:
	case 1:
		WRITE_ONCE(d->addr, random_addr(t, r));
		break;
	case 2:
	case 3:
		WRITE_ONCE(d->len, min_t(u32, random_len(r), below(r, 8) ? SZ_256K : U32_MAX));
		break;
	case 4:
	case 5:
		WRITE_ONCE(d->flags, below(r, 8));
		break;
	case 6:
		WRITE_ONCE(d->next, below(r, t->desc.ring + 1));
		break;
	default:	/* header fields, and data that may be a header */
		WRITE_ONCE(((u32 *)(t->mem + DATA))[below(r, SZ_4K)],
			   below(r, 2) ? below(r, 20) : prandom_u32_state(r));
	}
}

static void random_request(struct target *t, unsigned int q)
{
	struct vring_desc *d = desc_of(t, q);
	static const u32 types[] = {
		VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID,
		VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES,
	};
	u16 head = 3 * below(&rnd, t->desc.ring / 3 - 1);
	bool out;

	d += head;
	type_is(t, types[below(&rnd, ARRAY_SIZE(types))], 8 * below(&rnd, capacity(t) / 8 + 1));
	out = t->desc.type == 2 ? below(&rnd, 2) : q % 2;
	set(&d[0], t->phys + HEADER, t->desc.type == 2 ? 16 : 12 + below(&rnd, 200),
	    VRING_DESC_F_NEXT | (t->desc.type == 1 && !out ? VRING_DESC_F_WRITE : 0), head + 1);
	set(&d[1], t->phys + PAYLOAD + 512 * below(&rnd, 256),
	    below(&rnd, 8) ? 512 * (1 + below(&rnd, 32)) : 16,
	    VRING_DESC_F_NEXT | (out ? 0 : VRING_DESC_F_WRITE), head + 2);
	set(&d[2], t->phys + STATUS, 1, t->desc.type == 1 && out ? 0 : VRING_DESC_F_WRITE, 0);
	if (!below(&rnd, 4)) {
		memcpy(t->mem + TABLES, d, 3 * sizeof(*d));
		((struct vring_desc *)(t->mem + TABLES))[0].next = 1;
		((struct vring_desc *)(t->mem + TABLES))[1].next = 2;
		set(d, t->phys + TABLES, 3 * sizeof(*d), VRING_DESC_F_INDIRECT, 0);
	}
	make_available(t, q, head, below(&rnd, 500) ? 1 : below(&rnd, 2 * t->desc.ring));
}

static int rewrite(void *data)
{
	struct target *t = data;
	struct rnd_state r;

	prandom_seed_state(&r, 4711);
	while (!kthread_should_stop()) {
		ndelay(below(&r, 4000));
		spoil_one(t, &r);
		cond_resched();
	}
	return 0;
}

/* Begin anew when the owner has had enough. */
static int fuzz(struct target *t, unsigned int seconds, u64 seed)
{
	unsigned long until = jiffies + seconds * HZ, moved = jiffies;
	struct task_struct *thread = kthread_run(rewrite, t, "hostile-rewrite");
	unsigned int q;
	int ret = 0;
	u16 idx;

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	prandom_seed_state(&rnd, seed);
	while (time_before(jiffies, until) && !ret && !READ_ONCE(enough)) {
		q = below(&rnd, t->desc.queues);
		idx = READ_ONCE(used_of(t, q)->idx);
		if (idx != t->seen[q])
			moved = jiffies;
		completions += (u16)(idx - t->seen[q]);
		t->seen[q] = idx;
		if ((u16)(t->made[q] - idx) < t->desc.ring / 2) {
			random_request(t, q);
			tries++;
		}
		if (time_after(jiffies, moved + 3)) {
			ret = ask(t, SHIMOS_VIRTIO_RESET, NULL, 0) ?: start(t, RIGHT);
			restarts++;
			moved = jiffies;
		}
		cond_resched();
	}
	kthread_stop(thread);
	return ret;
}

/*
 * Read into the same place again and again: a ring of these takes the owner longer
 * than a busy machine keeps us from filling it up.
 */
static void lengthen(struct target *t, unsigned int q)
{
	struct vring_desc *d = desc_of(t, q);
	int i;

	d[LONG + 1] = d[2];
	for (i = 1; i <= LONG; i++)
		set(&d[i], t->phys + PAYLOAD, SZ_512K, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE,
		    i + 1);
}

/* 0 if the device was removed meanwhile. */
static int endless(struct target *t, unsigned int seconds, u32 type)
{
	unsigned long until = jiffies + seconds * HZ;
	unsigned int q = t->desc.type == 1, n = 0;
	u16 before = used_of(t, q)->idx, at = before;
	u32 id = t->id;

	build(t, q);
	if (t->desc.type == 2)
		type_is(t, type, 0);
	if (type == VIRTIO_BLK_T_GET_ID)
		desc_of(t, q)[1].len = VIRTIO_BLK_ID_BYTES;
	else if (type == VIRTIO_BLK_T_IN)
		lengthen(t, q);
	memset(avail_of(t, q)->ring, 0, 2 * t->desc.ring);
	while (time_before(jiffies, until) && READ_ONCE(t->id) == id) {
		u16 idx = READ_ONCE(used_of(t, q)->idx);

		completions += (u16)(idx - at);
		at = idx;
		WRITE_ONCE(avail_of(t, q)->idx, idx + t->desc.ring);
		if (!(n++ & 1023))
			kick(t, q);
		if (!(n & 0xffff))
			cond_resched();
	}
	t->made[q] = avail_of(t, q)->idx;
	msleep(100);
	t->seen[q] = used_of(t, q)->idx;
	return READ_ONCE(t->id) == id ? -ETIME : 0;
}

static int storm(struct target *t, unsigned int count)
{
	struct shimos_virtio_start *m;
	int ret;

	while (count--) {
		m = count % 2 ? ikc_alloc(sizeof(*m)) : NULL;
		if (m)
			memset(m, 0, sizeof(*m));
		ret = tell(t->id, m ? SHIMOS_VIRTIO_START : SHIMOS_VIRTIO_RESET, ++t->asked, 0,
			   m, sizeof(*m));
		if (ret)
			return ret;
		tries++;
		cond_resched();
	}
	return 0;
}

static int random_packets(unsigned int count, u64 seed)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct ikc_packet pkt;
	void *block;
	int ret = 0;

	if (!page)
		return -ENOMEM;
	prandom_seed_state(&rnd, seed);
	while (count-- && !ret && !READ_ONCE(enough)) {
		prandom_bytes_state(&rnd, &pkt, sizeof(pkt));
		pkt.cmd = below(&rnd, 8) ? below(&rnd, 10) : pkt.cmd;
		pkt.param[0] = below(&rnd, 4) ? below(&rnd, 8) : pkt.param[0];
		pkt.flags = below(&rnd, 3);
		/* what IKC itself refuses would end the conversation */
		pkt.size = below(&rnd, 2) ? sizeof(struct shimos_virtio_start) :
			   1 + below(&rnd, 4096);
		block = pkt.flags == IKC_DATA_SHARED ? ikc_alloc(pkt.size) : NULL;
		if (block) {
			prandom_bytes_state(&rnd, block, pkt.size);
			pkt.data = ikc_offset(block);
		} else if (pkt.flags == IKC_DATA_PAGE) {
			pkt.data = page_to_phys(page);
		} else {
			pkt.flags = 0;
		}
		ret = write_packet(&pkt);
		if (ret && block)
			ikc_free(block);
		if (ret == -EINVAL)
			ret = 0;	/* refused here already */
		else
			tries++;
		cond_resched();
	}
	ikc_notify(OWNER, SHIMOS_VIRTIO_OWNER);
	msleep(200);
	__free_page(page);
	return ret;
}

/* ---- /proc/hostile ---- */

static int show(struct seq_file *file, void *unused)
{
	struct target *t;

	seq_printf(file, "used %d\nstatus %u\ntries %llu\nrestarts %llu\ncompletions %llu\nremovals %llu\n",
		   used, status, tries, restarts, completions, removals);
	for (t = targets; t < targets + TARGETS; t++)
		if (t->id)
			seq_printf(file, "device.%u %u\nqueues.%u %u\nunanswered.%u %u\n", t->id,
				   t->desc.type, t->id, t->desc.queues, t->id,
				   t->asked - t->answered);
	return 0;
}

static int run(const char *line)
{
	unsigned int id, a, b;
	char word[20];
	struct target *t;
	u64 number;
	int i;

	if (sscanf(line, "victim %llx", &number) == 1) {
		victim = number;
		return 0;
	}
	if (sscanf(line, "mute %u", &a) == 1) {
		mute = a;
		return 0;
	}
	if (!strncmp(line, "enough", 6)) {
		WRITE_ONCE(enough, true);
		return 0;
	}
	WRITE_ONCE(enough, false);
	if (sscanf(line, "packets %u %u", &a, &b) == 2)
		return random_packets(a, b);
	if (sscanf(line, "%19s %u", word, &id) != 2)
		return -EINVAL;
	t = find(id);
	if (!t)
		return -ENODEV;
	used = false;
	status = 0xee;
	if (!strcmp(word, "reset"))
		return ask(t, SHIMOS_VIRTIO_RESET, NULL, 0);
	if (!strcmp(word, "good"))
		return good(t);
	if (sscanf(line, "fuzz %*u %u %u", &a, &b) == 2)
		return fuzz(t, a, b);
	if (sscanf(line, "endless %*u %u %u", &a, &b) == 2)
		return endless(t, a, b);
	if (sscanf(line, "storm %*u %u", &a) == 1)
		return storm(t, a);
	if (sscanf(line, "attack %*u %19s", word) == 1)
		return attack(t, word);
	i = RIGHT;
	if (sscanf(line, "start %*u %19s", word) == 1)
		i = match_string(hows, HOWS, word);
	return i < 0 ? i : start(t, i);
}

static int __init hostile_init(void)
{
	int ret = ikc_queue_open(SHIMOS_VIRTIO_USER, 64, &ops, NULL);

	BUILD_BUG_ON(DATA_END > PAGE_SIZE << ORDER);
	if (!ret)
		proc_create("hostile", 0600, NULL, &command_proc_ops);
	return ret;
}

/* The devices' memory is not given back: an owner that can be fooled may still write. */
static void __exit hostile_exit(void)
{
	remove_proc_entry("hostile", NULL);
	ikc_queue_close(SHIMOS_VIRTIO_USER);
	cancel_work_sync(&hear_work);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("SHIMOS tests: a user of shared devices that lies");
MODULE_LICENSE("GPL");
