// SPDX-License-Identifier: GPL-2.0
/*
 * Image, the file of an arm64 kernel (Documentation/arch/arm64/booting.rst), which
 * distributions ship as vmlinuz.  It is a program for UEFI, too: that part of its header says
 * where its code ends.
 */
#include <linux/ctype.h>
#include <linux/elf.h>
#include <linux/io.h>
#include <linux/pe.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/image.h>
#include <asm/sysreg.h>

#include "arch.h"
#include "arm64.h"

#define IMAGE_MAX_ROOM		SZ_512M
#define BZIMAGE_MAGIC_AT	0x202

/* What files begin with that are kernels, but none that can be entered as it is. */
static const struct {
	unsigned int at, len;
	const char *magic;
	const char *what;
} image_others[] = {
	{ 0, 2, "\x1f\x8b", "compressed by gzip: unpack it by `zcat`" },
	{ 0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd: unpack it by `zstd -dc`" },
	{ 0, 6, "\xfd\x37zXZ", "compressed by xz: unpack it by `xz -dc`" },
	{ 0, 4, "\x02\x21\x4c\x18", "compressed by lz4: unpack it by `lz4 -dc`" },
	{ 4, 4, "zimg", "compressed in a program for UEFI: unpack it first" },
	{ BZIMAGE_MAGIC_AT, 4, "HdrS", "for x86, and this machine is an arm64 one" },
	{ 0, SELFMAG, ELFMAG, "an ELF file: give its Image, as it is made for booting" },
};

static int image_refuse_other(const void *image, u64 size, struct complaint *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(image_others); i++)
		if (image_others[i].at + image_others[i].len <= size &&
		    !memcmp(image + image_others[i].at, image_others[i].magic,
			    image_others[i].len))
			return shimos_refuse(c, -ENOEXEC, "the kernel is %s", image_others[i].what);
	return shimos_refuse(c, -ENOEXEC, "the file is no arm64 Linux kernel: no Image");
}

/* Its pages can be as large as these CPUs know. */
static int image_check_pages(u64 flags, struct complaint *c)
{
	bool known;
	u32 kib;

	switch (arm64_image_flag_field(flags, ARM64_IMAGE_FLAG_PAGE_SIZE)) {
	case ARM64_IMAGE_FLAG_PAGE_SIZE_16K:
		kib = 16;
		known = system_supports_16kb_granule();
		break;
	case ARM64_IMAGE_FLAG_PAGE_SIZE_64K:
		kib = 64;
		known = system_supports_64kb_granule();
		break;
	default:
		return 0;
	}
	if (known)
		return 0;
	return shimos_refuse(c, -ENOEXEC,
			     "the kernel has pages of %u KiB, which this machine's CPUs do not know",
			     kib);
}

/* Its banner, "Linux version 6.1.0-50-cloud-arm64 (...", is somewhere in it. */
static void image_find_version(const void *image, u64 size, char *to, size_t room)
{
	static const char banner[] = "Linux version ";
	const char *at = image, *end = image + size - sizeof(banner) - room;
	size_t i;

	for (; at < end; at++) {
		at = memchr(at, *banner, end - at);
		if (!at)
			return;
		if (memcmp(at, banner, sizeof(banner) - 1) || !isdigit(at[sizeof(banner) - 1]))
			continue;
		at += sizeof(banner) - 1;
		for (i = 0; i < room - 1 && at[i] > ' ' && at[i] < 0x7f; i++)
			to[i] = at[i];
		to[i] = '\0';
		return;
	}
}

int kloader_arch_parse_image(const void *image, u64 size, struct image *out,
			     struct complaint *c)
{
	const struct arm64_image_header *h = image;
	u64 flags;

	if (size < sizeof(*h) || memcmp(&h->magic, ARM64_IMAGE_MAGIC, sizeof(h->magic)))
		return image_refuse_other(image, size, c);
	flags = le64_to_cpu(h->flags);
	if (arm64_image_flag_field(flags, ARM64_IMAGE_FLAG_BE))
		return shimos_refuse(c, -ENOEXEC,
				     "the kernel is a big-endian one; a little-endian kernel is needed");
	if (h->text_offset || !h->image_size)
		return shimos_refuse(c, -ENOEXEC,
				     "the kernel is older than Linux 5.8, which is needed");
	if (le64_to_cpu(h->image_size) > IMAGE_MAX_ROOM || le64_to_cpu(h->image_size) < size)
		return shimos_refuse(c, -ENOEXEC,
				     "the kernel's header makes no sense: a file of %llu bytes, and memory of %llu",
				     size, le64_to_cpu(h->image_size));
	out->align = SZ_2M;
	out->room = le64_to_cpu(h->image_size);
	out->entry = 0;
	image_find_version(image, size, out->version, sizeof(out->version));
	return image_check_pages(flags, c);
}

/**
 * arm64_image_text() - how far a kernel's code can reach, from its load address
 * @image: has been parsed
 * @size: its bytes
 * @start: gets the first offset
 * @end: gets where it ends; 0: it does not say
 *
 * By the first section that can be run, in which constants and code of the boot follow.  What is
 * before it, and the boot's code, is RAM once it runs.
 *
 * Context: any.
 */
void arm64_image_text(const void *image, u64 size, u64 *start, u64 *end)
{
	const struct arm64_image_header *h = image;
	u64 at = le32_to_cpu(h->res5);
	const struct pe_hdr *pe = image + at;
	const struct section_header *section;

	*start = *end = 0;
	if (at + sizeof(*pe) > size || pe->magic != PE_MAGIC)
		return;
	at += sizeof(*pe) + pe->opt_hdr_size;
	section = image + at;
	if (!pe->sections || at + sizeof(*section) > size)
		return;
	if ((u64)section->virtual_address + section->virtual_size > size)
		return;
	*start = section->virtual_address;
	*end = *start + section->virtual_size;
}
