// SPDX-License-Identifier: GPL-2.0
/*
 * An uncompressed vmlinux.  It is linked for a physical address and relocates
 * itself by as much as it finds itself away from there; its own address
 * randomisation happens in the bzImage's decompressor and so does not.
 */
#include <linux/elf.h>
#include <linux/io.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/bootparam.h>

#include "x86.h"

#define MAX_SEGMENTS	64
#define BANNER		"Linux version "

static const Elf64_Phdr *elf_segments(const void *image)
{
	const Elf64_Ehdr *ehdr = image;

	return image + ehdr->e_phoff;
}

/* Lowest and highest physical address; checks each segment against the file. */
static int elf_measure(const void *image, u64 size, u64 *low, u64 *high,
		       struct complaint *c)
{
	const Elf64_Ehdr *ehdr = image;
	const Elf64_Phdr *ph = elf_segments(image);
	int i;

	*low = U64_MAX;
	*high = 0;
	for (i = 0; i < ehdr->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || !ph[i].p_memsz)
			continue;
		if (ph[i].p_offset > size || ph[i].p_filesz > size - ph[i].p_offset)
			return shimos_refuse(c, -ENOEXEC, "the kernel is truncated: segment %d lies beyond its end", i);
		if (ph[i].p_filesz > ph[i].p_memsz || ph[i].p_memsz > SZ_512M ||
		    ph[i].p_paddr > SZ_1G)
			return shimos_refuse(c, -ENOEXEC, "segment %d of the kernel makes no sense", i);
		*low = min(*low, ph[i].p_paddr);
		*high = max(*high, ph[i].p_paddr + ph[i].p_memsz);
	}
	if (*low >= *high || *high - *low > SZ_512M)
		return shimos_refuse(c, -ENOEXEC, "the ELF file has no loadable segments of a kernel's size");
	return 0;
}

static void elf_copy_version(const char *image, u64 size, struct image *out)
{
	const size_t len = strlen(BANNER);
	u64 at, i;

	for (at = 0; at + len + sizeof(out->version) < size; at++) {
		if (image[at] != 'L' || memcmp(image + at, BANNER, len))
			continue;
		for (i = 0; i < sizeof(out->version) - 1; i++) {
			char ch = image[at + len + i];

			if (ch <= ' ' || ch >= 0x7f)
				break;
			out->version[i] = ch;
		}
		out->version[i] = '\0';
		if (i && out->version[0] != '%')
			return;
	}
}

static int elf_parse(const void *image, u64 size, struct image *out,
		     struct complaint *c)
{
	const Elf64_Ehdr *ehdr = image;
	u64 low, high;
	int ret;

	if (size < SELFMAG || memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (size < sizeof(*ehdr))
		return shimos_refuse(c, -ENOEXEC, "the kernel is truncated: not even an ELF header");
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64)
		return shimos_refuse(c, -ENOEXEC, "the kernel is a 32-bit one; a 64-bit kernel is needed");
	if (ehdr->e_ident[EI_DATA] != ELFDATA2LSB || ehdr->e_machine != EM_X86_64)
		return shimos_refuse(c, -ENOEXEC, "the kernel is for another architecture (ELF machine %u); x86-64 is needed",
				     ehdr->e_machine);
	if (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN)
		return shimos_refuse(c, -ENOEXEC, "the ELF file is no executable (type %u): not a kernel",
				     ehdr->e_type);
	if (ehdr->e_phentsize != sizeof(Elf64_Phdr) || !ehdr->e_phnum ||
	    ehdr->e_phnum > MAX_SEGMENTS || ehdr->e_phoff > size ||
	    ehdr->e_phnum * sizeof(Elf64_Phdr) > size - ehdr->e_phoff ||
	    !IS_ALIGNED(ehdr->e_phoff, 8))
		return shimos_refuse(c, -ENOEXEC, "the ELF file's program headers are broken or cut off");
	ret = elf_measure(image, size, &low, &high, c);
	if (ret)
		return ret;
	if (ehdr->e_entry < low || ehdr->e_entry >= high)
		return shimos_refuse(c, -ENOEXEC, "the ELF file's entry lies outside of it: not a kernel");
	out->align = SZ_2M;
	out->room = high - low;
	out->entry = ehdr->e_entry - low;
	elf_copy_version(image, size, out);
	if (!out->version[0])
		return shimos_refuse(c, -ENOEXEC, "the ELF file names no Linux version: not a kernel");
	out->format = &x86_elf;
	return 0;
}

/* Of tens of MiB: others of this CPU have their turn between pieces. */
static void elf_clear(void *to, u64 size)
{
	u64 at;

	for (at = 0; at < size; at += SZ_1M) {
		memset(to + at, 0, min_t(u64, SZ_1M, size - at));
		cond_resched();
	}
}

/* The same. */
static void elf_copy(void *to, const void *from, u64 size)
{
	u64 at;

	for (at = 0; at < size; at += SZ_1M) {
		memcpy(to + at, from + at, min_t(u64, SZ_1M, size - at));
		cond_resched();
	}
}

static int elf_place(struct partition *p, struct boot_params *bp,
		     struct complaint *c)
{
	const void *image = partition_at(p, p->layout.stash);
	const Elf64_Ehdr *ehdr = image;
	const Elf64_Phdr *ph = elf_segments(image);
	void *to = partition_at(p, p->layout.kernel);
	u64 low, high;
	int i, ret;

	ret = elf_measure(image, p->image.size, &low, &high, c);
	if (ret)
		return ret;
	elf_clear(to, high - low);
	for (i = 0; i < ehdr->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			elf_copy(to + ph[i].p_paddr - low, image + ph[i].p_offset,
				 ph[i].p_filesz);
	bp->hdr.boot_flag = 0xaa55;
	memcpy(&bp->hdr.header, "HdrS", 4);
	bp->hdr.version = 0x20f;
	bp->hdr.loadflags = LOADED_HIGH;
	bp->hdr.kernel_alignment = SZ_2M;
	return 0;
}

const struct image_format x86_elf = {
	.name	= "ELF",
	.parse	= elf_parse,
	.place	= elf_place,
};
