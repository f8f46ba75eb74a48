/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: the chunks that the shared area consists of, and
 * what its allocator keeps in each.  kernel/ikc/heap.c has the code.
 */
#ifndef _UAPI_SHIMOS_IKC_CHUNK_H
#define _UAPI_SHIMOS_IKC_CHUNK_H

#include <linux/types.h>

#define IKC_CHUNK_SHIFT		21
#define IKC_CHUNK_SIZE		(1U << IKC_CHUNK_SHIFT)
#define IKC_MAX_CHUNKS		32
#define IKC_SPAN_SHIFT		16
#define IKC_SPAN_SIZE		(1U << IKC_SPAN_SHIFT)
#define IKC_SPANS		(IKC_CHUNK_SIZE / IKC_SPAN_SIZE)
#define IKC_BLOCK_SHIFT		8		/* the smallest block */
#define IKC_CLASSES		(IKC_SPAN_SHIFT - IKC_BLOCK_SHIFT + 1)
#define IKC_SPAN_BLOCKS		(IKC_SPAN_SIZE >> IKC_BLOCK_SHIFT)
#define IKC_ALLOC_MAX		IKC_SPAN_SIZE

/**
 * struct ikc_chunk - the allocator's part of a chunk, at its start
 * @span: what a span is cut into
 * @tag: who owns a block
 * @blocks: hint: free blocks
 * @partial: hint: spans with free blocks of a class
 * @free_spans: hint
 *
 * @span and @tag are the truth, each changed by single compare-and-exchange; the bitmaps only say
 * where to look.
 */
struct ikc_chunk {
	__u32 span[IKC_SPANS];
	__u32 tag[IKC_SPANS][IKC_SPAN_BLOCKS];
	__u64 blocks[IKC_SPANS][IKC_SPAN_BLOCKS / 64];
	__u32 partial[IKC_CLASSES];
	__u32 free_spans;
};

#endif
