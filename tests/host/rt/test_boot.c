// SPDX-License-Identifier: GPL-2.0
/* What a boot record must be like to be believed. */
#include "test.h"
#include "text.h"

static const struct shimos_rt_boot good = {
	.magic = SHIMOS_RT_MAGIC,
	.version = SHIMOS_RT_VERSION,
	.size = sizeof(struct shimos_rt_boot),
	.memory = 4 << 20,
	.shared = (4 << 20) - SHIMOS_SHARED_SIZE,
	.cycles_per_second = 2000000000,
};

/* Complaints, and whether they can be told on the console. */
static void wrong(struct shimos_rt_boot boot, bool readable)
{
	CHECK(board_boot_complaint(&boot));
	CHECK(board_boot_readable(&boot) == readable);
}

#define WRONG(readable, field, value) do {		\
	struct shimos_rt_boot boot = good;		\
							\
	boot.field = value;				\
	wrong(boot, readable);				\
} while (0)

void test_boot(void)
{
	struct shimos_rt_boot longer = good;

	CHECK(!board_boot_complaint(&good) && board_boot_readable(&good));
	longer.size += 8;
	CHECK(!board_boot_complaint(&longer));

	WRONG(false, magic, 0);
	WRONG(false, size, sizeof(good) - 1);
	WRONG(false, memory, 0);
	WRONG(false, memory, SHIMOS_RT_MIN_MEMORY - 4096);
	WRONG(false, memory, SHIMOS_RT_MAX_MEMORY + 4096);
	WRONG(false, shared, 0);
	WRONG(false, shared, good.shared + 1);
	WRONG(false, shared, good.shared + 4096);
	WRONG(false, shared, -4096ULL);
	WRONG(true, version, SHIMOS_RT_VERSION + 1);
	WRONG(true, cycles_per_second, 0);
	WRONG(true, cycles_per_second, 999);
}
