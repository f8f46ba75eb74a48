/* SPDX-License-Identifier: GPL-2.0 */
/* There is no C library: only what the compiler and FreeRTOS ask for; board/string.c. */
#ifndef _RT_STRING_H
#define _RT_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);

#endif
