/* SPDX-License-Identifier: GPL-2.0 */
/* Page tables, as the processor reads them. */
#ifndef _SPUMONE_TABLES_H
#define _SPUMONE_TABLES_H

#include <linux/types.h>

#define TABLES_PRESENT	(1ULL << 0)
#define TABLES_WRITE	(1ULL << 1)
#define TABLES_USER	(1ULL << 2)	/* what a guest does is a program's doing, to nested tables */
#define TABLES_ACCESSED	(1ULL << 5)
#define TABLES_DIRTY	(1ULL << 6)
#define TABLES_LARGE	(1ULL << 7)
#define TABLES_NO_RUN	(1ULL << 63)
#define TABLES_ADDRESS	0x000ffffffffff000ULL
#define TABLES_BITS	9
#define TABLES_ENTRIES	(1 << TABLES_BITS)

struct spumone_tables;

/**
 * tables_new() - one more table, empty
 * @t: at the end of its list
 * @physical: gets the table's physical address
 *
 * Context: may sleep.
 * Return: the table, or NULL: no memory.
 */
u64 *tables_new(struct spumone_tables *t, u64 *physical);

/* identity.c; a level's entry stands for 4 KiB, 2 MiB, 1 GiB and so on. */
int identity_fill(struct spumone_tables *t, u64 *root, int top, u64 end);
int identity_hide(struct spumone_tables *t, u64 *table, int level, u64 from, u64 to);
int identity_place(struct spumone_tables *t, u64 *table, int level, u64 address, u64 entry);

#endif
