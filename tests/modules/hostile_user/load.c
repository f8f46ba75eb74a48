// SPDX-License-Identifier: GPL-2.0
/* Many requests and packets, at random or without end; what comes of them is counted. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/virtio_ids.h>

#include "hostile.h"

#define LONG		8		/* pieces of data in a long request */

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
	/* a queue has one direction, and a request nothing but data */
	bool packets = t->desc.type == VIRTIO_ID_NET || t->desc.type == VIRTIO_ID_VSOCK, out;

	d += head;
	type_is(t, types[below(&rnd, ARRAY_SIZE(types))], 8 * below(&rnd, capacity(t) / 8 + 1));
	out = t->desc.type == 2 ? below(&rnd, 2) : q % 2;
	set(&d[0], t->phys + HEADER, t->desc.type == 2 ? 16 : 12 + below(&rnd, 200),
	    VRING_DESC_F_NEXT | (packets && !out ? VRING_DESC_F_WRITE : 0), head + 1);
	set(&d[1], t->phys + PAYLOAD + 512 * below(&rnd, 256),
	    below(&rnd, 8) ? 512 * (1 + below(&rnd, 32)) : 16,
	    VRING_DESC_F_NEXT | (out ? 0 : VRING_DESC_F_WRITE), head + 2);
	set(&d[2], t->phys + STATUS, 1, packets && out ? 0 : VRING_DESC_F_WRITE, 0);
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
int fuzz(struct target *t, unsigned int seconds, u64 seed)
{
	unsigned long until = jiffies + seconds * HZ, moved = jiffies;
	/* a program begins when its kernel has told it so */
	unsigned long patience = t->desc.type <= VIRTIO_ID_BLOCK ? 3 : HZ / 4;
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
		if (time_after(jiffies, moved + patience)) {
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
int endless(struct target *t, unsigned int seconds, u32 type)
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

int storm(struct target *t, unsigned int count)
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

int random_packets(unsigned int count, u64 seed)
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
