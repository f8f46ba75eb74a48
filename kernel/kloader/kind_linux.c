// SPDX-License-Identifier: GPL-2.0
/* The kind of partition that runs a stock Linux on CPUs and memory of its own. */
#include "arch.h"

static int kind_load(struct partition *p, const struct shimos_load *arg,
		     const char *cmdline, struct complaint *c)
{
	return kloader_arch_check_cmdline(cmdline, c) ?: image_load(p, arg, cmdline, c);
}

static int kind_stage(struct partition *p, struct complaint *c)
{
	return image_restage(p, c) ?: kloader_arch_stage(p, c);
}

const struct partition_kind kind_linux = {
	.check_host	= kloader_arch_check_host,
	.create		= kloader_arch_create,
	.destroy	= kloader_arch_destroy,
	.host_bytes	= kloader_arch_host_bytes,
	.load		= kind_load,
	.stage		= kind_stage,
	.start		= kloader_arch_start,
	.halt		= kloader_arch_halt,
	.park		= kloader_arch_park,
	.settle		= kloader_arch_settle,
	.watch		= kloader_arch_watch,
};
