// SPDX-License-Identifier: GPL-2.0
/*
 * Nested page tables by which every address is what it is physically, in the largest
 * pages, but for what is hidden.  Pure: the unit tests compile it.
 */
#include <linux/errno.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>

#include "tables.h"

#define IDENTITY_LARGEST	2	/* the level of pages of 1 GiB */

/* A processor that finds the last two set writes nothing here. */
#define IDENTITY_FLAGS	(TABLES_PRESENT | TABLES_WRITE | TABLES_USER | TABLES_ACCESSED | TABLES_DIRTY)

/* Bytes that an entry of a level stands for. */
static u64 identity_span(int level)
{
	return 1ULL << (12 + level * TABLES_BITS);
}

static unsigned int identity_index(u64 address, int level)
{
	return address / identity_span(level) % TABLES_ENTRIES;
}

static u64 identity_page(u64 address, int level)
{
	return address | IDENTITY_FLAGS | (level ? TABLES_LARGE : 0);
}

/* The table that an entry leads to.  If it is a large page, the next smaller ones say the same. */
static u64 *identity_below(struct spumone_tables *t, u64 *entry, int level)
{
	u64 *table, physical, was = *entry;
	unsigned int i;

	if (was & TABLES_PRESENT && !(was & TABLES_LARGE))
		return phys_to_virt(was & TABLES_ADDRESS);
	table = tables_new(t, &physical);
	if (!table)
		return NULL;
	for (i = 0; was && i < TABLES_ENTRIES; i++)
		table[i] = identity_page((was & TABLES_ADDRESS) + i * identity_span(level - 1),
					 level - 1);
	*entry = physical | IDENTITY_FLAGS;
	return table;
}

/**
 * identity_fill() - everything up to an address
 * @t: new, with its root only
 * @root: that
 * @top: its level
 * @end: in whole GiB
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int identity_fill(struct spumone_tables *t, u64 *root, int top, u64 end)
{
	u64 at, *table;
	int level;

	for (at = 0; at < end; at += identity_span(IDENTITY_LARGEST)) {
		table = root;
		for (level = top; table && level > IDENTITY_LARGEST; level--)
			table = identity_below(t, &table[identity_index(at, level)], level);
		if (!table)
			return -ENOMEM;
		table[identity_index(at, IDENTITY_LARGEST)] = identity_page(at, IDENTITY_LARGEST);
	}
	return 0;
}

/**
 * identity_hide() - nothing from one address up to another
 * @t: identity_fill() has filled it
 * @table: its root
 * @level: the root's
 * @from: whole pages
 * @to: the first that is there again
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int identity_hide(struct spumone_tables *t, u64 *table, int level, u64 from, u64 to)
{
	u64 span = identity_span(level), at, next, *entry;
	int ret = 0;

	for (at = from; !ret && at < to; at = next) {
		next = min((at / span + 1) * span, to);
		entry = &table[identity_index(at, level)];
		if (!*entry)
			continue;
		if (next - at == span) {
			*entry = 0;
			continue;
		}
		ret = identity_below(t, entry, level) ? 0 : -ENOMEM;
		if (!ret)
			ret = identity_hide(t, phys_to_virt(*entry & TABLES_ADDRESS), level - 1,
					    at, next);
	}
	return ret;
}

/**
 * identity_place() - something else at one page
 * @t: identity_fill() has filled it
 * @table: its root
 * @level: the root's
 * @address: the page's
 * @entry: of the last level
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int identity_place(struct spumone_tables *t, u64 *table, int level, u64 address, u64 entry)
{
	for (; table && level; level--)
		table = identity_below(t, &table[identity_index(address, level)], level);
	if (!table)
		return -ENOMEM;
	table[identity_index(address, 0)] = entry;
	return 0;
}
