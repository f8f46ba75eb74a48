// SPDX-License-Identifier: GPL-2.0
/* What the compiler calls for copies and zeroes. */
#include <stddef.h>

void *memset(void *to, int byte, size_t len);
void *memcpy(void *to, const void *from, size_t len);

void *memset(void *to, int byte, size_t len)
{
	void *at = to;

	asm volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
	void *at = to;

	asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
	return to;
}
