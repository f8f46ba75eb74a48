// SPDX-License-Identifier: GPL-2.0
/* bzImage headers: what is taken, what is refused and why, and mutations. */
#include "test.h"

#define SIZE		8192
#define SETUP_SECTS	4

static void make_image(u8 *image)
{
	struct setup_header *h = (void *)(image + offsetof(struct boot_params, hdr));

	memset(image, 0, SIZE);
	h->setup_sects = SETUP_SECTS;
	h->boot_flag = 0xaa55;
	memcpy(&h->header, "HdrS", 4);
	h->version = 0x20f;
	h->loadflags = LOADED_HIGH;
	h->xloadflags = XLF_KERNEL_64 | XLF_CAN_BE_LOADED_ABOVE_4G;
	h->kernel_alignment = SZ_2M;
	h->init_size = SZ_64M;
	h->syssize = (SIZE - (SETUP_SECTS + 1) * 512) / 16;
	h->kernel_version = 0x400;
	strcpy((char *)image + 0x600, "6.1.0-test (somebody) #1");
	image[0x201] = 0x6a;
}

static int parse(const u8 *image, u64 size, struct image *out, struct complaint *c)
{
	return parse_copy(&x86_bzimage, image, size, out, c);
}

static void refused(void (*spoil)(struct setup_header *h), const char *reason)
{
	struct complaint c;
	struct image out;
	u8 image[SIZE];

	make_image(image);
	spoil((void *)(image + offsetof(struct boot_params, hdr)));
	CHECK(parse(image, SIZE, &out, &c) == -ENOEXEC);
	CHECK(strstr(c.text, reason) != NULL);
}

static void old_protocol(struct setup_header *h) { h->version = 0x20b; }
static void zimage(struct setup_header *h) { h->loadflags = 0; }
static void only_32_bit(struct setup_header *h) { h->xloadflags &= ~XLF_KERNEL_64; }
static void not_relocatable(struct setup_header *h) { h->xloadflags = XLF_KERNEL_64; }
static void longer(struct setup_header *h) { h->syssize += 100; }
static void odd_alignment(struct setup_header *h) { h->kernel_alignment = 3; }
static void no_room(struct setup_header *h) { h->init_size = 16; }
static void too_much_room(struct setup_header *h) { h->init_size = ~0U; }

static void test_place(void)
{
	static u8 memory[4 * SIZE];
	struct boot_params bp = {};
	struct partition p = { .ranges = { { .start = (uintptr_t)memory } } };
	struct complaint c = {};
	const u64 payload = SIZE - (SETUP_SECTS + 1) * 512;

	make_image(memory);
	memset(memory + SIZE - payload, 0x5a, payload);
	p.image.size = SIZE;
	p.layout.kernel = 2 * SIZE;
	CHECK(x86_bzimage.place(&p, &bp, &c) == 0);
	CHECK(bp.hdr.version == 0x20f && bp.hdr.init_size == SZ_64M);
	CHECK(!memcmp(memory + 2 * SIZE, memory + SIZE - payload, payload));
	CHECK(!memory[2 * SIZE + payload]);
}

void test_bzimage(void)
{
	struct complaint c;
	struct image out;
	u8 image[SIZE];
	u64 size;
	int i, j;

	make_image(image);
	CHECK(parse(image, SIZE, &out, &c) == 0);
	CHECK(out.room == SZ_64M && out.align == SZ_2M && out.entry == 0x200);
	CHECK(!strcmp(out.version, "6.1.0-test"));

	for (size = 0; size < SIZE - 16; size += 7)
		CHECK(parse(image, size, &out, &c) == -ENOEXEC);
	refused(old_protocol, "boot protocol");
	refused(zimage, "zImage");
	refused(only_32_bit, "32-bit");
	refused(not_relocatable, "CONFIG_RELOCATABLE");
	refused(longer, "truncated");
	refused(odd_alignment, "no sense");
	refused(no_room, "no sense");
	refused(too_much_room, "no sense");
	test_place();

	for (i = 0; i < 20000; i++) {
		make_image(image);
		for (j = random_u32() % 8; j >= 0; j--)
			image[0x1f1 + random_u32() % 128] = random_u32();
		size = random_u32() % (SIZE + 1);
		if (!parse(image, size, &out, &c))
			CHECK(out.room <= SZ_512M && out.room >= size / 2 &&
			      is_power_of_2(out.align) &&
			      strnlen(out.version, sizeof(out.version)) < sizeof(out.version));
	}
}
