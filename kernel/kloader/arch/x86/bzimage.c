// SPDX-License-Identifier: GPL-2.0
/*
 * bzImage, the file that distributions ship as vmlinuz (boot protocol 2.12 or
 * later, 64-bit entry 0x200 bytes behind the load address).
 */
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/bootparam.h>

#include "x86.h"

#define HEADER_AT	offsetof(struct boot_params, hdr)
#define SECTOR		512
#define ENTRY_64	0x200
#define PROTOCOL_MIN	0x20c
#define BOOT_FLAG	0xaa55

static u64 bzimage_setup_size(const struct setup_header *h)
{
	return (u64)(h->setup_sects ?: 4) * SECTOR + SECTOR;
}

/* The version string of the setup part: printable text up to a space. */
static void bzimage_copy_version(const u8 *image, u64 size, const struct setup_header *h,
				 struct image *out)
{
	u64 at = (u64)h->kernel_version + SECTOR;
	size_t i;

	for (i = 0; i < sizeof(out->version) - 1 && at + i < size; i++) {
		if (image[at + i] <= ' ' || image[at + i] >= 0x7f)
			break;
		out->version[i] = image[at + i];
	}
	out->version[i] = '\0';
}

static int bzimage_parse(const void *image, u64 size, struct image *out,
			 struct complaint *c)
{
	const struct setup_header *h = image + HEADER_AT;
	u64 protected_size;

	if (size < HEADER_AT + sizeof(*h) || h->boot_flag != BOOT_FLAG ||
	    memcmp(&h->header, "HdrS", 4))
		return -ENOEXEC;
	if (h->version < PROTOCOL_MIN)
		return shimos_refuse(c, -ENOEXEC,
				     "the kernel speaks boot protocol %u.%02u; 2.12 or later is needed (Linux 3.8)",
				     h->version >> 8, h->version & 0xff);
	if (!(h->loadflags & LOADED_HIGH))
		return shimos_refuse(c, -ENOEXEC, "the kernel is a zImage; a bzImage is needed");
	if (!(h->xloadflags & XLF_KERNEL_64))
		return shimos_refuse(c, -ENOEXEC, "the kernel is a 32-bit one; a 64-bit kernel is needed");
	if (!(h->xloadflags & XLF_CAN_BE_LOADED_ABOVE_4G))
		return shimos_refuse(c, -ENOEXEC,
				     "the kernel cannot be loaded above 4 GiB: it was built without CONFIG_RELOCATABLE");
	protected_size = (u64)h->syssize * 16;
	if (bzimage_setup_size(h) + protected_size > ALIGN(size, 16))
		return shimos_refuse(c, -ENOEXEC, "the kernel is truncated: it has %llu bytes of %llu",
				     size, bzimage_setup_size(h) + protected_size);
	if (!is_power_of_2(h->kernel_alignment) || h->kernel_alignment > SZ_64M ||
	    h->init_size > SZ_512M || h->init_size < size - bzimage_setup_size(h))
		return shimos_refuse(c, -ENOEXEC, "the kernel's header makes no sense: alignment %#x, room %#x",
				     h->kernel_alignment, h->init_size);
	out->align = max_t(u64, h->kernel_alignment, SZ_2M);
	out->room = h->init_size;
	out->entry = ENTRY_64;
	bzimage_copy_version(image, size, h, out);
	out->format = &x86_bzimage;
	return 0;
}

static int bzimage_place(struct partition *p, struct boot_params *bp,
			 struct complaint *c)
{
	const void *image = partition_at(p, p->layout.stash);
	const struct setup_header *h = image + HEADER_AT;
	u64 start = bzimage_setup_size(h), end = p->image.size;
	/* the header ends where its jump at 0x200 goes */
	size_t header_end = 0x202 + *(const u8 *)(image + 0x201);

	memcpy(&bp->hdr, h, min(header_end - HEADER_AT, sizeof(bp->hdr)));
	memcpy(partition_at(p, p->layout.kernel), image + start, end - start);
	return 0;
}

const struct image_format x86_bzimage = {
	.name	= "bzImage",
	.parse	= bzimage_parse,
	.place	= bzimage_place,
};
