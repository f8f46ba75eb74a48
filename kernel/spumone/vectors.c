// SPDX-License-Identifier: GPL-2.0
/* Which interrupts a CPU has had that RTOSes share, and whose they were. */
#include <linux/export.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <uapi/shimos.h>

#include "spumone.h"

static void vectors_fill(const struct layer_counts *counts, struct shimos_rt_vectors *to)
{
	unsigned int i;

	BUILD_BUG_ON(LAYER_VECTORS != SHIMOS_RT_VECTORS);
	for (i = 0; i < LAYER_VECTORS; i++) {
		to->host[i].count = counts->given[i];
		to->host[i].number = i;
		strscpy_pad(to->host[i].name, spumone_arch_vector_name(i),
			    sizeof(to->host[i].name));
	}
	to->layer[0] = (struct shimos_rt_vector_count) { counts->fired, LAYER_VECTOR, "timer" };
	to->layer[1] = (struct shimos_rt_vector_count) { counts->rung, LAYER_BELL_VECTOR, "bell" };
}

/* On the CPU, interrupts off: none is counted or taken meanwhile. */
static void vectors_look(void *to)
{
	const struct layer_shared *shared = spumone_look();

	if (shared)
		vectors_fill(&shared->counts, to);
}

void spumone_vectors(unsigned int cpu, struct shimos_rt_vectors *to)
{
	static const struct layer_counts none;

	vectors_fill(&none, to);
	/* an error: it is offline, and its instance begins anew when it comes back */
	smp_call_function_single(cpu, vectors_look, to, 1);
}
EXPORT_SYMBOL_GPL(spumone_vectors);
