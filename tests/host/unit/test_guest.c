// SPDX-License-Identifier: GPL-2.0
/* The image of an RTOS: what is taken, what is refused and why, and mutations. */
#include "test.h"
#include "guest.h"
#include "uapi/shimos_rt.h"

#define SIZE	4096
#define END	(2 * SZ_1M)

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
	e->e_entry = SZ_1M + 0x40;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 3;
	ph[0] = (Elf64_Phdr) { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 1024,
		.p_filesz = 2048, .p_memsz = 2048, .p_vaddr = SZ_1M, .p_paddr = SZ_1M };
	ph[1] = (Elf64_Phdr) { .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 3072,
		.p_filesz = 512, .p_memsz = 8192, .p_vaddr = SZ_1M + 4096, .p_paddr = SZ_1M + 4096 };
	ph[2] = (Elf64_Phdr) { .p_type = PT_GNU_STACK, .p_offset = ~0ULL };
}

static int parse(const u8 *image, u64 size, struct guest_image *out, struct complaint *c)
{
	u8 *copy = malloc(size ?: 1);
	int ret;

	memcpy(copy, image, size);
	memset(c, 0, sizeof(*c));
	ret = guest_elf_parse(copy, size, END, out, c);
	free(copy);
	return ret;
}

static void refused(void (*spoil)(Elf64_Ehdr *e, Elf64_Phdr *ph), const char *reason)
{
	u8 image[SIZE] __attribute__((aligned(8)));
	struct guest_image out;
	struct complaint c;

	make_image(image);
	spoil((void *)image, (void *)(image + sizeof(Elf64_Ehdr)));
	CHECK(parse(image, SIZE, &out, &c) == -ENOEXEC);
	CHECK(strstr(c.text, reason) != NULL);
}

static void is_32_bit(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_ident[EI_CLASS] = ELFCLASS32; }
static void is_arm64(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_machine = EM_AARCH64; }
static void is_pie(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_type = ET_DYN; }
static void headers_beyond(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_phoff = SIZE - 8; }
static void headers_far(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_phoff = ~0ULL - 7; }
static void other_headers(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_phentsize = 32; }
static void cut(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_filesz = 4096; }
static void wraps(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_offset = ~0ULL; }
static void more_stored(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_memsz = 2047; }
static void low(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_vaddr = ph[0].p_paddr = SHIMOS_RT_FIRST - 4096; }
static void high(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_memsz = SZ_1M; }
static void beyond(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_vaddr = ph[1].p_paddr = END + 4096; }
static void endless(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_memsz = ~0ULL; }
static void elsewhere(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_paddr += 4096; }
static void both(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_flags |= PF_X; }
static void same_page(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[1].p_vaddr = ph[1].p_paddr = SZ_1M + 2048; }
static void empty(Elf64_Ehdr *e, Elf64_Phdr *ph) { ph[0].p_type = PT_NOTE; }
static void entry_in_data(Elf64_Ehdr *e, Elf64_Phdr *ph) { e->e_entry = SZ_1M + 4096; }

static void test_many(void)
{
	u8 image[SIZE] __attribute__((aligned(8)));
	Elf64_Ehdr *e = (void *)image;
	Elf64_Phdr *ph = (void *)(image + sizeof(*e));
	struct guest_image out;
	struct complaint c;
	int i;

	make_image(image);
	e->e_phnum = GUEST_SEGMENTS + 1;
	for (i = 2; i < e->e_phnum; i++) {
		ph[i] = ph[0];
		ph[i].p_offset = 0;
		ph[i].p_vaddr = ph[i].p_paddr = SZ_1M + 4096 * (i + 8);
	}
	CHECK(parse(image, SIZE, &out, &c) == -ENOEXEC && strstr(c.text, "more than 16"));
	e->e_phnum--;
	CHECK(parse(image, SIZE, &out, &c) == 0 && out.count == GUEST_SEGMENTS);
}

/* Whatever is in the headers: what is taken can be copied, and keeps the promises. */
static void test_mutations(void)
{
	u8 image[SIZE] __attribute__((aligned(8))), page[4096];
	const struct guest_segment *s;
	struct guest_image out;
	struct complaint c;
	unsigned int taken = 0;
	u64 size;
	int i, j;

	for (i = 0; i < 50000; i++) {
		make_image(image);
		for (j = random_u32() % 3; j >= 0; j--)
			image[random_u32() % 240] = random_u32();
		size = random_u32() % 8 ? SIZE : random_u32() % (SIZE + 1);
		if (parse(image, size, &out, &c))
			continue;
		taken++;
		for (s = out.segments; s < out.segments + out.count; s++) {
			CHECK(s->offset <= size && s->stored <= size - s->offset);
			CHECK(s->from >= SHIMOS_RT_FIRST && s->to <= END && s->from < s->to);
			CHECK(s->address >= s->from && s->address + s->stored <= s->to);
			CHECK(!(s->write && s->run));
			guest_elf_page(image, s, s->from, page);
		}
	}
	CHECK(taken > 1000);
}

/* The text begins at 64 in its page and has 2048 bytes; its data come later, and end in zeros. */
static void test_pages(void)
{
	u8 image[SIZE] __attribute__((aligned(8))), page[4096], zeros[4096] = { 0 };
	Elf64_Phdr *ph = (void *)(image + sizeof(Elf64_Ehdr));
	const struct guest_segment *s;
	struct guest_image out;
	struct complaint c;

	make_image(image);
	memset(image + 1024, 0xa5, 2560);
	ph[0].p_vaddr = ph[0].p_paddr = SZ_1M + 64;
	ph[1].p_vaddr = ph[1].p_paddr = SZ_1M + 8192 - 256;
	CHECK(parse(image, SIZE, &out, &c) == 0 && out.count == 2);
	s = &out.segments[0];
	guest_elf_page(image, s, s->from, page);
	CHECK(!memcmp(page, zeros, 64) && !memcmp(page + 64, image + 1024, 2048));
	CHECK(!memcmp(page + 64 + 2048, zeros, 4096 - 64 - 2048));
	/* one that goes on in the next page, and has nothing of the file in the one after that */
	s = &out.segments[1];
	guest_elf_page(image, s, s->from, page);
	CHECK(!memcmp(page, zeros, 3840) && !memcmp(page + 3840, image + 3072, 256));
	guest_elf_page(image, s, s->from + 4096, page);
	CHECK(!memcmp(page, image + 3328, 256) && !memcmp(page + 256, zeros, 3840));
	guest_elf_page(image, s, s->from + 8192, page);
	CHECK(!memcmp(page, zeros, 4096));
}

void test_guest(void)
{
	u8 image[SIZE] __attribute__((aligned(8)));
	struct guest_image out;
	struct complaint c;
	u64 size;

	make_image(image);
	CHECK(parse(image, SIZE, &out, &c) == 0);
	CHECK(out.entry == SZ_1M + 0x40 && out.count == 2);
	CHECK(out.segments[0].run && !out.segments[0].write);
	CHECK(out.segments[1].write && out.segments[1].to == SZ_1M + 12288);
	CHECK(parse((const u8 *)"no image", 8, &out, &c) == -ENOEXEC && strstr(c.text, "no ELF file"));
	for (size = 0; size < 3584; size += 5)
		CHECK(parse(image, size, &out, &c) == -ENOEXEC);
	refused(is_32_bit, "no ELF64");
	refused(is_arm64, "no ELF64");
	refused(is_pie, "-no-pie");
	refused(headers_beyond, "truncated");
	refused(headers_far, "truncated");
	refused(other_headers, "truncated");
	refused(cut, "segment 1 lies beyond");
	refused(wraps, "segment 0 lies beyond");
	refused(more_stored, "more in the file");
	refused(low, "not between");
	refused(high, "not between");
	refused(beyond, "not between");
	refused(endless, "not between");
	refused(elsewhere, "another physical address");
	refused(both, "written and run");
	refused(same_page, "shares a page");
	refused(empty, "entry");
	refused(entry_in_data, "entry");
	test_many();
	test_pages();
	test_mutations();
}
