/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a partition finds that is told of its platform by ACPI: the table that names
 * the area shared with KLoader, and the registers in that area's page SHIMOS_PLATFORM.
 */
#ifndef _UAPI_SHIMOS_ACPI_H
#define _UAPI_SHIMOS_ACPI_H

#include <linux/types.h>

#define SHIMOS_ACPI_SIGNATURE	"SHIM"

/**
 * struct shimos_acpi_table - names the area shared with KLoader
 * @header: struct acpi_table_header
 * @shared: physical address
 * @size: bytes
 */
struct shimos_acpi_table {
	__u8 header[36];
	__u64 shared;
	__u64 size;
} __attribute__((packed));

#define SHIMOS_REG_RESET	0x0	/* FADT RESET_REG, one byte */
#define SHIMOS_REG_SLEEP	0x8	/* FADT SLEEP_CONTROL_REG, one byte */
#define SHIMOS_REG_SLEEP_STATUS	0x10	/* FADT SLEEP_STATUS_REG, one byte */
#define SHIMOS_RESET_VALUE	0x52	/* what a reset writes */

#endif
