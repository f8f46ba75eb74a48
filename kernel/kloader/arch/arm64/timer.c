// SPDX-License-Identifier: GPL-2.0
/* The timers that each CPU has, and by which interrupts of its own they come. */
#include <linux/acpi.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <dt-bindings/interrupt-controller/arm-gic.h>
#include <dt-bindings/interrupt-controller/irq.h>

#include "arm64.h"

#define PPI_FIRST	16	/* of the interrupts' numbers */
#define PPIS		16

/* One cell each: which sort, which one, and its trigger. */
static void arm64_timer_of_tree(struct device_node *node, struct shimos_platform *out)
{
	static const char *const names[] = { "sec-phys", "phys", "virt", "hyp-phys" };
	bool named = of_find_property(node, "interrupt-names", NULL);
	struct of_phandle_args irq;
	int i, at;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		at = named ? of_property_match_string(node, "interrupt-names", names[i]) : i;
		if (at < 0 || of_irq_parse_one(node, at, &irq))
			continue;
		of_node_put(irq.np);
		if (irq.args_count < 3 || irq.args[0] != GIC_PPI || irq.args[1] >= PPIS)
			continue;
		out->timer[i] = irq.args[1];
		out->timer_flags = irq.args[2] & IRQ_TYPE_SENSE_MASK;
	}
}

static u32 arm64_timer_trigger(u32 flags)
{
	bool low = flags & ACPI_GTDT_INTERRUPT_POLARITY;

	if (flags & ACPI_GTDT_INTERRUPT_MODE)
		return low ? IRQ_TYPE_EDGE_FALLING : IRQ_TYPE_EDGE_RISING;
	return low ? IRQ_TYPE_LEVEL_LOW : IRQ_TYPE_LEVEL_HIGH;
}

static u32 arm64_timer_ppi(u32 number)
{
	return number >= PPI_FIRST && number < PPI_FIRST + PPIS ? number - PPI_FIRST : 0;
}

static void arm64_timer_of_acpi(const struct acpi_table_gtdt *gtdt, struct shimos_platform *out)
{
	out->timer[0] = arm64_timer_ppi(gtdt->secure_el1_interrupt);
	out->timer[1] = arm64_timer_ppi(gtdt->non_secure_el1_interrupt);
	out->timer[2] = arm64_timer_ppi(gtdt->virtual_timer_interrupt);
	out->timer[3] = arm64_timer_ppi(gtdt->non_secure_el2_interrupt);
	out->timer_flags = arm64_timer_trigger(gtdt->virtual_timer_flags);
}

/**
 * arm64_timer_describe() - by which interrupts the CPUs' timers come
 * @out: gets that
 *
 * Context: may sleep.
 * Return: 0; -ENODEV: the firmware does not say what a partition has to know.
 */
int arm64_timer_describe(struct shimos_platform *out)
{
	struct acpi_table_header *header;
	struct device_node *node;

	memset(out->timer, 0, sizeof(out->timer));
	out->timer_flags = 0;
	if (!acpi_disabled) {
		if (ACPI_FAILURE(acpi_get_table(ACPI_SIG_GTDT, 0, &header)))
			return -ENODEV;
		arm64_timer_of_acpi((void *)header, out);
		acpi_put_table(header);
	} else {
		node = of_find_compatible_node(NULL, NULL, "arm,armv8-timer");
		if (!node)
			return -ENODEV;
		arm64_timer_of_tree(node, out);
		of_node_put(node);
	}
	return out->timer[1] && out->timer[2] ? 0 : -ENODEV;
}
