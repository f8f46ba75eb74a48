// SPDX-License-Identifier: GPL-2.0
/*
 * The allocator over metadata in which anything may stand: it must stay inside
 * (ASan watches the end), return, and name only blocks that lie in a chunk.
 * First between the calls, then by another thread during them.
 */
#include "test.h"

#define STEPS		200000
#define STEPS_BESIDE	100000
#define CHUNKS		2
#define OFFSETS		64
#define OWNERS		3

static struct ikc_chunk *chunk[CHUNKS];
static struct ikc_heap heap[OWNERS];
static __u64 offsets[OFFSETS];

/* Words that mean something to the allocator, in places where they do not. */
static __u32 spiteful(void)
{
	switch (random_below(8)) {
	case 0:
		return random_u64();
	case 1:
		return ~0U;
	case 2:
		return random_below(16) << 4 | random_below(4);
	case 3:
		return ikc_owner(1 + random_below(OWNERS), 1) | random_below(16) << 4;
	case 4:
		return ikc_owner(1 + random_below(OWNERS), 1) |
		       (random_below(2) ? ikc_in_flight(0, random_below(16)) : 0);
	case 5:
		return 1U << random_below(32);
	default:
		return random_below(2);
	}
}

static void open_heap(void)
{
	unsigned int i;

	for (i = 0; i < CHUNKS; i++) {
		free(chunk[i]);
		chunk[i] = make_chunk(random_below(IKC_SPANS + 1));
	}
	for (i = 0; i < OWNERS; i++)
		make_heap(&heap[i], chunk, CHUNKS, ikc_owner(i + 1, 1));
}

/* Most of the chunk are tags, most of what matters is elsewhere. */
static void spoil(void)
{
	struct ikc_chunk *at = chunk[random_below(CHUNKS)];

	switch (random_below(6)) {
	case 0:
		at->span[random_below(IKC_SPANS)] = spiteful();
		break;
	case 1:
		at->blocks[random_below(IKC_SPANS)][random_below(4)] =
			(__u64)spiteful() << 32 | spiteful();
		break;
	case 2:
		at->partial[random_below(IKC_CLASSES)] = spiteful();
		break;
	case 3:
		at->free_spans = spiteful();
		break;
	case 4:
		at->tag[random_below(IKC_SPANS)][random_below(4)] = spiteful();
		break;
	default:
		((__u32 *)at)[random_below(sizeof(*at) / 4)] = spiteful();
	}
}

static __u64 some_offset(void)
{
	switch (random_below(8)) {
	case 0:
		return random_u64();
	case 1:
		return random_u64() % ((CHUNKS + 1ULL) * IKC_CHUNK_SIZE);
	case 2:
		return (__u64)random_below(CHUNKS * IKC_SPANS) << IKC_SPAN_SHIFT;
	default:
		return offsets[random_below(OFFSETS)];
	}
}

static void allocate(struct ikc_heap *h)
{
	__u64 size = 1 + random_below(256U << random_below(9)), block, offset;

	if (!random_below(50))
		size = random_u64();
	offset = ikc_heap_alloc(h, size);
	if (!offset)
		return;
	for (block = 256; block < size; block *= 2)
		;
	MUST(size <= IKC_ALLOC_MAX);
	MUST(offset < (__u64)CHUNKS * IKC_CHUNK_SIZE);
	MUST(offset % block == 0);
	MUST(offset % IKC_SPAN_SIZE + block <= IKC_SPAN_SIZE);
	offsets[random_below(OFFSETS)] = offset;
}

static void hand_over(struct ikc_heap *h)
{
	__u32 sender = heap[random_below(OWNERS)].owner;
	__u64 size = random_below(2 * IKC_ALLOC_MAX);
	int ret;

	ret = ikc_heap_send(h, some_offset(), random_below(OWNERS + 1));
	MUST(!ret || ret == -EFAULT || ret == -EALREADY || ret == -EPERM);
	ret = ikc_heap_unsend(h, some_offset(), random_below(OWNERS + 1));
	MUST(!ret || ret == -EFAULT || ret == -EALREADY || ret == -EPERM);
	if (ikc_heap_accept(h, some_offset(), size, sender))
		MUST(size <= IKC_ALLOC_MAX);
}

static void step(bool seldom)
{
	struct ikc_heap *h = &heap[random_below(OWNERS)];
	__u64 blocks, bytes;
	int ret;

	switch (random_below(8)) {
	case 0:
	case 1:
	case 2:
		allocate(h);
		break;
	case 3:
	case 4:
		ret = ikc_heap_free(h, some_offset());
		MUST(!ret || ret == -EFAULT || ret == -EALREADY || ret == -EPERM);
		break;
	case 5:
		hand_over(h);
		break;
	case 6:
		MUST(ikc_heap_size(h, some_offset()) <= IKC_ALLOC_MAX);
		ikc_heap_owner(h, some_offset());
		break;
	default:
		if (seldom)	/* they look at everything */
			break;
		MUST(ikc_heap_reclaim(h, heap[random_below(OWNERS)].owner) <=
		     CHUNKS * IKC_SPANS * IKC_SPAN_BLOCKS);
		MUST(ikc_heap_recall(h, random_below(16)) <=
		     CHUNKS * IKC_SPANS * IKC_SPAN_BLOCKS);
		ikc_heap_used(h, &blocks, &bytes);
		MUST(blocks <= CHUNKS * IKC_SPANS * IKC_SPAN_BLOCKS);
		MUST(bytes <= (__u64)CHUNKS * IKC_CHUNK_SIZE);
	}
}

static void beside(__u64 seed)
{
	struct vandal v = { .value = spiteful, .seed = seed + 1 };
	unsigned int i, j;

	for (i = 0; i < STEPS_BESIDE / 2000; i++) {
		open_heap();
		v.words = (__u32 *)chunk[i % CHUNKS];
		v.count = sizeof(*chunk[0]) / 4;
		vandal_start(&v);
		for (j = 0; j < 2000; j++)
			step(j % 50);
		vandal_stop(&v);
		v.seed += 2;
	}
}

void fuzz_heap(__u64 seed)
{
	unsigned int i, n;

	random_seed(seed);
	for (i = 0; i < STEPS; i++) {
		if (i % 2000 == 0)
			open_heap();
		for (n = random_below(4); n; n--)
			spoil();
		step(i % 50);
	}
	beside(seed);
	for (i = 0; i < CHUNKS; i++) {
		free(chunk[i]);
		chunk[i] = NULL;
	}
	CHECK(true);
}
