// SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT
/*
 * The allocator of the shared area; heap.h says what it promises.
 *
 * The rule that makes it safe: a block is taken by its tag (FREE to an owner),
 * and only then the span's word is looked at again.  Whoever wants to cut a span
 * anew first changes the word and then looks at all tags.  So either the taker
 * sees the changed word and lets go, or the other sees the tag and lets go.
 * (Compare-and-exchange is a full barrier on both sides.)
 */
#include "heap.h"

/* A span's word: what it is; the size class; and who is about to change it. */
#define SPAN_FREE	0U
#define SPAN_BLOCKS	1U		/* cut into blocks of its class */
#define SPAN_RESERVED	3U		/* never given */
#define SPAN_CLASS(word)	((word) >> 4 & 0xf)
#define SPAN_OWNER(word)	((word) & ~0xf0U)	/* if somebody changes it */

/* A block's tag; anything else is its owner. */
#define TAG_NONE	0U		/* no such block */
#define TAG_FREE	1U

static __u32 ikc_heap_blocks_word(unsigned int class)
{
	return class << 4 | SPAN_BLOCKS;
}

/* ikc_owner() leaves bits 4 to 7 free for the class. */
static __u32 ikc_heap_changing_word(__u32 owner, unsigned int class)
{
	return owner | class << 4;
}

static bool ikc_heap_is_changing(__u32 word, __u32 owner)
{
	return SPAN_OWNER(word) == owner;
}

/* The class of a span that is cut, or about to be; IKC_CLASSES if it is not. */
static unsigned int ikc_heap_cut_class(__u32 word)
{
	if (word == SPAN_FREE || word == SPAN_RESERVED || SPAN_CLASS(word) >= IKC_CLASSES)
		return IKC_CLASSES;
	return SPAN_CLASS(word);
}

static unsigned int ikc_heap_class_blocks(unsigned int class)
{
	return IKC_SPAN_BLOCKS >> class;
}

/* The class whose blocks hold @size bytes, 1 to IKC_ALLOC_MAX. */
static unsigned int ikc_heap_class_of(__u64 size)
{
	__u64 units = (size - 1) >> IKC_BLOCK_SHIFT;

	return units ? 64 - __builtin_clzll(units) : 0;
}

/* The lowest @n bits of a word. */
static __u64 ikc_heap_low_bits(unsigned int n)
{
	return n < 64 ? (1ULL << n) - 1 : ~0ULL;
}

static __u64 ikc_heap_offset_of(unsigned int c, unsigned int span, unsigned int block,
				unsigned int class)
{
	return ((__u64)c << IKC_CHUNK_SHIFT) + ((__u64)span << IKC_SPAN_SHIFT) +
	       ((__u64)block << (IKC_BLOCK_SHIFT + class));
}

/* Where the search begins: kernels keep out of each other's cache lines. */
static unsigned int ikc_heap_first_span(const struct ikc_heap *heap)
{
	return (heap->owner >> 8 & 0xff) * 11 % IKC_SPANS;
}

void ikc_chunk_init(struct ikc_chunk *chunk, unsigned int reserved)
{
	unsigned int span;

	for (span = 0; span < reserved; span++)
		chunk->span[span] = SPAN_RESERVED;
	chunk->free_spans = reserved < IKC_SPANS ? ~0U << reserved : 0;
}

static void ikc_heap_hint_free(struct ikc_chunk *chunk, unsigned int span, unsigned int block,
			       unsigned int class)
{
	ikc_fetch_or64(&chunk->blocks[span][block / 64], 1ULL << block % 64);
	if (!(READ_ONCE(chunk->partial[class]) & 1U << span))
		ikc_or32(&chunk->partial[class], 1U << span);
}

/* For all free blocks of a span. */
static void ikc_heap_mend_hints(struct ikc_chunk *chunk, unsigned int span, unsigned int class)
{
	unsigned int i;

	for (i = 0; i < ikc_heap_class_blocks(class); i++)
		if (READ_ONCE(chunk->tag[span][i]) == TAG_FREE)
			ikc_heap_hint_free(chunk, span, i, class);
}

/* Take a block of a span; -1 if there is none, or not of this class any more. */
static int ikc_heap_take_block(struct ikc_heap *heap, struct ikc_chunk *chunk,
			       unsigned int span, unsigned int class)
{
	unsigned int n = ikc_heap_class_blocks(class), w, block;
	__u64 bits, bit;
	__u32 word;

	for (w = 0; w * 64 < n; w++) {
		/* each round clears a bit or finds it cleared: at most 64 */
		bits = READ_ONCE(chunk->blocks[span][w]) & ikc_heap_low_bits(n - w * 64);
		for (; bits; bits &= ~bit) {
			bit = bits & -bits;
			if (!(ikc_fetch_andnot64(&chunk->blocks[span][w], bit) & bit))
				continue;
			block = w * 64 + __builtin_ctzll(bit);
			if (cmpxchg(&chunk->tag[span][block], TAG_FREE, heap->owner) !=
			    TAG_FREE)
				continue;	/* the hint was wrong */
			word = READ_ONCE(chunk->span[span]);
			if (word == ikc_heap_blocks_word(class))
				return block;
			/*
			 * It is being cut anew: let go, whatever it is now.  As
			 * long as we had it its class could not change; and who
			 * looked meanwhile took the block for not free.
			 */
			cmpxchg(&chunk->tag[span][block], heap->owner, TAG_FREE);
			if (SPAN_CLASS(word) < IKC_CLASSES)
				ikc_heap_hint_free(chunk, span, block, SPAN_CLASS(word));
			return -1;
		}
	}
	return -1;
}

/* Take a block where the hints say that spans of this class have some. */
static int ikc_heap_take_partial(struct ikc_heap *heap, struct ikc_chunk *chunk,
				 unsigned int class, unsigned int *span)
{
	unsigned int i, start = ikc_heap_first_span(heap);
	__u32 mask = READ_ONCE(chunk->partial[class]);
	int block;

	for (i = 0; mask && i < IKC_SPANS; i++) {
		*span = (start + i) % IKC_SPANS;
		if (!(mask & 1U << *span))
			continue;
		block = ikc_heap_take_block(heap, chunk, *span, class);
		if (block >= 0)
			return block;
		/* Full.  Who frees sets the bit after the block's: look again. */
		ikc_andnot32(&chunk->partial[class], 1U << *span);
		block = ikc_heap_take_block(heap, chunk, *span, class);
		if (block >= 0) {
			ikc_or32(&chunk->partial[class], 1U << *span);
			return block;
		}
	}
	return -1;
}

/* Cut a span that this kernel is changing; its first block goes to the caller. */
static void ikc_heap_cut(struct ikc_heap *heap, struct ikc_chunk *chunk, unsigned int span,
			 unsigned int class)
{
	unsigned int n = ikc_heap_class_blocks(class), i, w;

	WRITE_ONCE(chunk->tag[span][0], heap->owner);
	for (i = 1; i < n; i++)
		WRITE_ONCE(chunk->tag[span][i], TAG_FREE);
	for (w = 0; w < IKC_SPAN_BLOCKS / 64; w++) {
		__u64 all = n > w * 64 ? ikc_heap_low_bits(n - w * 64) : 0;

		/* after the tags: who sees a bit and no free block clears it */
		smp_store_release(&chunk->blocks[span][w], w ? all : all & ~1ULL);
	}
	/* pairs with the compare-and-exchange of whoever takes a block */
	smp_store_release(&chunk->span[span], ikc_heap_blocks_word(class));
	if (n > 1)
		ikc_or32(&chunk->partial[class], 1U << span);
}

static bool ikc_heap_claim(struct ikc_heap *heap, struct ikc_chunk *chunk, unsigned int class,
			   unsigned int *span)
{
	unsigned int i, start = ikc_heap_first_span(heap);
	__u32 mask = READ_ONCE(chunk->free_spans);

	for (i = 0; mask && i < IKC_SPANS; i++) {
		*span = (start + i) % IKC_SPANS;
		if (!(mask & 1U << *span))
			continue;
		if (cmpxchg(&chunk->span[*span], SPAN_FREE,
			    ikc_heap_changing_word(heap->owner, class)) != SPAN_FREE)
			continue;
		ikc_andnot32(&chunk->free_spans, 1U << *span);
		ikc_heap_cut(heap, chunk, *span, class);
		return true;
	}
	return false;
}

/*
 * End the change of a span: free if none of its blocks is anybody's, else cut as
 * it was.  The word says that the caller, or a dead kernel, is changing it.
 */
static bool ikc_heap_uncut(struct ikc_chunk *chunk, unsigned int span, unsigned int class)
{
	unsigned int n = ikc_heap_class_blocks(class), i;
	__u32 tag;

	for (i = 0; i < n; i++) {
		tag = cmpxchg(&chunk->tag[span][i], TAG_FREE, TAG_NONE);
		if (tag != TAG_FREE && tag != TAG_NONE)
			break;
	}
	if (i == n) {
		for (i = 0; i < IKC_SPAN_BLOCKS / 64; i++)
			WRITE_ONCE(chunk->blocks[span][i], 0);
		ikc_andnot32(&chunk->partial[class], 1U << span);
		/* pairs with the compare-and-exchange in claim(): all tags are NONE */
		smp_store_release(&chunk->span[span], SPAN_FREE);
		ikc_or32(&chunk->free_spans, 1U << span);
		return true;
	}
	/* Somebody's.  Also the rest: who began the change may have got further. */
	for (i = 0; i < n; i++)
		cmpxchg(&chunk->tag[span][i], TAG_NONE, TAG_FREE);
	/* pairs with the compare-and-exchange of whoever takes a block */
	smp_store_release(&chunk->span[span], ikc_heap_blocks_word(class));
	ikc_heap_mend_hints(chunk, span, class);
	return false;
}

/* Nothing is left: free spans whose blocks are all free. */
static bool ikc_heap_scavenge(struct ikc_heap *heap, struct ikc_chunk *chunk)
{
	unsigned int span, class, i;
	bool found = false;
	__u32 word;

	for (span = 0; span < IKC_SPANS; span++) {
		word = READ_ONCE(chunk->span[span]);
		class = SPAN_CLASS(word);
		if (class >= IKC_CLASSES || word != ikc_heap_blocks_word(class))
			continue;
		for (i = 0; i < ikc_heap_class_blocks(class); i++)
			if (READ_ONCE(chunk->tag[span][i]) != TAG_FREE)
				break;
		if (i < ikc_heap_class_blocks(class))
			continue;
		if (cmpxchg(&chunk->span[span], word,
			    ikc_heap_changing_word(heap->owner, class)) == word)
			found |= ikc_heap_uncut(chunk, span, class);
	}
	return found;
}

static __u64 ikc_heap_alloc_in(struct ikc_heap *heap, unsigned int c, unsigned int class)
{
	struct ikc_chunk *chunk = heap->chunk[c];
	unsigned int span;
	int block;

	block = ikc_heap_take_partial(heap, chunk, class, &span);
	if (block >= 0)
		return ikc_heap_offset_of(c, span, block, class);
	if (ikc_heap_claim(heap, chunk, class, &span))
		return ikc_heap_offset_of(c, span, 0, class);
	return 0;
}

__u64 ikc_heap_alloc(struct ikc_heap *heap, __u64 size)
{
	unsigned int chunks = ikc_heap_chunks(heap), c, class;
	__u64 offset = 0;

	if (!size || size > IKC_ALLOC_MAX)
		return 0;
	class = ikc_heap_class_of(size);
	for (c = 0; c < chunks && !offset; c++)
		offset = ikc_heap_alloc_in(heap, c, class);
	for (c = 0; c < chunks && !offset; c++)
		if (ikc_heap_scavenge(heap, heap->chunk[c]))
			offset = ikc_heap_alloc_in(heap, c, class);
	return offset;
}

/* The tag of the block that starts at @offset, or NULL. */
static __u32 *ikc_heap_find_tag(struct ikc_heap *heap, __u64 offset, struct ikc_chunk **chunk,
				unsigned int *span, unsigned int *class)
{
	__u64 c = offset >> IKC_CHUNK_SHIFT;
	__u32 within = offset % IKC_SPAN_SIZE;

	if (c >= ikc_heap_mapped(heap))
		return NULL;
	*chunk = heap->chunk[c];
	*span = offset % IKC_CHUNK_SIZE >> IKC_SPAN_SHIFT;
	/* A span with a block that is somebody's is cut, or for a moment changing. */
	*class = ikc_heap_cut_class(READ_ONCE((*chunk)->span[*span]));
	if (*class == IKC_CLASSES || within % (1U << (IKC_BLOCK_SHIFT + *class)))
		return NULL;
	return &(*chunk)->tag[*span][within >> (IKC_BLOCK_SHIFT + *class)];
}

static int ikc_heap_retag(__u32 *tag, __u32 from, __u32 to)
{
	__u32 was = cmpxchg(tag, from, to);

	if (was == from)
		return 0;
	if (was == TAG_FREE)
		return -EALREADY;
	return was == TAG_NONE ? -EFAULT : -EPERM;
}

int ikc_heap_free(struct ikc_heap *heap, __u64 offset)
{
	struct ikc_chunk *chunk;
	unsigned int span, class;
	__u32 *tag;
	int ret;

	tag = ikc_heap_find_tag(heap, offset, &chunk, &span, &class);
	if (!tag)
		return -EFAULT;
	ret = ikc_heap_retag(tag, heap->owner, TAG_FREE);
	if (!ret)
		ikc_heap_hint_free(chunk, span, tag - chunk->tag[span], class);
	return ret;
}

/* Change the tag of the block at @offset, which must be @from. */
static int ikc_heap_change_tag(struct ikc_heap *heap, __u64 offset, __u32 from, __u32 to)
{
	struct ikc_chunk *chunk;
	unsigned int span, class;
	__u32 *tag;

	tag = ikc_heap_find_tag(heap, offset, &chunk, &span, &class);
	return tag ? ikc_heap_retag(tag, from, to) : -EFAULT;
}

int ikc_heap_send(struct ikc_heap *heap, __u64 offset, __u32 receiver)
{
	return ikc_heap_change_tag(heap, offset, heap->owner,
				   ikc_in_flight(heap->owner, receiver));
}

int ikc_heap_unsend(struct ikc_heap *heap, __u64 offset, __u32 receiver)
{
	return ikc_heap_change_tag(heap, offset, ikc_in_flight(heap->owner, receiver),
				   heap->owner);
}

bool ikc_heap_accept(struct ikc_heap *heap, __u64 offset, __u64 size, __u32 sender)
{
	__u32 self = heap->owner >> 8 & 0xf;

	return size <= ikc_heap_size(heap, offset) &&
	       !ikc_heap_change_tag(heap, offset, ikc_in_flight(sender, self), heap->owner);
}

__u32 ikc_heap_owner(struct ikc_heap *heap, __u64 offset)
{
	struct ikc_chunk *chunk;
	unsigned int span, class;
	__u32 *tag, owner;

	tag = ikc_heap_find_tag(heap, offset, &chunk, &span, &class);
	owner = tag ? READ_ONCE(*tag) : TAG_NONE;
	return owner == TAG_FREE ? TAG_NONE : owner;
}

__u64 ikc_heap_size(struct ikc_heap *heap, __u64 offset)
{
	struct ikc_chunk *chunk;
	unsigned int span, class;

	if (!ikc_heap_find_tag(heap, offset, &chunk, &span, &class))
		return 0;
	return 1ULL << (IKC_BLOCK_SHIFT + class);
}

/* Free the blocks of a span whose tags are @wanted but for the bits in @any. */
static __u64 ikc_heap_free_tagged(struct ikc_chunk *chunk, unsigned int span, unsigned int class,
				  __u32 wanted, __u32 any)
{
	__u64 found = 0;
	unsigned int i;
	__u32 tag;

	for (i = 0; i < ikc_heap_class_blocks(class); i++) {
		tag = READ_ONCE(chunk->tag[span][i]);
		if ((tag & ~any) == wanted &&
		    cmpxchg(&chunk->tag[span][i], tag, TAG_FREE) == tag)
			found++;
	}
	return found;
}

static __u64 ikc_heap_reclaim_span(struct ikc_chunk *chunk, unsigned int span, __u32 owner)
{
	__u32 word = READ_ONCE(chunk->span[span]);
	unsigned int class = ikc_heap_cut_class(word);
	__u64 found;

	if (class == IKC_CLASSES)
		return 0;
	/* what it has, and what it had on its way to anybody */
	found = ikc_heap_free_tagged(chunk, span, class, owner, ikc_in_flight(0, 0xf));
	if (ikc_heap_is_changing(word, owner))
		ikc_heap_uncut(chunk, span, class);
	else	/* also if a living kernel is changing it: that may have looked already */
		ikc_heap_mend_hints(chunk, span, class);
	return found;
}

__u64 ikc_heap_reclaim(struct ikc_heap *heap, __u32 owner)
{
	unsigned int chunks = ikc_heap_mapped(heap), c, span;
	__u64 found = 0;

	for (c = 0; c < chunks; c++) {
		struct ikc_chunk *chunk = heap->chunk[c];

		for (span = 0; span < IKC_SPANS; span++) {
			found += ikc_heap_reclaim_span(chunk, span, owner);
			/* it may have died before it set the hint */
			if (READ_ONCE(chunk->span[span]) == SPAN_FREE)
				ikc_or32(&chunk->free_spans, 1U << span);
		}
	}
	return found;
}

__u64 ikc_heap_recall(struct ikc_heap *heap, __u32 receiver)
{
	unsigned int chunks = ikc_heap_mapped(heap), c, span, class;
	__u64 found = 0, freed;

	/*
	 * Pairs with the exchange in ikc_heap_send(): either the tag is seen here, or
	 * its sender sees what the caller wrote to stop it, and has the block back.
	 */
	smp_mb();
	for (c = 0; c < chunks; c++) {
		struct ikc_chunk *chunk = heap->chunk[c];

		for (span = 0; span < IKC_SPANS; span++) {
			class = ikc_heap_cut_class(READ_ONCE(chunk->span[span]));
			if (class == IKC_CLASSES)
				continue;
			freed = ikc_heap_free_tagged(chunk, span, class,
						     ikc_in_flight(heap->owner, receiver), 0);
			if (freed)
				ikc_heap_mend_hints(chunk, span, class);
			found += freed;
		}
	}
	return found;
}

void ikc_heap_used(struct ikc_heap *heap, __u64 *blocks, __u64 *bytes)
{
	unsigned int chunks = ikc_heap_mapped(heap), c, span, class, i;

	*blocks = *bytes = 0;
	for (c = 0; c < chunks; c++) {
		struct ikc_chunk *chunk = heap->chunk[c];

		for (span = 0; span < IKC_SPANS; span++) {
			__u32 word = READ_ONCE(chunk->span[span]);

			class = SPAN_CLASS(word);
			if (class >= IKC_CLASSES || word != ikc_heap_blocks_word(class))
				continue;
			for (i = 0; i < ikc_heap_class_blocks(class); i++) {
				__u32 tag = READ_ONCE(chunk->tag[span][i]);

				if (tag == TAG_FREE || tag == TAG_NONE)
					continue;
				(*blocks)++;
				*bytes += 1ULL << (IKC_BLOCK_SHIFT + class);
			}
		}
	}
}
