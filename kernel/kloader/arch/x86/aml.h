/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing ACPI Machine Language (ACPI 6.5, chapter 20): as much of it as
 * describes devices by constant objects.
 */
#ifndef _KLOADER_X86_AML_H
#define _KLOADER_X86_AML_H

#include <linux/types.h>

/**
 * struct aml - what is written, and where to
 * @buf: gets it
 * @room: of @buf, bytes
 * @len: bytes that are written
 * @overflow: something did not fit and was left out: look once, at the end
 */
struct aml {
	u8 *buf;
	size_t room;
	size_t len;
	bool overflow;
};

/**
 * struct aml_mark - a length that is known when the object ends; objects may nest
 * @package: offset of the package length
 * @size: offset of a buffer's size, in buffers only
 */
struct aml_mark {
	size_t package;
	size_t size;
};

/* Names are four characters, the last ones '_' where they are shorter. */
struct aml_mark aml_begin_scope(struct aml *a, const char *name);
struct aml_mark aml_begin_device(struct aml *a, const char *name);
void aml_end(struct aml *a, struct aml_mark mark);

void aml_name_integer(struct aml *a, const char *name, u64 value);
void aml_name_bytes(struct aml *a, const char *name, const u8 *bytes, u8 count);
void aml_name_id(struct aml *a, const char *name, const char *id);

/* A list of resources (section 6.4), then: */
struct aml_mark aml_begin_resources(struct aml *a, const char *name);
void aml_buses(struct aml *a, u16 first, u16 last);
void aml_ports(struct aml *a, u16 first, u16 last);
void aml_memory(struct aml *a, u64 first, u64 last, bool consumer);
void aml_end_resources(struct aml *a, struct aml_mark mark);

#endif
