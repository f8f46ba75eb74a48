/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TESTS_RT_H
#define _TESTS_RT_H

#include "check.h"

void test_boot(void);
void test_format(void);
void fuzz_format(__u64 seed);
void test_ring(void);
void fuzz_ring(__u64 seed);
void test_period(void);
void fuzz_period(__u64 seed);
void test_pendulum(void);
void test_sha256(void);

#endif
