// SPDX-License-Identifier: GPL-2.0
/* The board's printf against the C library's. */
#include <limits.h>
#include "test.h"
#include "text.h"

static size_t ours(char *to, size_t size, const char *format, ...)
{
	size_t length;
	va_list args;

	va_start(args, format);
	length = board_format(to, size, format, args);
	va_end(args);
	return length;
}

#define SAME(...) do {							\
	char a[128] = "?", b[128] = "?";				\
	size_t n = ours(a, sizeof(a), __VA_ARGS__);			\
									\
	CHECK(n == (size_t)snprintf(b, sizeof(b), __VA_ARGS__));	\
	CHECK(!strcmp(a, b));						\
} while (0)

void test_format(void)
{
	char *small = exact_alloc(6), unknown[32];
	int nothing = 0;

	SAME("%s", "");
	SAME("plain");
	SAME("100 %%, %c and %c", 'a', 'b');
	SAME("[%5c] [%-5c]", 'a', 'b');
	SAME("%d %i %u %x", -1, 42, 42, 0xbeef);
	SAME("%d %d", INT_MIN, INT_MAX);
	SAME("%ld %lu %lx", (long)(1UL << 63), -1UL, -1UL);
	SAME("%lld %llu %zu", -5LL, 5ULL, (size_t)7);
	SAME("%hd %hu %hhd %hhu", (short)-2, (unsigned short)65535, (signed char)-3,
	     (unsigned char)255);
	SAME("[%5d] [%-5d] [%05d] [%05d] [%2d]", 42, 42, 42, -42, 12345);
	SAME("[%*d] [%-*d] [%0*x]", 6, 1, 6, 2, 8, 0xabc);
	SAME("[%8s] [%-8s] [%.3s] [%.*s] [%8.2s]", "ab", "cd", "abcdef", 2, "xyz", "abc");
	SAME("[%s] [%.0s] [%1s]", "whole", "none", "longer");
	SAME("%p", (void *)&nothing);
	SAME("T: 0 ( 0) P:99 I:%u C: %7lu Min: %6lu Act: %6lu Avg: %6lu Max: %6lu",
	     1000, 10000UL, 12UL, 345UL, 6789UL, 1234567890UL);

	CHECK(ours(small, 6, "%s", "123456789") == 9 && !strcmp(small, "12345"));
	CHECK(ours(small, 1, "%d", 77) == 2 && !*small);
	CHECK(ours(NULL, 0, "%d", 777) == 3);
	/* what it does not know is seen, and a format that ends early ends */
	CHECK(ours(unknown, sizeof(unknown), "%q %") == 3 && !strcmp(unknown, "%q "));
	CHECK(ours(unknown, sizeof(unknown), "%s", NULL) == 6 && !strcmp(unknown, "(null)"));
	free(small);
}

/* A number in a field: flags, width and size at random, in a buffer that it may not fit. */
static void fuzz_number(void)
{
	static const char * const letters[] = { "d", "u", "x", "ld", "lu", "lx" };
	unsigned int letter = random_below(ARRAY_SIZE(letters));
	__u64 value = random_u64() >> random_below(64);
	size_t size = 1 + random_below(40), n;
	char format[32], wanted[64], *got = exact_alloc(size);

	snprintf(format, sizeof(format), "%%%s%s%.0u%s", random_below(2) ? "-" : "",
		 random_below(2) ? "0" : "", random_below(30), letters[letter]);
	if (letter < 3)
		n = ours(got, size, format, (unsigned int)value);
	else
		n = ours(got, size, format, value);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (letter < 3)
		MUST(n == (size_t)snprintf(wanted, sizeof(wanted), format, (unsigned int)value));
	else
		MUST(n == (size_t)snprintf(wanted, sizeof(wanted), format, value));
#pragma GCC diagnostic pop
	wanted[size - 1 < sizeof(wanted) ? size - 1 : sizeof(wanted) - 1] = 0;
	MUST(!strcmp(got, wanted));
	free(got);
}

void fuzz_format(__u64 seed)
{
	int i;

	random_seed(seed);
	for (i = 0; i < 2000; i++)
		fuzz_number();
}
