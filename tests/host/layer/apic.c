// SPDX-License-Identifier: GPL-2.0
/* A local APIC that is made up, and the window in which the layer takes what it has. */
#include "test.h"

static bool irr[LAYER_VECTORS], isr[LAYER_VECTORS], tmr[LAYER_VECTORS];
bool apic_line[LAYER_VECTORS];
int apic_held;

void apic_reset(void)
{
	memset(irr, 0, sizeof(irr));
	memset(isr, 0, sizeof(isr));
	memset(tmr, 0, sizeof(tmr));
	memset(apic_line, 0, sizeof(apic_line));
	apic_held = 0;
}

static int highest(const bool *set)
{
	int v;

	for (v = LAYER_VECTORS - 1; v >= 0 && !set[v]; v--)
		;
	return v;
}

/* The timer that layer_arch_arm() has set fires. */
static void look_at_timer(void)
{
	if (!core_ticks || core_now < core_fires)
		return;
	core_ticks = 0;
	layer_apic_raise(LAYER_VECTOR);
}

bool apic_deliverable(void)
{
	int wants, has = highest(isr);

	look_at_timer();
	wants = highest(irr);
	return wants >= 0 && wants / 16 > has / 16 && wants / 16 > apic_held;
}

void apic_something(void)
{
	if (apic_deliverable())
		return;
	if (core_ticks && core_fires > core_now)
		core_now = core_fires;
	else
		layer_apic_raise(LAYER_HOST_VECTOR);
	MUST(apic_deliverable());
}

bool apic_quiet(void)
{
	return highest(irr) < 0 && highest(isr) < 0;
}

bool apic_request(unsigned int vector)
{
	bool level = vector >= APIC_LEVEL_FIRST && vector <= APIC_LEVEL_LAST;

	if (level ? apic_line[vector] : irr[vector])
		return false;
	apic_line[vector] = level;
	tmr[vector] = level;
	if (!level || !isr[vector])
		irr[vector] = true;
	return true;
}

void layer_apic_end(void)
{
	int v = highest(isr);

	if (v < 0)
		return;		/* as the hardware does */
	isr[v] = false;
	if (tmr[v] && apic_line[v])
		irr[v] = true;	/* the I/O APIC sends it again */
}

void layer_apic_raise(unsigned int vector)
{
	irr[vector] = true;
	tmr[vector] = false;
}

void layer_apic_nmi(void)
{
	MUST(0);	/* nobody sends one here */
}

int layer_apic_is_level(unsigned int vector)
{
	return tmr[vector];
}

int layer_apic_in_service(void)
{
	return highest(isr) >= 0;
}

int layer_apic_top_in_service(void)
{
	return highest(isr) / 16 == X86_TOP_CLASS;
}

void layer_window(void)
{
	int v;

	while (apic_deliverable()) {
		v = highest(irr);
		irr[v] = false;
		isr[v] = true;
		if (layer_interrupt(v, 0, 0))
			break;
	}
}
