// SPDX-License-Identifier: GPL-2.0
/* Runs the unit tests of KLoader's and SPUMONE's pure code; `make check`. */
#include "test.h"

unsigned int checks_passed, checks_failed;
unsigned int tsc_khz = 2000000;

void check(bool ok, const char *what, const char *file, int line)
{
	if (ok) {
		checks_passed++;
		return;
	}
	checks_failed++;
	printf("%s:%d: failed: %s\n", file, line, what);
}

u32 random_u32(void)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

int parse_copy(const struct image_format *format, const u8 *image, u64 size,
	       struct image *out, struct complaint *c)
{
	u8 *copy = malloc(size ?: 1);
	int ret;

	memcpy(copy, image, size);
	memset(c, 0, sizeof(*c));
	memset(out, 0, sizeof(*out));
	ret = format->parse(copy, size, out, c);
	free(copy);
	return ret;
}

int main(void)
{
	test_aml();
	test_bzimage();
	test_elf();
	test_cmdline();
	test_guest();
	test_identity();
	test_poison();
	test_svm();
	printf("%u passed, %u failed\n", checks_passed, checks_failed);
	return checks_failed != 0;
}
