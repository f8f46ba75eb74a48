// SPDX-License-Identifier: GPL-2.0
/* The direct map at the start of physical memory on arm64. */
#include "../../backend.h"

/*
 * A partition's CPUs may start anywhere, so nothing of its own is there, and RAM at 0,
 * which some machines have, is added as any other.
 */
int user_memory_arch_map_start(u64 *start)
{
	return 0;
}
