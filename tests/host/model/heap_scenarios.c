// SPDX-License-Identifier: GPL-2.0
/*
 * The allocator: kernels that allocate and free blocks of different classes in
 * one span or two, so that spans are cut anew all the time, and hand them over;
 * and one that stops for ever at any step.  No block may be anybody else's at the
 * same time, and in the end each must be there for whoever asks.
 */
#include <string.h>
#include "heap_scenarios.h"

#define FIRST_CLASS	6		/* 16 KiB: 4 blocks per span */
#define LAST_CLASS	8		/* 64 KiB: 1 */
#define BLOCKS		(1 << (LAST_CLASS - FIRST_CLASS))
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
static struct ikc_heap checker;
static __u64 prepared[2];

struct ikc_heap heap[MODEL_THREADS];
struct note note;

unsigned int kernel_of(const struct scenario *s, unsigned int thread)
{
	unsigned int kernel = OWNERS(s) >> 4 * thread & 0xf;

	return kernel ? kernel : thread + 1;
}

static void make_heap(struct ikc_heap *h, unsigned int kernel)
{
	memset(h, 0, sizeof(*h));
	h->chunk[0] = &chunk;
	h->mapped = h->chunks = 1;
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
	handover_setup();
	if (PREPARED(s) == FRESH)
		return;
	prepared[0] = ikc_heap_alloc(&heap[0], SIZE(7));
	prepared[1] = ikc_heap_alloc(&heap[0], SIZE(7));
	if (PREPARED(s) != CUT_FULL)
		ikc_heap_free(&heap[0], prepared[0]);
	if (PREPARED(s) == CUT)
		ikc_heap_free(&heap[0], prepared[1]);
}

static void check_apart(__u64 block, __u64 other)
{
	MODEL_CHECK(!other || OFFSET(other) >= OFFSET(block) + SIZE(CLASS(block)) ||
		    OFFSET(block) >= OFFSET(other) + SIZE(CLASS(other)),
		    "a block is owned twice");
}

/* Nobody may have any byte of it already, nor may one be on its way. */
void own(unsigned int thread, unsigned int slot, __u64 block)
{
	unsigned int i, j;

	MODEL_CHECK(OFFSET(block) % SIZE(CLASS(block)) == 0 &&
		    OFFSET(block) < IKC_CHUNK_SIZE &&
		    (chunk.span[OFFSET(block) >> IKC_SPAN_SHIFT] & 0xf) != 3, "not a block");
	for (i = 0; i < MODEL_THREADS; i++)
		for (j = 0; j < SLOTS; j++) {
			check_apart(block, note.block[i][j]);
			if (!note.gone || TO(note.flight[i][j]) != note.gone - 1)
				check_apart(block, note.flight[i][j]);
		}
	model_note(&note.block[thread][slot], 8, block);
}

static void allocate(unsigned int thread, unsigned int slot, unsigned int class)
{
	__u64 offset;
	bool owned;

	model_wish(class << 4 | SPAN_BLOCKS);
	offset = ikc_heap_alloc(&heap[thread], SIZE(class));
	model_wish(0);
	if (!offset)
		return;		/* all taken, or for a moment in somebody's hands */
	own(thread, slot, BLOCK(offset, class));
	model_quiet(true);
	owned = ikc_heap_owner(&heap[thread], offset) == heap[thread].owner &&
		ikc_heap_size(&heap[thread], offset) == SIZE(class);
	model_quiet(false);
	MODEL_CHECK(owned, "not owned");
}

void release(unsigned int thread, unsigned int slot)
{
	__u64 block = note.block[thread][slot];

	if (!block)
		return;
	/* somebody else may have it before the call returns */
	model_note(&note.block[thread][slot], 8, 0);
	MODEL_CHECK(!ikc_heap_free(&heap[thread], OFFSET(block)), "an own block is refused");
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
	for (i = 0; i < SLOTS; i++) {
		model_note(&note.block[s->victim][i], 8, 0);
		model_note(&note.flight[s->victim][i], 8, 0);
	}
	model_note(&note.reclaiming, 8, 1);
	ikc_heap_reclaim(&heap[thread], heap[s->victim].owner);
}

/*
 * A thread's program: 6 to 8 allocates a block of that class, and the n'th of
 * them is then named by a letter; 'a' frees the first and so on; 'A1' sends it to
 * thread 1, and 'T0' takes what thread 0 has sent, if it is there, which is named
 * by the next letter.  2: free the prepared block.  R: reclaim the victim's.
 * -1: thread 1 stopped, or stops: recall what is on its way there.
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
		else if (*op == 'T')
			handover_take(s, i, slot++, *++op - '0');
		else if (*op == '-')
			handover_recall(s, i, *++op - '0');
		else if (*op >= 'A')
			handover_send(s, i, *op - 'A', op[1] - '0');
		/* else it is the thread of the 'A' before */
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
	handover_finish(s);
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

/* The windows are as large as a minute allows; that of four kernels and a death is 0. */
#define SCENARIO(text, n, who, kept, spans, state, owners, ...)		\
	{ .name = text, .threads = n, .victim = who, .window = kept,	\
	  .setup = setup, .thread = { thread_0, thread_1, thread_2, thread_3 }, \
	  .finish = finish, .a = spans, .b = state, .c = owners,	\
	  .program = { __VA_ARGS__ } }
#define HEAP(text, n, spans, state, owners, ...)			\
	SCENARIO("heap: " text, n, -1, n == 2 ? 3 : 1, spans, state, owners, __VA_ARGS__)
#define DEATH(text, n, spans, state, ...)				\
	SCENARIO("death: " text, n, 0, n == 3, spans, state, 0, __VA_ARGS__)
#define SENDER_DIES(text, n, spans, state, ...)				\
	SCENARIO("sender dies: " text, n, 0, n == 4 ? 1 : 2, spans, state, 0, __VA_ARGS__)
#define RECEIVER_DIES(text, n, spans, state, owners, ...)		\
	SCENARIO("receiver dies: " text, n, 1, n == 4 ? 1 : 2, spans, state, owners, __VA_ARGS__)

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
	DEATH("32K", 3, 1, CUT, "7a7b", "7a7b", "R7a"),
	DEATH("64K out of 32K", 3, 1, CUT, "8a8b", "77ab", "R"),
	DEATH("32K against 64K", 3, 1, CUT, "7a7", "8a7", "R"),
	DEATH("fresh", 3, 1, FRESH, "7a8", "7a8b", "R8a"),
	DEATH("16K against 32K", 3, 1, CUT, "6a", "7a", "R7a"),
	DEATH("32K against 16K", 3, 1, CUT, "7a7", "6a", "R"),
	DEATH("2 spans", 3, 2, CUT, "77ab", "88ab", "R"),
	DEATH("scavenger, two that live", 4, 1, CUT, "8a", "7", "7", "R"),
	DEATH("taker, two that live", 4, 1, CUT, "7", "8a", "7", "R"),
	HEAP("hand-over", 2, 1, CUT, 0, "7A18b", "T0a8b7"),
	HEAP("hand-over of two", 2, 1, CUT, 0, "77B1A1", "T0T0ba"),
	HEAP("hand-over there and back", 2, 1, CUT, 0, "7A1T1b", "T0A08b"),
	HEAP("hand-over beside a scavenger", 3, 1, CUT, 0, "7A1", "T0a", "8a"),
	SENDER_DIES("32K", 3, 1, CUT, "7A17B1", "T0aT0b", "R7a"),
	SENDER_DIES("64K", 3, 1, CUT, "8A1", "T0a7b", "R7a"),
	SENDER_DIES("2 spans", 3, 2, CUT, "78A1B1", "T0aT0b", "R"),
	SENDER_DIES("receiver is the host", 2, 1, CUT, "7A17B1", "T0aRT0b"),
	SENDER_DIES("there and back", 3, 1, CUT, "7A1T1b", "T0A07b-0", "R"),
	SENDER_DIES("scavenger", 4, 1, CUT, "7A1", "T0a", "R", "8a"),
	SENDER_DIES("while it recalls", 3, 1, CUT, "77A3B3-3", "8a", "R7a"),
	RECEIVER_DIES("32K", 3, 1, CUT, 0, "7A17B1-1", "T0aT0b", "R7a"),
	RECEIVER_DIES("64K", 3, 1, CUT, 0, "8A1-17b", "T0a7b", "R7a"),
	RECEIVER_DIES("2 spans", 3, 2, CUT, 0, "78A1B1-1", "T0aT0b", "R"),
	RECEIVER_DIES("another lives", 3, 1, CUT, 0, "77A1B2-1", "T0a", "T0aR"),
	RECEIVER_DIES("two senders", 3, 1, CUT, 0, "7A1-1", "T0T2ba", "7A1-1R"),
	RECEIVER_DIES("two CPUs of the sender", 4, 1, CUT, 0x3121, "7A1", "T0a", "-1", "R"),
	RECEIVER_DIES("two CPUs, one allocates", 3, 1, CUT, 0x121, "7A1a", "T0a", "-1R7a"),
	RECEIVER_DIES("scavenger", 4, 1, CUT, 0, "7A1-1", "T0a", "R", "8a"),
};
const unsigned int heap_scenario_count =
	sizeof(heap_scenarios) / sizeof(heap_scenarios[0]);
