// SPDX-License-Identifier: GPL-2.0
/* The user's memory, and a driver of a split ring, after virtio 1.2, section 2.7. */
#include "test.h"

__thread struct watch watch;

/* ---- memory ---- */

u64 memory_add(struct user_memory *m, u64 start, u64 size)
{
	if (m->pieces == PIECES)
		abort();
	m->piece[m->pieces++] = (struct piece){ start, size, exact_alloc(size) };
	return start;
}

void memory_free(struct user_memory *m)
{
	while (m->pieces)
		free(m->piece[--m->pieces].data);
}

bool memory_has(const struct user_memory *m, const void *data, u64 len)
{
	const struct piece *p;
	unsigned int i;

	for (i = 0; i < m->pieces; i++) {
		p = &m->piece[i];
		if ((char *)data >= p->data && (char *)data < p->data + p->size)
			return len <= p->size - ((char *)data - p->data);
	}
	return false;
}

void *user_memory_at(const struct user_memory *m, u64 addr, u64 len)
{
	const struct piece *p;
	unsigned int i;

	for (i = 0; i < m->pieces; i++) {
		p = &m->piece[i];
		if (len && addr >= p->start && addr - p->start < p->size)
			return len <= p->size - (addr - p->start) ? p->data + (addr - p->start) :
								    NULL;
	}
	return NULL;
}

/* ---- driver ---- */

/* Of the driver that was opened last: recover.c is that kernel's own. */
static const struct user_memory *own_memory;

void *phys_to_virt(u64 addr)
{
	return user_memory_at(own_memory, addr, 1);
}

void driver_open(struct driver *d, u32 size, u64 features, u16 position)
{
	unsigned int i;

	memset(d, 0, sizeof(*d));
	own_memory = &d->memory;
	d->size = size;
	d->features = features;
	d->queue.size = size;
	d->queue.desc = memory_add(&d->memory, 0x100000000ULL, 16 * size);
	d->queue.avail = memory_add(&d->memory, 0x100100000ULL, 6 + 2 * size);
	d->queue.used = memory_add(&d->memory, 0x100200000ULL, 6 + 8 * size);
	d->state_addr = memory_add(&d->memory, 0x100300000ULL,
				   sizeof(*d->state) + sizeof(*d->book));
	d->tables = memory_add(&d->memory, 0x80000000ULL,
			       size * MAX_PARTS * sizeof(struct vring_desc));
	d->data = memory_add(&d->memory, 0x40000000ULL, DATA_BYTES);
	d->desc = user_memory_at(&d->memory, d->queue.desc, 1);
	d->avail = user_memory_at(&d->memory, d->queue.avail, 1);
	d->used = user_memory_at(&d->memory, d->queue.used, 1);
	d->state = user_memory_at(&d->memory, d->state_addr, 1);
	d->book = &d->state->ring[0];
	d->made = d->told = d->seen = position;
	d->avail->idx = d->used->idx = d->book->next = position;
	d->free = size;
	for (i = 0; i < size; i++)
		d->is_free[i] = true;
}

void driver_close(struct driver *d)
{
	memory_free(&d->memory);
}

void driver_attach(struct driver *d, struct vqueue *v, u16 position)
{
	MUST(!vqueue_open(v, &d->memory, &d->queue, d->book, d->features));
	v->taken = v->completed = v->called = position;
}

static u16 take_free(struct driver *d)
{
	u16 i = random_below(d->size);

	while (!d->is_free[i])
		i = (i + 1) % d->size;
	d->is_free[i] = false;
	d->free--;
	return i;
}

/* The last is one byte, like a disk's status, at a place of its own for each head. */
static struct part random_part(struct driver *d, u16 head, bool last)
{
	struct part part = { .addr = d->data + head, .len = 1 };

	if (!last) {
		part.len = 1 + random_below(LONGEST);
		part.addr = d->data + SHIMOS_VIRTIO_RING +
			    random_below(DATA_BYTES - SHIMOS_VIRTIO_RING - part.len + 1);
	}
	return part;
}

int driver_add(struct driver *d, unsigned int out, unsigned int in, bool indirect)
{
	unsigned int parts = out + in, i;
	struct vring_desc *table = d->desc;
	u16 at, head, next = 0;
	struct request *r;

	if (d->free < (indirect ? 1 : parts))
		return -1;
	head = take_free(d);
	r = &d->request[head];
	MUST(!r->outstanding);
	*r = (struct request){ true, indirect, out, in, indirect ? 1 : parts };
	if (indirect) {
		d->desc[head].addr = d->tables + (u64)head * MAX_PARTS * sizeof(*table);
		d->desc[head].len = parts * sizeof(*table);
		d->desc[head].flags = VRING_DESC_F_INDIRECT;
		d->desc[head].next = random_u64();	/* ignored */
		table = user_memory_at(&d->memory, d->desc[head].addr, d->desc[head].len);
	}
	at = indirect ? 0 : head;
	for (i = 0; i < parts; i++) {
		r->part[i] = random_part(d, head, i + 1 == parts);
		table[at].addr = r->part[i].addr;
		table[at].len = r->part[i].len;
		table[at].flags = i >= out ? VRING_DESC_F_WRITE : 0;
		if (i + 1 == parts)
			break;
		next = indirect ? i + 1 : take_free(d);
		table[at].flags |= VRING_DESC_F_NEXT;
		table[at].next = next;
		at = next;
	}
	d->avail->ring[d->made % d->size] = head;
	d->avail->idx = ++d->made;
	d->outstanding++;
	return head;
}

bool driver_must_kick(struct driver *d)
{
	u16 told = d->told, event;

	d->told = d->made;
	if (!(d->features & FEATURE_EVENT))
		return !(d->used->flags & VRING_USED_F_NO_NOTIFY);
	memcpy(&event, &d->used->ring[d->size], sizeof(event));
	/* was the position that it wants to hear of among those made since? */
	return (u16)(event - told) < (u16)(d->made - told);
}

static void put_free(struct driver *d, u16 head)
{
	struct request *r = &d->request[head];
	unsigned int i;

	for (i = 0; i < r->descs; i++) {
		MUST(!d->is_free[head]);
		d->is_free[head] = true;
		d->free++;
		head = d->desc[head].next;
	}
}

int driver_get(struct driver *d, u32 *written)
{
	struct vring_used_elem *elem = &d->used->ring[d->seen % d->size];

	if (d->seen == d->used->idx)
		return -1;
	d->seen++;
	MUST(elem->id < d->size);
	MUST(d->request[elem->id].outstanding);
	d->request[elem->id].outstanding = false;
	d->outstanding--;
	put_free(d, elem->id);
	*written = elem->len;
	return elem->id;
}

bool driver_wait(struct driver *d)
{
	d->avail->flags = 0;
	d->avail->ring[d->size] = d->seen;
	return d->seen != d->used->idx;
}

void driver_poll(struct driver *d)
{
	if (!(d->features & FEATURE_EVENT))
		d->avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
}
