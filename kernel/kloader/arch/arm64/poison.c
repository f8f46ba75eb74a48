// SPDX-License-Identifier: GPL-2.0
/*
 * Stopping CPUs of a kernel that does not hear: nothing stops a CPU from outside here, but it
 * runs what is in memory.  All of its kernel's code becomes branches to a call of the
 * firmware that switches the CPU off.
 *
 * What is code its own page tables say, if the agent has said where they are.  They are the
 * partition's, so nothing of them is believed that leads out of its memory, or does not end.
 * Without them it is what the image has before its data, but for pages that are empty in
 * it: among these are the page tables of the boot, without which a CPU would not even find
 * the branches.
 */
#include <linux/bitfield.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/pgtable-hwdef.h>
#include <uapi/shimos_arm64.h>

#include "arm64.h"

#define POISON_PAGE		SZ_4K	/* the smallest: each can be run by itself */
#define POISON_INSTRUCTIONS	(POISON_PAGE / sizeof(u32))

#define POISON_MOV_OFF		0x52800040	/* mov w0, #2 */
#define POISON_MOVK_OFF		0x72b08000	/* movk w0, #0x8400, lsl #16: CPU_OFF */
#define POISON_HVC		0xd4000002	/* hvc #0 */
#define POISON_SMC		0xd4000003	/* smc #0 */
#define POISON_CALL_LEN		3
#define POISON_BRANCH		0x14000000	/* b */
#define POISON_BRANCH_TO	GENMASK(25, 0)	/* instructions from here on */

/* Descriptors, whatever the size of pages is. */
#define POISON_VALID		BIT(0)
#define POISON_TABLE		BIT(1)		/* on the last level: a page */
#define POISON_ADDRESS		GENMASK_ULL(49, 12)
#define POISON_PXN		BIT_ULL(53)
#define POISON_PXN_TABLE	BIT_ULL(59)

#define POISON_LAST_LEVEL	3

struct poison_walk {
	struct partition *p;
	unsigned int granule;	/* bits of an address inside of a page */
	/* What is still looked at, so that it ends: no kernel has as much. */
	u64 tables_left, pages_left;
};

/* Wherever in it a CPU is, or comes to. */
static void poison_page(void *page)
{
	bool hvc = arm64_psci_conduit() == SMCCC_CONDUIT_HVC;
	u32 *code = page;
	unsigned int i;

	WRITE_ONCE(code[0], POISON_MOV_OFF);
	WRITE_ONCE(code[1], POISON_MOVK_OFF);
	WRITE_ONCE(code[2], hvc ? POISON_HVC : POISON_SMC);
	for (i = POISON_CALL_LEN; i < POISON_INSTRUCTIONS; i++)
		WRITE_ONCE(code[i], POISON_BRANCH | (-i & POISON_BRANCH_TO));
	arm64_cache_clean(page, POISON_PAGE);
}

/* ---- by page tables ---- */

/* A part of its memory, or NULL. */
static void *poison_find(struct partition *p, u64 start, u64 size)
{
	u32 i;

	for (i = 0; i < p->range_count; i++) {
		const struct shimos_range *range = &p->ranges[i];

		if (start >= range->start && start - range->start < range->size &&
		    size <= range->size - (start - range->start))
			return phys_to_virt(start);
	}
	return NULL;
}

static void poison_code(struct poison_walk *w, u64 start, u64 size)
{
	u64 at;
	void *page;

	for (at = start; at < start + size; at += POISON_PAGE) {
		page = poison_find(w->p, at, POISON_PAGE);
		if (!page || !w->pages_left)
			return;
		poison_page(page);
		w->pages_left--;
	}
}

/* Where a descriptor leads; above 48 bits none of the machines' RAM is that we know. */
static u64 poison_target(const struct poison_walk *w, u64 descriptor)
{
	return descriptor & POISON_ADDRESS & GENMASK_ULL(47, w->granule);
}

static unsigned int poison_shift(const struct poison_walk *w, int level)
{
	return w->granule + (POISON_LAST_LEVEL - level) * (w->granule - 3);
}

static void poison_table(struct poison_walk *w, u64 table, u32 entries, int level)
{
	const u64 *descriptors = poison_find(w->p, table, entries * sizeof(u64));
	u64 descriptor;
	u32 i;

	if (!descriptors || !w->tables_left)
		return;
	w->tables_left--;
	for (i = 0; i < entries; i++) {
		descriptor = READ_ONCE(descriptors[i]);
		if (!(descriptor & POISON_VALID))
			continue;
		if (level < POISON_LAST_LEVEL && descriptor & POISON_TABLE) {
			if (!(descriptor & POISON_PXN_TABLE))
				poison_table(w, poison_target(w, descriptor),
					     BIT(w->granule - 3), level + 1);
		} else if (!(descriptor & POISON_PXN)) {
			poison_code(w, poison_target(w, descriptor),
				    BIT_ULL(poison_shift(w, level)));
		}
	}
	cond_resched();
}

static unsigned int poison_granule(u64 control)
{
	switch (control & TCR_TG1_MASK) {
	case TCR_TG1_4K:
		return 12;
	case TCR_TG1_16K:
		return 14;
	case TCR_TG1_64K:
		return 16;
	}
	return 0;
}

/**
 * arm64_poison_mapped() - let all that its kernel can run switch the CPU off, its modules' code too
 * @p: its CPUs do not hear
 *
 * Its page tables may say anything; only its own memory is written.
 *
 * Context: may sleep.
 * Return: whether there was anything to do.
 */
bool arm64_poison_mapped(struct partition *p)
{
	const struct shimos_arm64 *said = (void *)p->shared + SHIMOS_PLATFORM;
	u64 control = READ_ONCE(said->control), tables = READ_ONCE(said->tables);
	struct poison_walk w = {
		.p = p,
		.granule = poison_granule(control),
		.tables_left = p->memory / SZ_1M + 1024,
		.pages_left = p->memory / POISON_PAGE,
	};
	unsigned int bits = 64 - FIELD_GET(TCR_T1SZ_MASK, control), levels;

	if (!tables || !w.granule || bits <= w.granule || bits > 52)
		return false;
	levels = DIV_ROUND_UP(bits - w.granule, w.granule - 3);
	poison_table(&w, tables, BIT(bits - poison_shift(&w, POISON_LAST_LEVEL + 1 - levels)),
		     POISON_LAST_LEVEL + 1 - levels);
	arm64_cache_forget_code();
	return w.pages_left < p->memory / POISON_PAGE;
}

/* ---- by the image ---- */

/**
 * arm64_poison_image() - let its image's code switch the CPU off
 * @p: its CPUs do not hear
 *
 * Context: may sleep.
 * Return: whether there was anything to do.
 */
bool arm64_poison_image(struct partition *p)
{
	const struct arm64_partition *a = arm64_of(p);
	const void *image = partition_at(p, p->layout.stash);
	u64 at;

	for (at = ALIGN(a->text, POISON_PAGE); at + POISON_PAGE <= a->text_end; at += POISON_PAGE) {
		if (memchr_inv(image + at, 0, POISON_PAGE))
			poison_page(partition_at(p, p->layout.kernel + at));
		if (!(at & (SZ_1M - 1)))
			cond_resched();
	}
	arm64_cache_forget_code();
	return a->text_end > a->text;
}
