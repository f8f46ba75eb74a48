// SPDX-License-Identifier: GPL-2.0
/* Why something is refused; each module that refuses has this file linked in. */
#include <linux/kernel.h>
#include <shimos/complaint.h>

int shimos_refuse(struct complaint *c, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, args);
	va_end(args);
	return err;
}
