// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of a user that writes anything: what vqueue_pop() returns lies in the user's
 * memory, and is what a second reader of the standard found.  First with memory that
 * keeps still; then memory that changes after each look at it; then another thread.
 */
#include "test.h"

#define SIZE		16
#define STEPS		200000
#define STEPS_BESIDE	200000
#define RENEW		100		/* steps until all begins anew */

static struct driver d;
static struct vqueue v;
static struct vqueue_chain chain;
static struct vring_desc *table;
static u32 entries;
static u64 took, refused;

/* ---- what a hostile user writes ---- */

static u64 spiteful_addr(void)
{
	const struct piece *p = &d.memory.piece[random_below(d.memory.pieces)];

	switch (random_below(16)) {
	case 0:
		return random_u64();
	case 1:
		return ~0ULL - random_below(32);
	case 2:
		return p->start + p->size - random_below(64);
	case 3:
		return p->start + p->size + random_below(2);
	case 4:
		return p->start - random_below(64);
	case 5:
		return p->start + random_below(p->size);
	case 6:
		return d.tables + 16 * random_below(entries);
	default:
		return d.data + random_below(DATA_BYTES / 2);
	}
}

static u32 spiteful_len(void)
{
	switch (random_below(12)) {
	case 0:
		return random_u64();
	case 1:
		return 0;
	case 2:
		return ~0U - random_below(32);
	case 3:
		return DATA_BYTES - random_below(64);
	case 4:
		return 16 * (VQUEUE_SEGMENTS + random_below(3));
	case 5:
	case 6:
		return 16 * random_below(20);
	default:
		return 1 + random_below(DATA_BYTES / 2);
	}
}

static u16 spiteful_flags(void)
{
	return random_below(32) ? random_below(8) : random_u64();
}

static u16 spiteful_next(void)
{
	return random_below(16) ? random_below(SIZE) : random_below(8) ? SIZE + random_below(3) - 1 :
	       random_u64();
}

#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

static void spoil_descriptor(void)
{
	struct vring_desc *at = random_below(2) ? &d.desc[random_below(SIZE)] :
						  &table[random_below(entries)];

	switch (random_below(4)) {
	case 0:
		PUT(at->addr, spiteful_addr());
		break;
	case 1:
		PUT(at->len, spiteful_len());
		break;
	case 2:
		PUT(at->flags, spiteful_flags());
		break;
	default:
		PUT(at->next, spiteful_next());
	}
}

static void spoil(void)
{
	switch (random_below(24)) {
	case 0:
		PUT(d.avail->idx, v.taken + (random_below(8) ? random_below(SIZE + 2) : random_u64()));
		break;
	case 1:
		PUT(d.avail->ring[random_below(SIZE + 1)], spiteful_next());
		break;
	case 2:
		PUT(d.avail->flags, random_u64());
		break;
	case 3:		/* what the device wrote itself: it must not believe it */
		PUT(((u16 *)d.used)[random_below(3 + 4 * SIZE)], random_u64());
		break;
	case 4:
		PUT(((u8 *)d.book)[random_below(sizeof(*d.book))], random_u64());
		break;
	default:
		spoil_descriptor();
	}
}

static struct vring_desc chained(u64 addr, bool last, u16 next)
{
	return (struct vring_desc){ addr, 1, last ? 0 : VRING_DESC_F_NEXT, next };
}

/* Chains and tables as they should be. */
static void repair(void)
{
	unsigned int i;

	for (i = 0; i < entries; i++)
		table[i] = chained(d.data + i, i % 8 == 7, i % 8 + 1);
	for (i = 0; i < SIZE; i++) {
		d.desc[i] = chained(d.data + i, i % 4 == 3, i + 1);
		if (i % 8 == 7)
			d.desc[i] = (struct vring_desc){ d.tables + 128 * (i / 8), 128,
							 VRING_DESC_F_INDIRECT };
		d.avail->ring[i] = random_below(SIZE);
	}
	PUT(d.avail->idx, v.taken + SIZE);
}

static void renew(u64 features)
{
	u16 position = random_u64();

	driver_close(&d);
	driver_open(&d, SIZE, features, position);
	driver_attach(&d, &v, position);
	entries = SIZE * MAX_PARTS;
	table = user_memory_at(&d.memory, d.tables, 1);
	repair();
}

/* ---- the second reader ---- */

static char *find(u64 addr, u64 len)
{
	unsigned int i;

	for (i = 0; i < d.memory.pieces && len; i++) {
		struct piece *p = &d.memory.piece[i];

		if (addr >= p->start &&
		    (unsigned __int128)addr + len <= (unsigned __int128)p->start + p->size)
			return p->data + (addr - p->start);
	}
	return NULL;
}

static bool expect_chain(struct vqueue_chain *want)
{
	const struct vring_desc *e = &d.desc[want->head];
	const char *list = (char *)d.desc;
	u32 n = SIZE, parts;

	if (e->flags & VRING_DESC_F_INDIRECT) {
		list = find(e->addr, e->len);
		n = e->len / 16;
		if (!list || !v.indirect || e->flags & VRING_DESC_F_NEXT || e->len % 16 ||
		    n > VQUEUE_SEGMENTS || e->addr & 7)
			return false;
		e = (struct vring_desc *)list;
	}
	for (parts = 0; parts < VQUEUE_SEGMENTS; parts++) {
		struct vring_desc now;

		memcpy(&now, e, sizeof(now));
		want->seg[parts].data = find(now.addr, now.len);
		want->seg[parts].len = now.len;
		if (!want->seg[parts].data || now.flags & VRING_DESC_F_INDIRECT)
			return false;
		if (now.flags & VRING_DESC_F_WRITE)
			want->in++;
		else if (want->in)
			return false;
		else
			want->out++;
		if (!(now.flags & VRING_DESC_F_NEXT))
			return true;
		if (now.next >= n)
			return false;
		e = (struct vring_desc *)(list + 16 * now.next);
	}
	return false;
}

static int expect(struct vqueue_chain *want)
{
	u16 waiting = d.avail->idx - v.taken;

	memset(want, 0, sizeof(*want));
	if (!waiting)
		return 0;
	want->head = d.avail->ring[v.taken % SIZE];
	return waiting <= SIZE && want->head < SIZE && expect_chain(want) ? 1 : -EBADMSG;
}

static void check_same(const struct vqueue_chain *want)
{
	unsigned int i;

	MUST(chain.head == want->head && chain.out == want->out && chain.in == want->in);
	for (i = 0; i < chain.out + chain.in; i++)
		MUST(chain.seg[i].data == want->seg[i].data &&
		     chain.seg[i].len == want->seg[i].len);
}

/* ---- the device ---- */

static void check_inside(void)
{
	unsigned int i, parts = chain.out + chain.in;

	MUST(parts && parts <= VQUEUE_SEGMENTS && chain.head < SIZE);
	for (i = 0; i < parts; i++)
		MUST(chain.seg[i].len && memory_has(&d.memory, chain.seg[i].data, chain.seg[i].len));
}

static int take(void)
{
	u16 before = v.taken;
	int ret = vqueue_pop(&v, &chain);

	MUST(ret == 1 || ret == 0 || ret == -EBADMSG);
	MUST(v.taken == (u16)(before + (ret == 1)));
	MUST((ret == -EBADMSG) == v.broken && v.problem);
	took += ret == 1;
	refused += v.broken;
	if (ret == 1)
		check_inside();
	return ret;
}

static void go_on(void)
{
	switch (random_below(4)) {
	case 0:
		complete_one(&v, random_below(SIZE), random_u64());
		break;
	case 1:
		vqueue_must_notify(&v);
		break;
	case 2:
		MUST(vqueue_enable_notify(&v) || !v.broken);
		break;
	default:
		vqueue_disable_notify(&v);
	}
}

static u64 some_features(void)
{
	return (random_below(8) ? FEATURE_INDIRECT : 0) | (random_below(2) ? FEATURE_EVENT : 0);
}

static void begin(u64 seed)
{
	random_seed(seed);
	took = refused = 0;
}

static void end(const char *what)
{
	driver_close(&d);
	printf("%s: %llu taken, %llu refused\n", what, (__u64)took, (__u64)refused);
	CHECK(took > 1000 && refused > 1000);
}

void fuzz_chains(u64 seed)
{
	struct vqueue_chain want;
	unsigned int i, n;
	int wanted;

	begin(seed);
	for (i = 0; i < STEPS; i++) {
		if (i % RENEW == 0 || v.broken)
			renew(some_features());
		for (n = random_below(4); n; n--)
			spoil();
		wanted = expect(&want);
		MUST(take() == wanted);
		if (wanted == 1)
			check_same(&want);
		go_on();
	}
	end("keeps still");
}

/* ---- memory that changes during a call ---- */

static void change(const volatile void *at, size_t size)
{
	if (!memory_has(&d.memory, (void *)at, size) || random_below(4))
		return;
	if (size == 8)
		*(u64 *)at = spiteful_addr();
	else if (size == 4)
		*(u32 *)at = spiteful_len();
	else
		*(u16 *)at = random_below(2) ? spiteful_flags() : spiteful_next();
	spoil();
}

void fuzz_during(u64 seed)
{
	unsigned int i;

	begin(seed);
	for (i = 0; i < STEPS; i++) {
		if (i % RENEW == 0 || v.broken)
			renew(some_features());
		if (!random_below(4))
			spoil();
		watch.loaded = change;
		take();
		go_on();
		watch.loaded = NULL;
	}
	end("changes");
}

static u32 beside(void)
{
	unsigned int i;

	for (i = random_below(200); i; i--)	/* the device gets somewhere meanwhile */
		__builtin_ia32_pause();
	spoil();
	return random_below(2) ? spiteful_len() : 1U << 16 | VRING_DESC_F_NEXT;
}

void fuzz_beside(u64 seed)
{
	struct vandal vandal = { .value = beside, .seed = seed };
	unsigned int i;

	begin(seed);
	for (i = 0; i < STEPS_BESIDE; i++) {
		if (i % 4000 == 0) {
			if (i)
				vandal_stop(&vandal);
			renew(some_features());
			vandal.words = (u32 *)d.desc;
			vandal.count = SIZE * 4;
			vandal.seed++;
			vandal_start(&vandal);
		}
		take();
		go_on();
		if (!v.broken && random_below(RENEW))
			continue;
		v.broken = false;	/* over the same memory */
		repair();
	}
	vandal_stop(&vandal);
	end("changed beside");
}
