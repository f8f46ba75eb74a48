// SPDX-License-Identifier: GPL-2.0
/* An image into the memory that this process and the image's share, at the image's own addresses. */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core.h"

static char file_bytes[1 << 20];

static const Elf64_Ehdr *load_read(const char *file)
{
	int fd = open(file, O_RDONLY);

	if (fd < 0 || read(fd, file_bytes, sizeof(file_bytes)) < (ssize_t)sizeof(Elf64_Ehdr))
		core_broken("%s cannot be read", file);
	close(fd);
	return (const Elf64_Ehdr *)file_bytes;
}

/* What ring 3 does differently without a fault. */
static void load_patch(unsigned char *text, __u64 size)
{
	__u64 i;

	for (i = 0; i + 3 <= size; i++) {
		/* pushf; pop; cli */
		if (text[i] == 0x9c && (text[i + 1] & 0xf8) == 0x58 && text[i + 2] == 0xfa)
			text[i] = CORE_PUSHF;
		/* a hypervisor below us might take a vmmcall for its own */
		if (!memcmp(text + i, "\x0f\x01\xd9", 3))
			memset(text + i, CORE_VMMCALL, 3);
	}
}

/* Returns the entry. */
__u64 core_load(const char *file)
{
	const Elf64_Ehdr *header = load_read(file);
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(file_bytes + header->e_phoff);
	void *memory = mmap((void *)CORE_FIRST, CORE_MEMORY - CORE_FIRST, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int i;

	if (memory != (void *)CORE_FIRST)
		core_broken("there is no memory at 0x%lx", CORE_FIRST);
	for (i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type != PT_LOAD)
			continue;
		memcpy((void *)segment->p_paddr, file_bytes + segment->p_offset, segment->p_filesz);
		if (segment->p_flags & PF_X)
			load_patch((unsigned char *)segment->p_paddr, segment->p_filesz);
	}
	return header->e_entry;
}

/* In the image's process: what the segments say, as the layer does. */
void core_protect(const char *file)
{
	const Elf64_Ehdr *header = load_read(file);
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(file_bytes + header->e_phoff);
	int i, protection;

	for (i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type != PT_LOAD)
			continue;
		protection = PROT_READ | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
			     (segment->p_flags & PF_X ? PROT_EXEC : 0);
		if (mprotect((void *)segment->p_paddr, segment->p_memsz, protection))
			core_broken("the segment at 0x%lx cannot be protected", segment->p_paddr);
	}
}
