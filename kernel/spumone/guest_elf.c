// SPDX-License-Identifier: GPL-2.0
/* The image of an RTOS: an ELF64 executable; uapi/shimos_rt.h says what it may ask for. */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <uapi/shimos_rt.h>

#include "guest.h"

static int guest_elf_header(const Elf64_Ehdr *e, u64 len, struct complaint *c)
{
	if (len < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG))
		return shimos_refuse(c, -ENOEXEC, "the image is no ELF file");
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB ||
	    e->e_machine != EM_X86_64)
		return shimos_refuse(c, -ENOEXEC, "the image is no ELF64 for x86-64");
	if (e->e_type != ET_EXEC)
		return shimos_refuse(c, -ENOEXEC,
				     "the image is not linked for an address (ET_EXEC): link it with -no-pie");
	if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff > len ||
	    e->e_phnum > (len - e->e_phoff) / sizeof(Elf64_Phdr))
		return shimos_refuse(c, -ENOEXEC,
				     "the image is truncated: its segments are beyond its end");
	return 0;
}

static int guest_elf_segment(const Elf64_Phdr *ph, unsigned int i, u64 len, u64 end,
			     struct complaint *c)
{
	if (ph->p_offset > len || ph->p_filesz > len - ph->p_offset)
		return shimos_refuse(c, -ENOEXEC,
				     "the image is truncated: segment %u lies beyond its end", i);
	if (ph->p_filesz > ph->p_memsz)
		return shimos_refuse(c, -ENOEXEC, "segment %u has more in the file than in memory",
				     i);
	if (ph->p_vaddr != ph->p_paddr)
		return shimos_refuse(c, -ENOEXEC,
				     "segment %u has another physical address than virtual", i);
	if (ph->p_vaddr < SHIMOS_RT_FIRST || ph->p_vaddr > end || ph->p_memsz > end - ph->p_vaddr)
		return shimos_refuse(c, -ENOEXEC,
				     "segment %u, %llu bytes at 0x%llx, is not between 0x%x and 0x%llx: give it more memory, or link it elsewhere",
				     i, (u64)ph->p_memsz, (u64)ph->p_vaddr, SHIMOS_RT_FIRST, end);
	if (ph->p_flags & PF_W && ph->p_flags & PF_X)
		return shimos_refuse(c, -ENOEXEC, "segment %u can be written and run", i);
	return 0;
}

static int guest_elf_overlap(const struct guest_image *out, const struct guest_segment *s,
			     unsigned int i, struct complaint *c)
{
	unsigned int other;

	for (other = 0; other < out->count; other++)
		if (s->from < out->segments[other].to && out->segments[other].from < s->to)
			return shimos_refuse(c, -ENOEXEC, "segment %u shares a page with another",
					     i);
	return 0;
}

static int guest_elf_add(const Elf64_Phdr *ph, unsigned int i, struct guest_image *out,
			 struct complaint *c)
{
	struct guest_segment *s = &out->segments[out->count];
	int ret;

	if (out->count == GUEST_SEGMENTS)
		return shimos_refuse(c, -ENOEXEC, "the image has more than %u segments",
				     GUEST_SEGMENTS);
	s->from = ph->p_vaddr & ~(u64)(PAGE_SIZE - 1);
	s->to = ALIGN(ph->p_vaddr + ph->p_memsz, PAGE_SIZE);
	s->offset = ph->p_offset;
	s->address = ph->p_vaddr;
	s->stored = ph->p_filesz;
	s->write = ph->p_flags & PF_W;
	s->run = ph->p_flags & PF_X;
	ret = guest_elf_overlap(out, s, i, c);
	if (!ret)
		out->count++;
	return ret;
}

static bool guest_elf_can_enter(const struct guest_image *out)
{
	unsigned int i;

	for (i = 0; i < out->count; i++)
		if (out->segments[i].run && out->entry >= out->segments[i].from &&
		    out->entry < out->segments[i].to)
			return true;
	return false;
}

int guest_elf_parse(const void *image, u64 len, u64 end, struct guest_image *out,
		    struct complaint *c)
{
	const Elf64_Ehdr *e = image;
	int ret = guest_elf_header(e, len, c);
	Elf64_Phdr ph;
	unsigned int i;

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret;
	out->entry = e->e_entry;
	for (i = 0; i < e->e_phnum; i++) {
		/* it may lie at an odd place */
		memcpy(&ph, image + e->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD || !ph.p_memsz)
			continue;
		ret = guest_elf_segment(&ph, i, len, end, c) ?: guest_elf_add(&ph, i, out, c);
		if (ret)
			return ret;
	}
	if (!guest_elf_can_enter(out))
		return shimos_refuse(c, -ENOEXEC,
				     "the image's entry 0x%llx is in no segment that can be run",
				     out->entry);
	return 0;
}

void guest_elf_page(const void *image, const struct guest_segment *s, u64 at, void *page)
{
	u64 from = max(at, s->address), to = min(at + PAGE_SIZE, s->address + s->stored);

	memset(page, 0, PAGE_SIZE);
	if (from < to)
		memcpy(page + (from - at), image + s->offset + (from - s->address), to - from);
}
