// SPDX-License-Identifier: GPL-2.0
/*
 * The allocator: kernels that allocate and free blocks of different classes in
 * one span or two, so that spans are cut anew all the time; and one that stops
 * for ever at any step.  No block may be anybody else's at the same time, and in
 * the end each must be there for whoever asks.
 */
#include <string.h>
#include "world.h"
#include "heap.h"

#define FIRST_CLASS	6		/* 16 KiB: 4 blocks per span */
#define LAST_CLASS	8		/* 64 KiB: 1 */
#define BLOCKS		(1 << (LAST_CLASS - FIRST_CLASS))
#define SIZE(class)	(1ULL << (IKC_BLOCK_SHIFT + (class)))
#define SLOTS		4		/* blocks that a thread may hold */
#define SPAN_BLOCKS	1

/* Parameters of a scenario. */
#define SPANS(s)	((s)->a)
#define PREPARED(s)	((s)->b)
#define OWNERS(s)	((s)->c)	/* kernel of thread i in digit i, if not i + 1 */

enum prepared {
	FRESH,			/* nothing was ever allocated */
	CUT,			/* the last span is cut for 32 KiB, all free */
	CUT_OWNED,		/* the same, and its block 1 is kernel 1's */
	CUT_FULL,		/* both of its blocks are kernel 1's */
};

static struct ikc_chunk chunk;
static struct ikc_heap heap[MODEL_THREADS], checker;

/* What the properties are about; a block is its offset and its class. */
static struct {
	__u64 block[MODEL_THREADS][SLOTS];
	__u64 freed;		/* frees of the prepared block that succeeded */
	__u64 reclaimed;
} note;
static __u64 prepared[2];

#define BLOCK(offset, class)	((offset) | (__u64)(class) << 32)
#define OFFSET(block)		((block) & 0xffffffff)
#define CLASS(block)		((block) >> 32)

static unsigned int kernel_of(const struct scenario *s, unsigned int thread)
{
	unsigned int kernel = OWNERS(s) >> 4 * thread & 0xf;

	return kernel ? kernel : thread + 1;
}

static void make_heap(struct ikc_heap *h, unsigned int kernel)
{
	memset(h, 0, sizeof(*h));
	h->chunk[0] = &chunk;
	h->chunks = 1;
	h->owner = ikc_owner(kernel, 1);
}

static void setup(const struct scenario *s)
{
	unsigned int i, from = IKC_SPANS - SPANS(s);

	memset(&chunk, 0, sizeof(chunk));
	memset(&note, 0, sizeof(note));
	ikc_chunk_init(&chunk, from);
	for (i = 0; i < s->threads; i++)
		make_heap(&heap[i], kernel_of(s, i));
	make_heap(&checker, 9);
	model_share(&chunk.span[from], SPANS(s) * sizeof(chunk.span[0]));
	for (i = from; i < IKC_SPANS; i++) {
		model_share(chunk.tag[i], BLOCKS * sizeof(chunk.tag[0][0]));
		model_share(chunk.blocks[i], sizeof(chunk.blocks[0][0]));
	}
	model_share(&chunk.partial[FIRST_CLASS], 3 * sizeof(chunk.partial[0]));
	model_share(&chunk.free_spans, sizeof(chunk.free_spans));
	if (PREPARED(s) == FRESH)
		return;
	prepared[0] = ikc_heap_alloc(&heap[0], SIZE(7));
	prepared[1] = ikc_heap_alloc(&heap[0], SIZE(7));
	if (PREPARED(s) != CUT_FULL)
		ikc_heap_free(&heap[0], prepared[0]);
	if (PREPARED(s) == CUT)
		ikc_heap_free(&heap[0], prepared[1]);
}

/* Nobody may have any byte of it already. */
static void own(unsigned int thread, unsigned int slot, __u64 offset, unsigned int class)
{
	__u64 size = SIZE(class);
	unsigned int i, j;

	MODEL_CHECK(offset % size == 0 && offset < IKC_CHUNK_SIZE &&
		    (chunk.span[offset >> IKC_SPAN_SHIFT] & 0xf) != 3, "not a block");
	for (i = 0; i < MODEL_THREADS; i++)
		for (j = 0; j < SLOTS; j++) {
			__u64 other = note.block[i][j];

			MODEL_CHECK(!other || OFFSET(other) >= offset + size ||
				    offset >= OFFSET(other) + SIZE(CLASS(other)),
				    "a block is owned twice");
		}
	model_note(&note.block[thread][slot], 8, BLOCK(offset, class));
}

static void allocate(unsigned int thread, unsigned int slot, unsigned int class)
{
	__u64 offset;

	model_wish(class << 4 | SPAN_BLOCKS);
	offset = ikc_heap_alloc(&heap[thread], SIZE(class));
	model_wish(0);
	if (!offset)
		return;		/* all taken, or for a moment in somebody's hands */
	own(thread, slot, offset, class);
	MODEL_CHECK(ikc_heap_owns(&heap[thread], offset, SIZE(class)), "not owned");
}

static void release(unsigned int thread, unsigned int slot)
{
	__u64 block = note.block[thread][slot];

	if (!block)
		return;
	/* somebody else may have it before the call returns */
	model_note(&note.block[thread][slot], 8, 0);
	MODEL_CHECK(!ikc_heap_free(&heap[thread], OFFSET(block)), "an own block is refused");
}

static void give(const struct scenario *s, unsigned int thread, unsigned int slot)
{
	__u64 block = note.block[thread][slot];
	unsigned int to = (thread + 1) % s->threads;

	if (!block)
		return;
	model_note(&note.block[thread][slot], 8, 0);
	MODEL_CHECK(!ikc_heap_give(&heap[thread], OFFSET(block), heap[to].owner),
		    "an own block is refused");
	model_note(&note.block[to][SLOTS - 1], 8, block);
}

/* What a thread was given by one that stopped before it could say so. */
static void free_unheard(const struct scenario *s, unsigned int thread)
{
	__u64 from = (__u64)(IKC_SPANS - SPANS(s)) << IKC_SPAN_SHIFT;

	for (; from < IKC_CHUNK_SIZE; from += SIZE(FIRST_CLASS))
		ikc_heap_free(&heap[thread], from);
}

/* Two threads do this with the same block of theirs. */
static void free_prepared(unsigned int thread)
{
	if (!ikc_heap_free(&heap[thread], prepared[1]))
		model_note(&note.freed, 8, note.freed + 1);
}

static void reclaim(const struct scenario *s, unsigned int thread)
{
	unsigned int i;

	model_wait_for_victim();
	for (i = 0; i < SLOTS; i++)
		model_note(&note.block[s->victim][i], 8, 0);
	ikc_heap_reclaim(&heap[thread], heap[s->victim].owner);
	model_note(&note.reclaimed, 8, 1);
}

/*
 * A thread's program: 6 to 8 allocates a block of that class, and the n'th of
 * them is then named by a letter; 'a' frees the first and so on, 'A' gives it to
 * the next thread.  2: free the prepared block.  R: reclaim the victim's.
 */
static void thread(const struct scenario *s, unsigned int i)
{
	const char *op;
	unsigned int slot = 0;

	for (op = s->program[i]; *op; op++) {
		if (*op >= '6' && *op <= '8')
			allocate(i, slot++, *op - '0');
		else if (*op >= 'a')
			release(i, *op - 'a');
		else if (*op == '2')
			free_prepared(i);
		else if (*op == 'R')
			reclaim(s, i);
		else
			give(s, i, *op - 'A');
	}
}

static void thread_0(const struct scenario *s)
{
	thread(s, 0);
}

static void thread_1(const struct scenario *s)
{
	thread(s, 1);
}

static void thread_2(const struct scenario *s)
{
	thread(s, 2);
}

static void thread_3(const struct scenario *s)
{
	thread(s, 3);
}

/* How many blocks of a class the tags and words say there are to be had. */
static unsigned int available(const struct scenario *s, unsigned int class)
{
	unsigned int span, i, blocks, n, sum = 0;

	for (span = IKC_SPANS - SPANS(s); span < IKC_SPANS; span++) {
		__u32 word = chunk.span[span];

		MODEL_CHECK(!word || (word & 0xf) == SPAN_BLOCKS, "a span is left changing");
		n = 0;
		blocks = IKC_SPAN_BLOCKS >> (word >> 4 & 0xf);
		for (i = 0; i < IKC_SPAN_BLOCKS; i++) {
			MODEL_CHECK(chunk.tag[span][i] != 1 || (word && i < blocks),
				    "a free block outside of its span");
			n += chunk.tag[span][i] == 1;
		}
		if (!word || n == blocks)
			sum += IKC_SPAN_BLOCKS >> class;
		else if ((word >> 4 & 0xf) == class)
			sum += n;
	}
	return sum;
}

static void check_allocatable(const struct scenario *s, const char *kind)
{
	unsigned int class, n;

	for (class = FIRST_CLASS; class <= LAST_CLASS; class++) {
		size_t mark = memory_mark();

		for (n = available(s, class); n; n--)
			MODEL_CHECK(ikc_heap_alloc(&checker, SIZE(class)), kind);
		MODEL_CHECK(!ikc_heap_alloc(&checker, SIZE(class)), "more blocks than there are");
		memory_undo(mark);
	}
}

static void finish(const struct scenario *s)
{
	unsigned int i, j;
	__u64 blocks, bytes;

	check_allocatable(s, "a free block cannot be found");
	for (i = 0; i < s->threads; i++)
		for (j = 0; j < SLOTS; j++)
			release(i, j);
	if (s->victim >= 0)
		free_unheard(s, 1);
	if (PREPARED(s) == CUT_OWNED && s->program[1][0] == '2')
		MODEL_CHECK(note.freed == 1, "a double free is not refused");
	else if (PREPARED(s) >= CUT_OWNED)
		ikc_heap_free(&heap[0], prepared[1]);
	if (PREPARED(s) == CUT_FULL)
		ikc_heap_free(&heap[0], prepared[0]);
	ikc_heap_used(&checker, &blocks, &bytes);
	MODEL_CHECK(!blocks && !bytes, "a block is lost");
	for (i = FIRST_CLASS; i <= LAST_CLASS; i++)
		MODEL_CHECK(available(s, i) == SPANS(s) << (LAST_CLASS - i), "a span is lost");
	check_allocatable(s, "a block cannot be found after all were freed");
}

#define HEAP(text, n, spans, state, owners, ...)			\
	{ .name = "heap: " text, .threads = n, .victim = -1,		\
	  .setup = setup, .thread = { thread_0, thread_1, thread_2, thread_3 }, \
	  .finish = finish, .a = spans, .b = state, .c = owners,	\
	  .program = { __VA_ARGS__ } }
#define DEATH(text, n, spans, state, ...)				\
	{ .name = "death: " text, .threads = n, .victim = 0,		\
	  .setup = setup, .thread = { thread_0, thread_1, thread_2, thread_3 }, \
	  .finish = finish, .a = spans, .b = state,			\
	  .program = { __VA_ARGS__ } }

const struct scenario heap_scenarios[] = {
	HEAP("32K against 64K", 2, 1, FRESH, 0, "77ab7c", "8a8b"),
	HEAP("32K against 16K", 2, 1, CUT, 0, "7a7b7c", "66ab"),
	HEAP("32K against 16K, both cut", 2, 1, FRESH, 0, "7a7b7c", "6a6b"),
	HEAP("2 spans, 32K against 64K", 2, 2, FRESH, 0, "77ab7c", "88ab"),
	HEAP("2 spans, 32K, full and freed", 2, 2, CUT_FULL, 0x32, "777a", "7a7b"),
	HEAP("2 spans, 3 kernels", 3, 2, CUT, 0, "77ab", "7a", "8a"),
	HEAP("holder, taker and scavenger", 3, 1, CUT, 0, "7", "7a", "8a"),
	HEAP("the same, all free", 3, 1, CUT, 0, "7a", "7a", "8a"),
	HEAP("three classes", 3, 1, CUT, 0, "6a", "7a", "8a"),
	HEAP("owner frees beside taker and scavenger", 3, 1, CUT_OWNED, 0x321, "2", "7a", "8a"),
	HEAP("two CPUs of one kernel, 16K", 3, 1, CUT, 0x211, "6a", "7a", "8a"),
	HEAP("double free", 3, 1, CUT_OWNED, 0x211, "2", "2", "8a"),
	HEAP("double free, same class", 3, 1, CUT_OWNED, 0x211, "2", "2", "7a"),
	HEAP("giving away", 2, 1, CUT, 0, "7A8b", "8a7"),
	DEATH("32K", 3, 1, CUT, "7a7b", "7a7b", "R7a"),
	DEATH("64K out of 32K", 3, 1, CUT, "8a8b", "77ab", "R"),
	DEATH("32K against 64K", 3, 1, CUT, "7a7", "8a7", "R"),
	DEATH("fresh", 3, 1, FRESH, "7a8", "7a8b", "R8a"),
	DEATH("16K against 32K", 3, 1, CUT, "6a", "7a", "R7a"),
	DEATH("32K against 16K", 3, 1, CUT, "7a7", "6a", "R"),
	DEATH("2 spans", 3, 2, CUT, "77ab", "88ab", "R"),
	DEATH("giving away", 3, 1, CUT, "7A8", "7a", "R"),
	DEATH("scavenger, two that live", 4, 1, CUT, "8a", "7", "7", "R"),
	DEATH("taker, two that live", 4, 1, CUT, "7", "8a", "7", "R"),
};
const unsigned int heap_scenario_count =
	sizeof(heap_scenarios) / sizeof(heap_scenarios[0]);
