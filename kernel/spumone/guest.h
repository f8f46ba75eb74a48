/* SPDX-License-Identifier: GPL-2.0 */
/* An RTOS's image: what its segments ask for. */
#ifndef _SPUMONE_GUEST_H
#define _SPUMONE_GUEST_H

#include <linux/types.h>
#include <shimos/complaint.h>

#define GUEST_SEGMENTS	16

/**
 * struct guest_segment - whole pages, and where in the file and in memory their bytes are
 * @from: the first page's address
 * @to: the end of the last one
 * @offset: of the bytes in the file
 * @address: of the bytes in memory
 * @stored: how many bytes there are; the rest is zero
 * @write: it may be written
 * @run: it may be run
 */
struct guest_segment {
	u64 from, to;
	u64 offset, address, stored;
	bool write, run;
};

/**
 * struct guest_image - what an RTOS's image asks for
 * @entry: where it is entered
 * @count: how many segments
 * @segments: in ascending order of addresses
 */
struct guest_image {
	u64 entry;
	unsigned int count;
	struct guest_segment segments[GUEST_SEGMENTS];
};

/**
 * guest_elf_parse() - what an image asks for
 * @image: its file
 * @len: bytes
 * @end: where its memory ends
 * @out: what it asks for
 * @c: why it is refused
 *
 * Context: any.
 * Return: 0 or -ENOEXEC.
 */
int guest_elf_parse(const void *image, u64 len, u64 end, struct guest_image *out,
		    struct complaint *c);

/**
 * guest_elf_page() - what a page of a segment's holds when it is new
 * @image: its file, as it was parsed
 * @s: the segment
 * @at: the page's address, in the segment
 * @page: gets PAGE_SIZE bytes
 *
 * Context: any.
 */
void guest_elf_page(const void *image, const struct guest_segment *s, u64 at, void *page);

#endif
