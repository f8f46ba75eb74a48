// SPDX-License-Identifier: GPL-2.0
/* Blocks that are sent from kernel to kernel, one caller at a time. */
#include "test.h"

/* Kernel 1, its next life, 2 and the last one. */
static struct ikc_heap one, next, two, last;
static struct ikc_chunk *chunk;

static void open_heap(void)
{
	chunk = make_chunk(1);
	make_heap(&one, &chunk, 1, ikc_owner(1, 1));
	make_heap(&next, &chunk, 1, ikc_owner(1, 2));
	make_heap(&two, &chunk, 1, ikc_owner(2, 9));
	make_heap(&last, &chunk, 1, ikc_owner(15, 65535));
}

/* All must have been freed; a chunk of nothing but free blocks is whole. */
static void close_heap(void)
{
	__u64 blocks, bytes;
	unsigned int i;

	ikc_heap_used(&one, &blocks, &bytes);
	CHECK(!blocks && !bytes);
	for (i = 0; i < IKC_SPANS - 1; i++)
		CHECK(ikc_heap_alloc(&one, IKC_ALLOC_MAX));
	free(chunk);
}

static __u64 send_new(struct ikc_heap *from, __u64 size, __u32 to)
{
	__u64 block = ikc_heap_alloc(from, size);

	CHECK(block && ikc_heap_send(from, block, to) == 0);
	return block;
}

static void test_names(void)
{
	CHECK(ikc_in_flight(ikc_owner(1, 1), 2) == 0x1210a);
	CHECK(ikc_in_flight(ikc_owner(0, 1), 0) == 0x1000a);
	CHECK(ikc_in_flight(ikc_owner(15, 65535), 15) == 0xffffff0a);
}

/* Who may accept it, and how often; neither side may use it on its way. */
static void test_accept(void)
{
	__u64 block;

	open_heap();
	block = send_new(&one, 256, 2);
	CHECK(ikc_heap_owner(&one, block) == ikc_in_flight(one.owner, 2));
	CHECK(ikc_heap_size(&two, block) == 256);
	CHECK(ikc_heap_free(&one, block) == -EPERM);
	CHECK(ikc_heap_free(&two, block) == -EPERM);
	CHECK(ikc_heap_send(&one, block, 2) == -EPERM);
	CHECK(ikc_heap_send(&one, block, 3) == -EPERM);

	CHECK(!ikc_heap_accept(&two, block, 256, next.owner));	/* wrong sender */
	CHECK(!ikc_heap_accept(&two, block, 256, last.owner));
	CHECK(!ikc_heap_accept(&two, block, 256, two.owner));
	CHECK(!ikc_heap_accept(&last, block, 256, one.owner));	/* wrong receiver */
	CHECK(!ikc_heap_accept(&one, block, 256, one.owner));
	CHECK(!ikc_heap_accept(&two, block, 257, one.owner));	/* wrong size */
	CHECK(!ikc_heap_accept(&two, block, ~0ULL, one.owner));
	CHECK(!ikc_heap_accept(&two, block + 1, 1, one.owner));	/* wrong place */
	CHECK(!ikc_heap_accept(&two, block + 256, 1, one.owner));
	CHECK(!ikc_heap_accept(&two, 0, 0, one.owner));
	CHECK(!ikc_heap_accept(&two, ~0ULL, 0, one.owner));

	CHECK(ikc_heap_accept(&two, block, 255, one.owner));
	CHECK(ikc_heap_owner(&one, block) == two.owner);
	CHECK(!ikc_heap_accept(&two, block, 256, one.owner));	/* twice */
	CHECK(ikc_heap_unsend(&one, block, 2) == -EPERM);
	CHECK(ikc_heap_free(&one, block) == -EPERM);
	CHECK(ikc_heap_free(&two, block) == 0);
	CHECK(!ikc_heap_accept(&two, block, 256, one.owner));
	close_heap();
}

static void test_send(void)
{
	__u64 block;

	open_heap();
	block = ikc_heap_alloc(&one, 5000);
	CHECK(ikc_heap_send(&two, block, 1) == -EPERM);
	CHECK(ikc_heap_send(&next, block, 2) == -EPERM);
	CHECK(ikc_heap_send(&one, block + 256, 2) == -EFAULT);
	CHECK(ikc_heap_send(&one, ~0ULL, 2) == -EFAULT);
	CHECK(!ikc_heap_accept(&two, block, 1, one.owner));	/* not sent */
	CHECK(ikc_heap_unsend(&one, block, 2) == -EPERM);

	CHECK(ikc_heap_send(&one, block, 2) == 0);
	CHECK(ikc_heap_unsend(&one, block, 3) == -EPERM);
	CHECK(ikc_heap_unsend(&two, block, 2) == -EPERM);
	CHECK(ikc_heap_unsend(&next, block, 2) == -EPERM);
	CHECK(ikc_heap_unsend(&one, block + 1, 2) == -EFAULT);
	CHECK(ikc_heap_unsend(&one, block, 2) == 0);
	CHECK(ikc_heap_owner(&one, block) == one.owner);
	CHECK(ikc_heap_unsend(&one, block, 2) == -EPERM);
	CHECK(!ikc_heap_accept(&two, block, 1, one.owner));
	CHECK(ikc_heap_free(&one, block) == 0);
	CHECK(ikc_heap_send(&one, block, 2) == -EALREADY);
	CHECK(ikc_heap_unsend(&one, block, 2) == -EALREADY);

	/* the lowest and the highest number */
	block = send_new(&last, IKC_ALLOC_MAX, 15);
	CHECK(ikc_heap_accept(&last, block, IKC_ALLOC_MAX, last.owner));
	CHECK(ikc_heap_send(&last, block, 0) == 0);
	CHECK(ikc_heap_unsend(&last, block, 15) == -EPERM);
	CHECK(ikc_heap_unsend(&last, block, 0) == 0);
	CHECK(ikc_heap_free(&last, block) == 0);
	close_heap();
}

/* The sender dies: what it has and what it had on its way goes, to whomever. */
static void test_reclaim(void)
{
	__u64 kept, accepted, unread, other, i;

	open_heap();
	kept = ikc_heap_alloc(&one, 256);
	accepted = send_new(&one, 256, 2);
	unread = send_new(&one, 256, 2);
	other = send_new(&next, 256, 2);
	for (i = 0; i < 16; i++)
		send_new(&one, 256 << i % 9, i);
	CHECK(ikc_heap_accept(&two, accepted, 256, one.owner));
	CHECK(ikc_heap_reclaim(&two, last.owner) == 0);
	CHECK(ikc_heap_reclaim(&two, one.owner) == 18);
	CHECK(ikc_heap_reclaim(&two, one.owner) == 0);
	CHECK(ikc_heap_free(&one, kept) == -EALREADY);
	CHECK(!ikc_heap_accept(&two, unread, 256, one.owner));
	CHECK(ikc_heap_accept(&two, other, 256, next.owner));
	CHECK(ikc_heap_free(&two, other) == 0);
	CHECK(ikc_heap_free(&two, accepted) == 0);
	close_heap();
}

/* The receiver dies: what others had on its way to it is for them to recall. */
static void test_recall(void)
{
	__u64 mine, accepted, to_other, of_other, of_next, i;

	open_heap();
	mine = ikc_heap_alloc(&one, 256);
	accepted = send_new(&one, 256, 2);
	CHECK(ikc_heap_accept(&two, accepted, 256, one.owner));
	for (i = 0; i < 20; i++)
		send_new(&one, 256 << i % 9, 2);
	to_other = send_new(&one, 256, 15);
	of_other = send_new(&last, 256, 2);
	of_next = send_new(&next, 256, 2);
	CHECK(ikc_heap_reclaim(&one, two.owner) == 1);
	CHECK(ikc_heap_recall(&one, 3) == 0);
	CHECK(ikc_heap_recall(&one, 2) == 20);
	CHECK(ikc_heap_recall(&one, 2) == 0);
	CHECK(ikc_heap_owner(&one, mine) == one.owner);
	CHECK(ikc_heap_owner(&one, of_other) == ikc_in_flight(last.owner, 2));
	CHECK(ikc_heap_owner(&one, of_next) == ikc_in_flight(next.owner, 2));
	CHECK(ikc_heap_accept(&last, to_other, 256, one.owner));
	CHECK(ikc_heap_free(&last, to_other) == 0);
	CHECK(ikc_heap_recall(&last, 2) == 1);
	CHECK(ikc_heap_recall(&next, 2) == 1);
	CHECK(ikc_heap_unsend(&last, of_other, 2) == -EALREADY);
	CHECK(ikc_heap_free(&one, mine) == 0);
	close_heap();
}

/* What is recalled or reclaimed is found at once, also when nothing else is left. */
static void test_found_again(void)
{
	const unsigned int all = (IKC_SPANS - 1) * (IKC_SPAN_BLOCKS >> 2);
	unsigned int i;

	open_heap();
	for (i = 0; i < all; i++)
		send_new(&one, 1024, i % 2 ? 2 : 15);
	CHECK(!ikc_heap_alloc(&one, 1024));
	CHECK(ikc_heap_recall(&one, 2) == all / 2);
	for (i = 0; i < all / 2; i++)
		CHECK(ikc_heap_alloc(&two, 1024));
	CHECK(!ikc_heap_alloc(&two, 1));
	CHECK(ikc_heap_reclaim(&last, one.owner) == all / 2);
	CHECK(ikc_heap_reclaim(&last, two.owner) == all / 2);
	close_heap();
}

void test_handover(void)
{
	test_names();
	test_accept();
	test_send();
	test_reclaim();
	test_recall();
	test_found_again();
}
