// SPDX-License-Identifier: GPL-2.0
/* What Linux calls the interrupts that it has given a vector for good. */
#include <asm/irq_vectors.h>

#include "../../spumone.h"

/* As /proc/interrupts; all others are of devices, and come and go. */
static const char * const vectors_names[LAYER_VECTORS] = {
	[DEFERRED_ERROR_VECTOR]		= "DFR",
	[IRQ_WORK_VECTOR]		= "IWI",
	[X86_PLATFORM_IPI_VECTOR]	= "PLT",
	[THRESHOLD_APIC_VECTOR]		= "THR",
	[THERMAL_APIC_VECTOR]		= "TRM",
	[LOCAL_TIMER_VECTOR]		= "LOC",
	[CALL_FUNCTION_SINGLE_VECTOR]	= "CAL",
	[CALL_FUNCTION_VECTOR]		= "CAL",
	[RESCHEDULE_VECTOR]		= "RES",
	[ERROR_APIC_VECTOR]		= "ERR",
	[SPURIOUS_APIC_VECTOR]		= "SPU",
};

const char *spumone_arch_vector_name(unsigned int vector)
{
	return vectors_names[vector] ?: "";
}
