// SPDX-License-Identifier: GPL-2.0
/* Kernel command lines on arm64: what containment needs, and what may not be said against it. */
#include <linux/kernel.h>

#include "arch.h"

static const struct cmdline_refused arm64_cmdline_refused[] = {
#define REFUSED(name, reason)	{ name, reason },
#include "refused.h"
#undef REFUSED
};

int kloader_arch_check_cmdline(const char *cmdline, struct complaint *c)
{
	return cmdline_check(cmdline, arm64_cmdline_refused, ARRAY_SIZE(arm64_cmdline_refused), c);
}

/*
 * crash_kexec_post_notifiers: a kernel that panics then switches its other CPUs off, where
 * it would otherwise leave them in a loop that hears nothing.
 *
 * Not panic=0, which would say the same as the other one: Debian's initramfs takes any panic=
 * for the wish to have no shell and to halt instead.
 */
int kloader_arch_append_cmdline(struct partition *p, char *buf, size_t len)
{
	return snprintf(buf, len, "crash_kexec_post_notifiers sysctl.kernel.panic=0");
}
