/* SPDX-License-Identifier: GPL-2.0 */
/* What the unit tests share: counting checks, random numbers, parsing copies. */
#ifndef _UNIT_TEST_H
#define _UNIT_TEST_H

#include "x86.h"

extern unsigned int checks_passed, checks_failed;

#define CHECK(what) check((what), #what, __FILE__, __LINE__)
void check(bool ok, const char *what, const char *file, int line);

/* A small generator of the same numbers each time. */
u32 random_u32(void);

/* Parse a copy of just that size, so that ASan sees each byte read too far. */
int parse_copy(const struct image_format *format, const u8 *image, u64 size,
	       struct image *out, struct complaint *c);

void test_aml(void);
void test_bzimage(void);
void test_elf(void);
void test_cmdline(void);
void test_guest(void);
void test_identity(void);
void test_poison(void);
void test_svm(void);

#endif
