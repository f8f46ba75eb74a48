/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A text beside an error number.  Whatever refuses a user's wish says there what
 * is wrong, why, and what to do about it.
 */
#ifndef _SHIMOS_COMPLAINT_H
#define _SHIMOS_COMPLAINT_H

#include <linux/compiler.h>

#define SHIMOS_COMPLAINT_LEN	512	/* with the final NUL */

/**
 * struct complaint - why something was refused
 * @text: NUL-terminated
 */
struct complaint {
	char text[SHIMOS_COMPLAINT_LEN];
};

/**
 * shimos_refuse() - write why something is refused
 * @c: where to
 * @err: the error number
 * @fmt: the text, as for printf()
 *
 * Context: any.
 * Return: @err, so that callers can ``return shimos_refuse(...)``.
 */
__printf(3, 4)
int shimos_refuse(struct complaint *c, int err, const char *fmt, ...);

#endif
