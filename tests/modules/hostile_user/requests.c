// SPDX-License-Identifier: GPL-2.0
/* Single requests: right in every way, or wrong in one. */
#include <linux/delay.h>
#include <linux/mm.h>

#include "hostile.h"

/* ---- rings ---- */

struct vring_desc *desc_of(struct target *t, unsigned int q)
{
	return (void *)t->mem + RINGS + q * RING_BYTES;
}

struct vring_avail *avail_of(struct target *t, unsigned int q)
{
	return (void *)desc_of(t, q) + AVAIL;
}

struct vring_used *used_of(struct target *t, unsigned int q)
{
	return (void *)desc_of(t, q) + USED;
}

void set(struct vring_desc *d, u64 addr, u32 len, u16 flags, u16 next)
{
	WRITE_ONCE(d->addr, addr);
	WRITE_ONCE(d->len, len);
	WRITE_ONCE(d->flags, flags);
	WRITE_ONCE(d->next, next);
}

void kick(struct target *t, unsigned int q)
{
	struct shimos_virtio_state *s = (void *)t->mem;

	atomic64_or(BIT_ULL(q), (atomic64_t *)&s->kicks);
	ikc_ring(OWNER, SHIMOS_VIRTIO_KICK + shimos_virtio_bell(t->desc.type, q));
}

void make_available(struct target *t, unsigned int q, u16 head, u16 step)
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
void build(struct target *t, unsigned int q)
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

int good(struct target *t)
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

void type_is(struct target *t, u32 type, u64 sector)
{
	struct virtio_blk_outhdr *header = (void *)t->mem + HEADER;

	header->type = type;
	header->sector = sector;
}

u64 capacity(struct target *t)
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

int attack(struct target *t, const char *what)
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
