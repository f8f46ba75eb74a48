// SPDX-License-Identifier: GPL-2.0
/* vmlinux: what is taken, what is refused and why, and mutations. */
#include "test.h"

#define SIZE	4096

static void make_image(u8 *image)
{
	Elf64_Ehdr *e = (void *)image;
	Elf64_Phdr *ph = (void *)(image + sizeof(*e));

	memset(image, 0, SIZE);
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_type = ET_EXEC;
	e->e_machine = EM_X86_64;
	e->e_entry = SZ_1M * 16 + 0x40;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(*ph);
	e->e_phnum = 2;
	ph[0] = (Elf64_Phdr) { .p_type = PT_LOAD, .p_offset = 1024, .p_filesz = 2048,
		.p_memsz = 2048, .p_paddr = 16 * SZ_1M };
	ph[1] = (Elf64_Phdr) { .p_type = PT_LOAD, .p_offset = 3072, .p_filesz = 512,
		.p_memsz = 4096, .p_paddr = 16 * SZ_1M + 8192 };
	strcpy((char *)image + 1100, "Linux version 6.12.0-elf (x)");
}

static int parse(const u8 *image, u64 size, struct image *out, struct complaint *c)
{
	return parse_copy(&x86_elf, image, size, out, c);
}

static void refused(void (*spoil)(Elf64_Ehdr *e, Elf64_Phdr *ph), const char *reason)
{
	struct complaint c;
	struct image out;
	u8 image[SIZE] __attribute__((aligned(8)));

	make_image(image);
	spoil((void *)image, (void *)(image + sizeof(Elf64_Ehdr)));
	CHECK(parse(image, SIZE, &out, &c) == -ENOEXEC);
	CHECK(strstr(c.text, reason) != NULL);
}

static void is_32_bit(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_ident[EI_CLASS] = ELFCLASS32; }
static void is_arm64(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_machine = EM_AARCH64; }
static void is_module(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_type = ET_REL; }
static void headers_beyond(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_phoff = SIZE - 8; }
static void headers_far(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_phoff = ~0ULL - 7; }
static void cut(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_filesz = ph[1].p_memsz = 4096; }
static void wraps(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_offset = ~0ULL; }
static void too_large(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_memsz = SZ_1G; }
static void empty(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_type = ph[1].p_type = PT_NOTE; }
static void entry_outside(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_entry = 0; }
static void no_banner(Elf64_Ehdr *e, Elf64_Phdr *ph) { ((u8 *)e)[1100] = 'X'; }

static void test_place(void)
{
	static u8 memory[8 * SIZE] __attribute__((aligned(8)));
	struct boot_params bp = {};
	struct partition p = { .ranges = { { .start = (uintptr_t)memory } } };
	struct complaint c = {};

	memset(memory, 0xff, sizeof(memory));
	make_image(memory);
	p.image.size = SIZE;
	p.layout.kernel = SIZE;
	CHECK(x86_elf.place(&p, &bp, &c) == 0);
	CHECK(!memcmp(memory + SIZE, memory + 1024, 2048));
	CHECK(!memcmp(memory + SIZE + 8192, memory + 3072, 512));
	CHECK(!memory[SIZE + 8192 + 512] && !memory[SIZE + 8192 + 4095]);
	CHECK(memory[SIZE + 8192 + 4096] == 0xff);
	CHECK(bp.hdr.boot_flag == 0xaa55);
}

void test_elf(void)
{
	struct complaint c;
	struct image out;
	u8 image[SIZE] __attribute__((aligned(8)));
	u64 size;
	int i, j;

	make_image(image);
	CHECK(parse(image, SIZE, &out, &c) == 0);
	CHECK(out.entry == 0x40 && out.room == 8192 + 4096);
	CHECK(!strcmp(out.version, "6.12.0-elf"));
	CHECK(parse((const u8 *)"no kernel", 9, &out, &c) == -ENOEXEC && !c.text[0]);

	for (size = 0; size < 3584; size += 5)
		CHECK(parse(image, size, &out, &c) == -ENOEXEC);
	refused(is_32_bit, "32-bit");
	refused(is_arm64, "another architecture");
	refused(is_module, "no executable");
	refused(headers_beyond, "broken or cut off");
	refused(headers_far, "broken or cut off");
	refused(cut, "truncated");
	refused(wraps, "truncated");
	refused(too_large, "no sense");
	refused(empty, "no loadable segments");
	refused(entry_outside, "entry lies outside");
	refused(no_banner, "no Linux version");
	test_place();

	for (i = 0; i < 20000; i++) {
		make_image(image);
		for (j = random_u32() % 8; j >= 0; j--)
			image[random_u32() % 192] = random_u32();
		size = random_u32() % (SIZE + 1);
		if (!parse(image, size, &out, &c))
			CHECK(out.room <= SZ_512M && out.entry < out.room);
	}
}
