/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KLOADER_X86_PCI_H
#define _KLOADER_X86_PCI_H

#include <linux/acpi.h>
#include <linux/sizes.h>

#include "passthrough.h"

struct aml;

/* Configuration space of a bus: 256 functions of 4 KiB. */
#define X86_BUS_ECAM_LEN	SZ_1M

int x86_bus_ecam(struct pci_bus *bus, u64 *addr);
void x86_describe_ecam(struct pci_bus *bus, struct acpi_mcfg_allocation *entry);
void x86_add_pci(struct partition *p, struct aml *aml);
void x86_add_pci_buses(struct partition *p, struct aml *aml);

/**
 * x86_pci_segment_of() - the segment in which a partition finds a bus
 * @bus: the host's
 *
 * The bus has the same number, in the next segment: names can be recognised.
 */
static inline u16 x86_pci_segment_of(struct pci_bus *bus)
{
	return pci_domain_nr(bus) + 1;
}

/* remap.c */
int x86_remap_check(struct pci_dev *pdev, struct complaint *c);
bool x86_remap_has_any(const struct partition *p);
void x86_remap_describe(struct partition *p, u64 buses);

#endif
