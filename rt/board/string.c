// SPDX-License-Identifier: GPL-2.0
/* By string instructions, for the compiler would make a loop a call of the same function. */
#include <string.h>

void *memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	asm volatile("rep movsb" : "+D" (at), "+S" (from), "+c" (n) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *end = (unsigned char *)to + n - 1;
	const unsigned char *last = (const unsigned char *)from + n - 1;

	if (to <= from || !n)
		return memcpy(to, from, n);
	asm volatile("std\n\trep movsb\n\tcld" : "+D" (end), "+S" (last), "+c" (n) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *at = to;

	asm volatile("rep stosb" : "+D" (at), "+c" (n) : "a" (byte) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}
