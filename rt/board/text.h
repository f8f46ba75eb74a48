/* SPDX-License-Identifier: GPL-2.0 */
/* Texts and the ring they go to: no CPU and no layer, so that tests in user space have them, too. */
#ifndef _RT_TEXT_H
#define _RT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include "shimos_rt.h"
#include "shimos_shared.h"

size_t board_format(char *to, size_t size, const char *format, va_list args);
void board_ring_put(struct shimos_console_out *ring, const char *text, size_t length);
bool board_boot_readable(const struct shimos_rt_boot *boot);
const char *board_boot_complaint(const struct shimos_rt_boot *boot);

#endif
