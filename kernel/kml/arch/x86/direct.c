// SPDX-License-Identifier: GPL-2.0
/*
 * The C functions of the stock handlers, for events that come often.
 *
 * A stock stub returns to CPL 3, from where a trusted program has to be promoted
 * by another fault. For these our own stub calls the function itself. Which it
 * is, the stock stub says: the one that it calls.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include "kml.h"
#include "x86.h"

static bool direct = true;
module_param(direct, bool, 0444);
MODULE_PARM_DESC(direct, "call handlers of frequent events directly (default on)");

/* of the stock stubs; the longest has about 60 */
#define STUB_BYTES	96
#define JMP		0xe9
#define PUSH_BYTE	0x6a

unsigned long kml_direct[256];

/* All are called with regs and, if at all, the error code or vector. */
static const char *const functions[] = {
	"exc_page_fault",
	"common_interrupt",
	"sysvec_apic_timer_interrupt",
	"sysvec_reschedule_ipi",
	"sysvec_call_function",
	"sysvec_call_function_single",
};

/* Device interrupts: push the vector, jump to what is common. */
static const u8 *kml_direct_common_part(const u8 *code)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (!memcmp(code, endbr, sizeof(endbr)))
		code += sizeof(endbr);
	if (code[0] == PUSH_BYTE && code[2] == JMP)
		return (const u8 *)kml_branch_target(code + 2);
	return code;
}

/*
 * The function that a stock stub calls: the first call is of error_entry, and no
 * byte of what follows up to the second looks like a call.
 */
static unsigned long kml_direct_called_by(unsigned long stub, unsigned long error_entry)
{
	const u8 *code = kml_direct_common_part((const u8 *)stub);
	bool entered = false;
	int i;

	for (i = 0; i < STUB_BYTES; i++) {
		if (code[i] != KML_CALL)
			continue;
		if (entered)
			return kml_branch_target(code + i);
		if (kml_branch_target(code + i) == error_entry) {
			entered = true;
			i += KML_BRANCH_SIZE - 1;
		}
	}
	return 0;
}

/**
 * kml_direct_init() - find the handlers that our stubs may call without the kernel's entries
 *
 * What is not found goes the stock way.
 *
 * Context: process; after the stock IDT was copied to kml_stock.
 */
void kml_direct_init(void)
{
	unsigned long error_entry = kml_symbol("error_entry");
	int i, vector;

	for (i = 0; direct && error_entry && i < ARRAY_SIZE(functions); i++) {
		unsigned long function = kml_symbol(functions[i]);

		for (vector = 0; function && vector < ARRAY_SIZE(kml_direct); vector++)
			if (kml_stock[vector] &&
			    kml_direct_called_by(kml_stock[vector], error_entry) == function)
				kml_direct[vector] = function;
	}
}
