/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files that write a partition's ACPI tables. */
#ifndef _SHIMOS_X86_ACPI_H
#define _SHIMOS_X86_ACPI_H

#include <linux/acpi.h>

#include "x86.h"

/**
 * struct x86_acpi_builder - the tables so far
 * @p: whose they are
 * @next: offset of the next free byte in its memory
 * @tables: physical addresses for the XSDT
 * @count: how many
 */
struct x86_acpi_builder {
	struct partition *p;
	u64 next;
	u64 tables[6];
	unsigned int count;
};

void *x86_acpi_new_table(struct x86_acpi_builder *b, size_t len);
u64 x86_acpi_finish(struct x86_acpi_builder *b, struct acpi_table_header *h,
		    const char *signature, u8 revision, u32 len);
void x86_acpi_add_numa(struct x86_acpi_builder *b);

#endif
