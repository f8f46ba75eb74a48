// SPDX-License-Identifier: GPL-2.0
/*
 * arm64: whatever a partition's kernel can run becomes a call that switches the CPU off, and
 * nothing else is touched, whatever its page tables say.
 */
#include "test.h"
#include "../../../kernel/kloader/arch/arm64/arm64.h"
#include "uapi/shimos_arm64.h"

#define MEMORY		SZ_2M
#define FILL		0xa5
#define VALID		1UL
#define TABLE		3UL		/* or a page, on the last level */
#define PXN		BIT(53)
#define PXN_TABLE	BIT(59)
#define TOP_4K		(TCR_TG1_4K | 16 << 16)		/* 48 bits */
#define TOP_16K		(TCR_TG1_16K | 17 << 16)	/* 47 bits */
#define TOP_64K		(TCR_TG1_64K | 22 << 16)	/* 42 bits */
#define TOP_LARGE	(TCR_TG1_4K | 12 << 16)		/* 52 bits */

static u8 *memory;
static struct arm64_partition arch;
static struct partition part = { .arch = &arch, .range_count = 1 };
static unsigned int forgot;
static enum arm_smccc_conduit conduit = SMCCC_CONDUIT_HVC;

void arm64_cache_clean(const void *start, u64 size)
{
	CHECK((const u8 *)start >= memory && (const u8 *)start + size <= memory + MEMORY);
}

void arm64_cache_forget_code(void)
{
	forgot++;
}

enum arm_smccc_conduit arm64_psci_conduit(void)
{
	return conduit;
}

/* A page of it is what a CPU may run, and ends in the call. */
static bool is_poisoned(u64 at)
{
	const u32 *code = (const u32 *)(memory + at);
	unsigned int i;

	if (code[0] != 0x52800040 || code[1] != 0x72b08000 ||
	    code[2] != (conduit == SMCCC_CONDUIT_HVC ? 0xd4000002 : 0xd4000003))
		return false;
	for (i = 3; i < SZ_4K / 4; i++)
		if (code[i] >> 26 != 5 || ((s64)((u64)code[i] << 38) >> 38) != -(s64)i)
			return false;
	return true;
}

static bool is_untouched(u64 at)
{
	return !memchr_inv(memory + at, FILL, SZ_4K);
}

static void begin(u64 table, u64 control)
{
	struct shimos_arm64 *said;

	memset(memory, FILL, MEMORY);
	part.ranges[0] = (struct shimos_range){ (uintptr_t)memory, MEMORY };
	part.memory = MEMORY;
	part.shared = (void *)(memory + MEMORY - 0x10000);
	said = (void *)part.shared + SHIMOS_PLATFORM;
	said->tables = table ? (uintptr_t)memory + table : 0;
	said->control = control;
	forgot = 0;
}

static u64 *table_at(u64 at, u64 size)
{
	return memset(memory + at, 0, size);
}

static u64 to(u64 at, u64 attributes)
{
	return ((uintptr_t)memory + at) | attributes;
}

/* A chain of tables, the last of which is returned. */
static u64 *chain(u64 at, u64 size, unsigned int levels)
{
	while (--levels) {
		table_at(at, size)[0] = to(at + size, TABLE);
		at += size;
	}
	return table_at(at, size);
}

static void test_pages(void)
{
	u64 *last;

	begin(0x10000, TOP_4K);
	last = chain(0x10000, SZ_4K, 4);
	last[0] = to(0x100000, TABLE);
	last[1] = to(0x101000, TABLE | PXN);
	last[2] = to(0x102000, TABLE & ~VALID);
	last[511] = to(0x103000, TABLE);
	CHECK(arm64_poison_mapped(&part) && forgot == 1);
	CHECK(is_poisoned(0x100000) && is_untouched(0x101000));
	CHECK(is_untouched(0x102000) && is_poisoned(0x103000) && is_untouched(0x104000));
}

static void test_tables_that_forbid(void)
{
	u64 *top, *last;

	begin(0x10000, TOP_4K);
	last = chain(0x10000, SZ_4K, 4);
	last[0] = to(0x100000, TABLE);
	top = (u64 *)(memory + 0x10000);
	top[0] |= PXN_TABLE;
	CHECK(!arm64_poison_mapped(&part));
	CHECK(is_untouched(0x100000));
}

/* Level 2 of pages of 4 KiB: 2 MiB, of which only what is its own is looked at. */
static void test_blocks(void)
{
	u64 *last, at;

	begin(0x10000, TOP_4K);
	last = chain(0x10000, SZ_4K, 3);
	last[0] = ((uintptr_t)memory & ~(u64)(SZ_2M - 1)) | VALID;
	CHECK(arm64_poison_mapped(&part));
	for (at = 0; at < MEMORY; at += SZ_4K)
		CHECK(is_poisoned(at));
}

static void test_granules(void)
{
	u64 *last;

	begin(0x10000, TOP_16K);
	last = chain(0x10000, 0x4000, 3);
	last[0] = to(0x100000, TABLE);
	CHECK(arm64_poison_mapped(&part));
	CHECK(is_poisoned(0x100000) && is_poisoned(0x103000) && is_untouched(0x104000));

	begin(0x10000, TOP_64K);
	last = chain(0x10000, 0x10000, 2);
	last[3] = to(0x100000, TABLE);
	CHECK(arm64_poison_mapped(&part));
	CHECK(is_poisoned(0x100000) && is_poisoned(0x10f000) && is_untouched(0x110000));

	/* five levels; the first has sixteen entries */
	begin(0x10000, TOP_LARGE);
	last = chain(0x10000, SZ_4K, 5);
	last[7] = to(0x100000, TABLE);
	CHECK(arm64_poison_mapped(&part));
	CHECK(is_poisoned(0x100000) && is_untouched(0x101000));
}

static void test_strangers(void)
{
	static u64 outside[2 * SZ_4K / 8] __attribute__((aligned(SZ_4K)));
	u64 *last;

	begin(0x10000, TOP_4K);
	last = chain(0x10000, SZ_4K, 4);
	last[0] = (uintptr_t)outside | TABLE;
	last[1] = to(MEMORY, TABLE);
	last[2] = ((uintptr_t)memory - SZ_4K) | TABLE;
	CHECK(!arm64_poison_mapped(&part));
	CHECK(!memchr_inv(outside, 0, sizeof(outside)));
	begin(0, TOP_4K);
	CHECK(!arm64_poison_mapped(&part));
	begin(0x10000, 0);
	CHECK(!arm64_poison_mapped(&part));
	begin(MEMORY - SZ_4K + 8, TOP_4K);
	CHECK(!arm64_poison_mapped(&part));
}

/* Each entry leads back to the table, which says that it is no code, or to all of its memory. */
static void test_circles(void)
{
	u64 *table, i;

	begin(0x10000, TOP_4K);
	table = table_at(0x10000, SZ_4K);
	for (i = 0; i < 512; i++)
		table[i] = i & 1 ? to(0x10000, TABLE | PXN) :
				   ((uintptr_t)memory & ~(u64)(SZ_1G - 1)) | VALID;
	arm64_poison_mapped(&part);
	CHECK(forgot == 1);
}

/* Random tables write nowhere else: ASan and arm64_cache_clean() look. */
static void test_random(void)
{
	static const u64 tops[] = { TOP_4K, TOP_16K, TOP_64K, TOP_LARGE };
	unsigned int round, i;
	u64 *words;

	for (round = 0; round < 200; round++) {
		begin(0x10000, tops[round % 4]);
		words = (u64 *)(memory + 0x10000);
		for (i = 0; i < 0x10000; i++)
			words[i] = to(random_u32() % (2 * MEMORY), random_u32() % 4) |
				   (u64)(random_u32() & 0xf) << 52;
		arm64_poison_mapped(&part);
		CHECK(forgot == 1);
	}
}

static void test_image(void)
{
	begin(0, 0);
	part.layout.stash = 0x100000;
	part.layout.kernel = 0x20000;
	memset(memory + 0x102000, 0, SZ_4K);		/* empty in it: a page table, once it runs */
	arch = (struct arm64_partition){ .text = 0x1000, .text_end = 0x4000 };
	CHECK(arm64_poison_image(&part) && forgot == 1);
	CHECK(is_untouched(0x20000) && is_poisoned(0x21000));
	CHECK(is_untouched(0x22000) && is_poisoned(0x23000) && is_untouched(0x24000));
	CHECK(is_untouched(0x101000));
	arch.text_end = arch.text = 0;
	CHECK(!arm64_poison_image(&part));
}

void test_poison(void)
{
	memory = aligned_alloc(SZ_2M, MEMORY);
	test_pages();
	test_tables_that_forbid();
	test_blocks();
	test_granules();
	test_strangers();
	test_circles();
	test_random();
	conduit = SMCCC_CONDUIT_SMC;
	test_image();
	free(memory);
}
