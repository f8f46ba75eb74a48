// SPDX-License-Identifier: GPL-2.0
#include "text.h"

/**
 * board_boot_readable() - whether a boot record is one, and says where the console is
 */
bool board_boot_readable(const struct shimos_rt_boot *boot)
{
	return boot->magic == SHIMOS_RT_MAGIC && boot->size >= sizeof(*boot) &&
	       boot->memory >= SHIMOS_RT_MIN_MEMORY && boot->memory <= SHIMOS_RT_MAX_MEMORY &&
	       boot->shared % 4096 == 0 && boot->shared >= SHIMOS_RT_FIRST &&
	       boot->shared <= boot->memory - SHIMOS_SHARED_SIZE;
}

/**
 * board_boot_complaint() - what is wrong with a boot record
 *
 * Return: a text, or NULL if nothing is
 */
const char *board_boot_complaint(const struct shimos_rt_boot *boot)
{
	if (!board_boot_readable(boot))
		return "this is no boot record";
	if (boot->version != SHIMOS_RT_VERSION)
		return "the boot record is of another version: build the program for the same release as the host's";
	/* a timer of 1 kHz divides by a thousandth of it */
	if (boot->cycles_per_second < 1000000)
		return "the boot record has an impossible clock";
	return NULL;
}
