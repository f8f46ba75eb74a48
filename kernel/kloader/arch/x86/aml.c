// SPDX-License-Identifier: GPL-2.0
/*
 * Writing ACPI Machine Language: names, constants, devices and their resources.
 * Section numbers are those of ACPI 6.5.
 */
#include <linux/string.h>

#include "aml.h"

/* Opcodes, section 20.3 */
#define OP_NAME		0x08
#define OP_BYTE		0x0a
#define OP_WORD		0x0b
#define OP_DWORD	0x0c
#define OP_QWORD	0x0e
#define OP_SCOPE	0x10
#define OP_BUFFER	0x11
#define OP_PACKAGE	0x12
#define OP_EXTENDED	0x5b
#define OP_DEVICE	0x82	/* behind OP_EXTENDED */

/* Resource descriptors, section 6.4 */
#define RES_WORD	0x88
#define RES_QWORD	0x8a
#define RES_END		0x79
#define SPACE_MEMORY	0
#define SPACE_PORTS	1
#define SPACE_BUSES	2
#define FIXED		0x0c	/* both ends */
#define CONSUMER	0x01
#define MEMORY_WRITABLE	0x01	/* and not cached */
#define PORTS_ALL	0x03	/* no ISA aliases */

static void aml_put(struct aml *a, u64 value, unsigned int bytes)
{
	if (a->room - a->len < bytes) {
		a->overflow = true;
		return;
	}
	while (bytes--) {
		a->buf[a->len++] = value;
		value >>= 8;
	}
}

static void aml_put_text(struct aml *a, const char *text)
{
	while (*text)
		aml_put(a, *text++, 1);
}

static void aml_put_integer(struct aml *a, u64 value)
{
	static const struct {
		u8 op, bytes;
	} forms[] = {
		{ OP_BYTE, 1 }, { OP_WORD, 2 }, { OP_DWORD, 4 }, { OP_QWORD, 8 },
	};
	int i = 0;

	while (forms[i].bytes < 8 && value >> (8 * forms[i].bytes))
		i++;
	aml_put(a, forms[i].op, 1);
	aml_put(a, value, forms[i].bytes);
}

/* Section 20.2.4, always the form of three bytes: they are filled in later. */
static size_t aml_put_package_length(struct aml *a)
{
	size_t at = a->len;

	aml_put(a, 0, 3);
	return at;
}

/**
 * aml_end() - a scope or a device ends
 * @a: written to
 * @mark: of its begin
 *
 * Context: any.
 */
void aml_end(struct aml *a, struct aml_mark mark)
{
	size_t length = a->len - mark.package;

	if (a->overflow)
		return;
	a->buf[mark.package] = 2 << 6 | (length & 0xf);	/* two bytes follow */
	a->buf[mark.package + 1] = length >> 4;
	a->buf[mark.package + 2] = length >> 12;
}

/**
 * aml_begin_scope() - what follows is in a scope, until aml_end() (ACPI 6.5, 20.2.5.1)
 * @a: written to
 * @name: four characters, the last ones '_' where it is shorter
 *
 * Context: any.
 * Return: for aml_end().
 */
struct aml_mark aml_begin_scope(struct aml *a, const char *name)
{
	struct aml_mark mark = {};

	aml_put(a, OP_SCOPE, 1);
	mark.package = aml_put_package_length(a);
	aml_put_text(a, "\\");
	aml_put_text(a, name);
	return mark;
}

/**
 * aml_begin_device() - what follows is a device, until aml_end() (20.2.5.2)
 * @a: written to
 * @name: four characters
 *
 * Context: any.
 * Return: for aml_end().
 */
struct aml_mark aml_begin_device(struct aml *a, const char *name)
{
	struct aml_mark mark = {};

	aml_put(a, OP_EXTENDED, 1);
	aml_put(a, OP_DEVICE, 1);
	mark.package = aml_put_package_length(a);
	aml_put_text(a, name);
	return mark;
}

static void aml_put_name(struct aml *a, const char *name)
{
	aml_put(a, OP_NAME, 1);
	aml_put_text(a, name);
}

/**
 * aml_name_integer() - a name stands for a number
 * @a: written to
 * @name: four characters
 * @value: the number
 *
 * Context: any.
 */
void aml_name_integer(struct aml *a, const char *name, u64 value)
{
	aml_put_name(a, name);
	aml_put_integer(a, value);
}

/**
 * aml_name_bytes() - a name stands for a package of small numbers
 * @a: written to
 * @name: four characters
 * @bytes: the numbers
 * @count: how many
 *
 * Context: any.
 */
void aml_name_bytes(struct aml *a, const char *name, const u8 *bytes, u8 count)
{
	struct aml_mark mark = {};
	u8 i;

	aml_put_name(a, name);
	aml_put(a, OP_PACKAGE, 1);
	mark.package = aml_put_package_length(a);
	aml_put(a, count, 1);
	for (i = 0; i < count; i++)
		aml_put_integer(a, bytes[i]);
	aml_end(a, mark);
}

static u8 aml_hex_digit(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'A' + 10;
}

/**
 * aml_name_id() - a name stands for an identifier
 * @a: written to
 * @name: four characters
 * @id: three letters and four hexadecimal digits: "PNP0A08"
 *
 * As EISAID of section 19.6.36: letters in five bits each, bytes from the left.
 *
 * Context: any.
 */
void aml_name_id(struct aml *a, const char *name, const char *id)
{
	u16 letters = (id[0] & 0x1f) << 10 | (id[1] & 0x1f) << 5 | (id[2] & 0x1f);

	aml_put_name(a, name);
	aml_put(a, OP_DWORD, 1);
	aml_put(a, letters >> 8, 1);
	aml_put(a, letters & 0xff, 1);
	aml_put(a, aml_hex_digit(id[3]) << 4 | aml_hex_digit(id[4]), 1);
	aml_put(a, aml_hex_digit(id[5]) << 4 | aml_hex_digit(id[6]), 1);
}

/**
 * aml_begin_resources() - a name stands for a list of resources, until aml_end_resources() (6.4)
 * @a: written to
 * @name: four characters
 *
 * Context: any.
 * Return: for aml_end_resources().
 */
struct aml_mark aml_begin_resources(struct aml *a, const char *name)
{
	struct aml_mark mark;

	aml_put_name(a, name);
	aml_put(a, OP_BUFFER, 1);
	mark.package = aml_put_package_length(a);
	aml_put(a, OP_WORD, 1);
	mark.size = a->len;
	aml_put(a, 0, 2);
	return mark;
}

/* Address space descriptors, section 6.4.3.5: five numbers of one width. */
static void aml_put_range(struct aml *a, u8 space, u8 flags, u8 type_flags,
			  unsigned int width, u64 first, u64 last)
{
	aml_put(a, width == 8 ? RES_QWORD : RES_WORD, 1);
	aml_put(a, 3 + 5 * width, 2);
	aml_put(a, space, 1);
	aml_put(a, flags, 1);
	aml_put(a, type_flags, 1);
	aml_put(a, 0, width);		/* granularity */
	aml_put(a, first, width);
	aml_put(a, last, width);
	aml_put(a, 0, width);		/* translation */
	aml_put(a, last - first + 1, width);
}

/**
 * aml_buses() - a resource: bus numbers
 * @a: in a list of resources
 * @first: the first one
 * @last: the last one
 *
 * Context: any.
 */
void aml_buses(struct aml *a, u16 first, u16 last)
{
	aml_put_range(a, SPACE_BUSES, FIXED, 0, 2, first, last);
}

/**
 * aml_ports() - a resource: ports
 * @a: in a list of resources
 * @first: the first one
 * @last: the last one
 *
 * Context: any.
 */
void aml_ports(struct aml *a, u16 first, u16 last)
{
	aml_put_range(a, SPACE_PORTS, FIXED, PORTS_ALL, 2, first, last);
}

/**
 * aml_memory() - a resource: memory
 * @a: in a list of resources
 * @first: the first physical address
 * @last: the last one
 * @consumer: the device uses it itself, and does not hand it on
 *
 * Context: any.
 */
void aml_memory(struct aml *a, u64 first, u64 last, bool consumer)
{
	aml_put_range(a, SPACE_MEMORY, FIXED | (consumer ? CONSUMER : 0),
		      MEMORY_WRITABLE, 8, first, last);
}

/**
 * aml_end_resources() - the list ends
 * @a: written to
 * @mark: of aml_begin_resources()
 *
 * Context: any.
 */
void aml_end_resources(struct aml *a, struct aml_mark mark)
{
	size_t size;

	aml_put(a, RES_END, 1);
	aml_put(a, 0, 1);		/* no checksum */
	if (a->overflow)
		return;
	size = a->len - mark.size - 2;
	a->buf[mark.size] = size;
	a->buf[mark.size + 1] = size >> 8;
	aml_end(a, mark);
}
