// SPDX-License-Identifier: GPL-2.0
/* The allocator, one caller at a time. */
#include "test.h"

#define CHUNKS	3
#define SPANS	(CHUNKS * (IKC_SPANS - 1))
#define MAX	(SPANS * IKC_SPAN_BLOCKS)

static struct ikc_chunk *chunk[CHUNKS];
static struct ikc_heap one, two;
static __u64 got[MAX];

static void open_heap(unsigned int chunks)
{
	unsigned int i;

	for (i = 0; i < CHUNKS; i++)
		chunk[i] = make_chunk(1);
	make_heap(&one, chunk, CHUNKS, ikc_owner(1, 1));
	make_heap(&two, chunk, CHUNKS, ikc_owner(2, 9));
	one.chunks = two.chunks = chunks;
}

static void close_heap(void)
{
	unsigned int i;

	for (i = 0; i < CHUNKS; i++)
		free(chunk[i]);
}

static __u64 used(__u64 *bytes)
{
	__u64 blocks;

	ikc_heap_used(&one, &blocks, bytes);
	return blocks;
}

static unsigned int alloc_all(struct ikc_heap *heap, __u64 size)
{
	unsigned int n;

	for (n = 0; n < MAX && (got[n] = ikc_heap_alloc(heap, size)); n++)
		;
	return n;
}

static bool free_all(struct ikc_heap *heap, unsigned int n)
{
	bool ok = true;

	while (n--)
		ok &= ikc_heap_free(heap, got[n]) == 0;
	return ok;
}

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Every byte of every span is allocated, once. */
static bool covers(unsigned int n, unsigned int chunks, __u64 block)
{
	__u64 at = IKC_SPAN_SIZE;
	unsigned int i;

	qsort(got, n, sizeof(got[0]), compare);
	for (i = 0; i < n; i++, at += block) {
		if (at % IKC_CHUNK_SIZE == 0)
			at += IKC_SPAN_SIZE;
		if (got[i] != at)
			return false;
	}
	return at == (__u64)chunks * IKC_CHUNK_SIZE;
}

static void test_classes(unsigned int chunks)
{
	unsigned int class, n;
	__u64 block, bytes;

	open_heap(chunks);
	for (class = 0; class < IKC_CLASSES; class++) {
		block = 1ULL << (IKC_BLOCK_SHIFT + class);
		n = alloc_all(class % 2 ? &one : &two, block);
		CHECK(n == chunks * (IKC_SPANS - 1) * (IKC_SPAN_BLOCKS >> class));
		CHECK(used(&bytes) == n && bytes == n * block);
		CHECK(covers(n, chunks, block));
		CHECK(!ikc_heap_alloc(&one, 1));
		CHECK(free_all(class % 2 ? &one : &two, n));
		CHECK(used(&bytes) == 0 && bytes == 0);
	}
	close_heap();
}

static void test_sizes(void)
{
	__u64 size, offset, block;

	open_heap(1);
	for (size = 1; size <= IKC_ALLOC_MAX; size += size < 600 ? 1 : 61) {
		for (block = 256; block < size; block *= 2)
			;
		offset = ikc_heap_alloc(&one, size);
		CHECK(offset && offset % (block < 4096 ? block : 4096) == 0);
		CHECK(ikc_heap_size(&two, offset) == block);
		CHECK(ikc_heap_owner(&two, offset) == one.owner);
		CHECK(ikc_heap_free(&one, offset) == 0);
	}
	CHECK(!ikc_heap_alloc(&one, 0));
	CHECK(!ikc_heap_alloc(&one, IKC_ALLOC_MAX + 1));
	CHECK(!ikc_heap_alloc(&one, ~0ULL));
	CHECK(!ikc_heap_alloc(&one, 1ULL << 32));
	close_heap();
}

static void test_errors(void)
{
	__u64 block, other, i;

	open_heap(1);
	block = ikc_heap_alloc(&one, 1000);
	other = ikc_heap_alloc(&two, 4096);
	CHECK(block && other);
	CHECK(ikc_heap_owner(&one, block) == one.owner);
	CHECK(ikc_heap_owner(&one, other) == two.owner);

	CHECK(ikc_heap_free(&two, block) == -EPERM);
	for (i = 1; i < 1024; i++)
		CHECK(ikc_heap_free(&one, block + i) == -EFAULT);
	CHECK(!ikc_heap_owner(&one, block + 256) && !ikc_heap_size(&one, block + 256));
	CHECK(ikc_heap_free(&one, block + 1024) == -EALREADY);	/* never given */
	CHECK(ikc_heap_free(&one, 0) == -EFAULT);
	CHECK(ikc_heap_free(&one, 4096) == -EFAULT);		/* reserved */
	CHECK(ikc_heap_free(&one, IKC_CHUNK_SIZE) == -EFAULT);	/* no such chunk */
	CHECK(ikc_heap_free(&one, 1ULL << 63) == -EFAULT);
	CHECK(ikc_heap_free(&one, ~0ULL) == -EFAULT);
	for (i = 1; i < IKC_SPANS; i++)
		if (i != block >> IKC_SPAN_SHIFT && i != other >> IKC_SPAN_SHIFT)
			CHECK(ikc_heap_free(&one, i << IKC_SPAN_SHIFT) == -EFAULT);
	CHECK(ikc_heap_free(&one, block) == 0);
	CHECK(ikc_heap_free(&one, block) == -EALREADY);
	CHECK(!ikc_heap_owner(&one, block) && !ikc_heap_owner(&one, 0));
	CHECK(ikc_heap_free(&two, other) == 0);
	close_heap();
}

static void test_reclaim(void)
{
	__u64 keep, bytes, i;
	unsigned int n;

	open_heap(2);
	keep = ikc_heap_alloc(&two, 300);
	for (i = 0; i < 100; i++)
		CHECK(ikc_heap_alloc(&one, 256 << i % 6));
	CHECK(ikc_heap_reclaim(&two, ikc_owner(1, 2)) == 0);	/* another life */
	CHECK(ikc_heap_reclaim(&two, one.owner) == 100);
	CHECK(ikc_heap_reclaim(&two, one.owner) == 0);
	CHECK(used(&bytes) == 1 && bytes == 512);
	CHECK(ikc_heap_owner(&two, keep) == two.owner);
	CHECK(ikc_heap_free(&two, keep) == 0);
	n = alloc_all(&one, IKC_ALLOC_MAX);
	CHECK(n == 2 * (IKC_SPANS - 1));

	/* one that had begun to cut a span, and one that had begun to undo it */
	CHECK(free_all(&one, n));
	chunk[0]->span[5] = one.owner | 3 << 4;
	chunk[0]->tag[5][0] = one.owner;
	chunk[0]->tag[5][1] = 1;
	chunk[0]->free_spans = 0;
	CHECK(ikc_heap_reclaim(&two, one.owner) == 1);
	CHECK(alloc_all(&two, IKC_ALLOC_MAX) == 2 * (IKC_SPANS - 1));
	close_heap();

	/* one that had freed a span and not said so */
	open_heap(1);
	chunk[0]->free_spans = 0;
	CHECK(!ikc_heap_alloc(&one, 1));
	CHECK(ikc_heap_reclaim(&two, one.owner) == 0);
	CHECK(alloc_all(&two, IKC_ALLOC_MAX) == IKC_SPANS - 1);
	close_heap();
}

/* What is cut for one class is cut anew for another, as soon as all is free. */
static void test_scavenge(void)
{
	unsigned int n, i, class;
	__u64 last;

	open_heap(1);
	for (i = 0; i < 50; i++) {
		class = i * 5 % IKC_CLASSES;
		n = alloc_all(&one, 1ULL << (IKC_BLOCK_SHIFT + class));
		CHECK(n == (IKC_SPANS - 1) * (IKC_SPAN_BLOCKS >> class));
		CHECK(free_all(&one, n));
	}
	n = alloc_all(&one, 256);
	last = got[--n];
	CHECK(free_all(&one, n));
	CHECK(alloc_all(&two, IKC_ALLOC_MAX) == IKC_SPANS - 2);	/* one span is in use */
	CHECK(ikc_heap_free(&one, last) == 0);
	CHECK(ikc_heap_alloc(&two, IKC_ALLOC_MAX));
	close_heap();
}

/* A chunk more is found at once. */
static void test_growth(void)
{
	__u64 offset;

	open_heap(1);
	CHECK(alloc_all(&one, IKC_ALLOC_MAX) == IKC_SPANS - 1);
	CHECK(ikc_heap_free(&one, IKC_CHUNK_SIZE + IKC_SPAN_SIZE) == -EFAULT);
	smp_store_release(&one.chunks, 2);
	offset = ikc_heap_alloc(&one, 4096);
	CHECK(offset >> IKC_CHUNK_SHIFT == 1);
	CHECK(ikc_heap_free(&one, offset) == 0);
	close_heap();
}

/* Others give from a new chunk before this kernel has learned that it may. */
static void test_growth_seen_late(void)
{
	__u64 offset;

	open_heap(1);
	two.chunks = 2;
	CHECK(alloc_all(&one, IKC_ALLOC_MAX) == IKC_SPANS - 1);
	offset = ikc_heap_alloc(&two, 4096);
	CHECK(offset >> IKC_CHUNK_SHIFT == 1);
	CHECK(ikc_heap_send(&two, offset, 1) == 0);
	CHECK(ikc_heap_accept(&one, offset, 4096, two.owner));
	CHECK(ikc_heap_free(&one, offset) == 0);
	CHECK(!ikc_heap_alloc(&one, 4096));
	/* of a chunk that it has not mapped it cannot know */
	two.mapped = two.chunks = 3;
	one.mapped = 2;
	CHECK(ikc_heap_accept(&one, 2 * IKC_CHUNK_SIZE + IKC_SPAN_SIZE, 4096, two.owner) == false);
	close_heap();
}

void test_heap(void)
{
	CHECK(sizeof(struct ikc_chunk) <= IKC_SPAN_SIZE);
	CHECK(ikc_owner(15, 65535) == 0xffff0f02);
	test_classes(1);
	test_classes(CHUNKS);
	test_sizes();
	test_errors();
	test_reclaim();
	test_scavenge();
	test_growth();
	test_growth_seen_late();
}
