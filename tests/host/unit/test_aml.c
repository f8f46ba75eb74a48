// SPDX-License-Identifier: GPL-2.0
/*
 * The AML writer against bytes taken from the specification's grammar (ACPI 6.5,
 * chapter 20), and with too little room.
 */
#include "test.h"
#include "aml.h"

static bool is(const struct aml *a, const void *bytes, size_t len)
{
	return a->len == len && !memcmp(a->buf, bytes, len);
}

#define IS(a, bytes) is(a, bytes, sizeof(bytes) - 1)

static struct aml fresh(void)
{
	static u8 buf[512];

	memset(buf, 0xee, sizeof(buf));
	return (struct aml){ .buf = buf, .room = sizeof(buf) };
}

static void test_names(void)
{
	static const u8 five[] = { 5, 5, 0, 0 };
	struct aml a = fresh();

	aml_name_integer(&a, "_BBN", 0x42);
	aml_name_integer(&a, "_SEG", 0x1234);
	aml_name_integer(&a, "_UID", 0x12345678);
	aml_name_integer(&a, "_ADR", 0x123456789ULL);
	CHECK(IS(&a, "\x08_BBN\x0a\x42"
		     "\x08_SEG\x0b\x34\x12"
		     "\x08_UID\x0c\x78\x56\x34\x12"
		     "\x08_ADR\x0e\x89\x67\x45\x23\x01\0\0\0"));
	a = fresh();
	aml_name_id(&a, "_HID", "PNP0A08");	/* well known: 0x080ad041 */
	aml_name_id(&a, "_CID", "PNP0C02");
	CHECK(IS(&a, "\x08_HID\x0c\x41\xd0\x0a\x08" "\x08_CID\x0c\x41\xd0\x0c\x02"));
	a = fresh();
	aml_name_bytes(&a, "_S5_", five, 4);
	CHECK(IS(&a, "\x08_S5_\x12\x8c\0\0\x04\x0a\x05\x0a\x05\x0a\0\x0a\0"));
}

static void test_nesting(void)
{
	struct aml a = fresh();
	struct aml_mark scope = aml_begin_scope(&a, "_SB_"), device;
	int i;

	device = aml_begin_device(&a, "PC00");
	for (i = 0; i < 40; i++)
		aml_name_integer(&a, "_BBN", 1);
	aml_end(&a, device);
	aml_end(&a, scope);
	/* 3 + 4 + 40 * 7 = 0x11f inside, 3 + 5 + 2 + 0x11f = 0x129 outside */
	CHECK(!memcmp(a.buf, "\x10\x89\x12\0\\_SB_\x5b\x82\x8f\x11\0PC00", 18));
	CHECK(a.len == 1 + 0x129);
}

static void test_resources(void)
{
	struct aml a = fresh();
	struct aml_mark mark = aml_begin_resources(&a, "_CRS");

	aml_buses(&a, 1, 1);
	aml_ports(&a, 0x1000, 0x101f);
	aml_memory(&a, 0x4000000000ULL, 0x4000003fffULL, false);
	aml_end_resources(&a, mark);
	CHECK(IS(&a, "\x08_CRS\x11\x86\x05\0\x0b\x50\0"
		     "\x88\x0d\0\x02\x0c\0\0\0\x01\0\x01\0\0\0\x01\0"
		     "\x88\x0d\0\x01\x0c\x03\0\0\0\x10\x1f\x10\0\0\x20\0"
		     "\x8a\x2b\0\0\x0c\x01\0\0\0\0\0\0\0\0"
		     "\0\0\0\0\x40\0\0\0\xff\x3f\0\0\x40\0\0\0"
		     "\0\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0"
		     "\x79\0"));
}

static void write_all(struct aml *a)
{
	struct aml_mark scope = aml_begin_scope(a, "_SB_");
	struct aml_mark device = aml_begin_device(a, "PC00");
	struct aml_mark resources;

	aml_name_id(a, "_HID", "PNP0A08");
	resources = aml_begin_resources(a, "_CRS");
	aml_memory(a, 0x1000, 0x1fff, true);
	aml_end_resources(a, resources);
	aml_end(a, device);
	aml_end(a, scope);
}

/* Every room from none to enough: no byte behind it is written. */
static void test_overflow(void)
{
	struct aml whole = fresh(), a;
	size_t room;

	write_all(&whole);
	CHECK(!whole.overflow);
	for (room = 0; room <= whole.len; room++) {
		a = (struct aml){ .buf = malloc(room ?: 1), .room = room };
		write_all(&a);
		CHECK(a.overflow == (room < whole.len));
		free(a.buf);
	}
}

void test_aml(void)
{
	test_names();
	test_nesting();
	test_resources();
	test_overflow();
}
