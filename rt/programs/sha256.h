/* SPDX-License-Identifier: GPL-2.0 */
/* SHA-256 (FIPS 180-4) of what is in one piece. */
#ifndef _RT_SHA256_H
#define _RT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGEST	32

void sha256(const void *data, size_t size, uint8_t digest[SHA256_DIGEST]);

#endif
