/* SPDX-License-Identifier: GPL-2.0 */
/* FreeRTOS includes it and uses nothing of it but size_t. */
#ifndef _RT_STDLIB_H
#define _RT_STDLIB_H

#include <stddef.h>

#endif
