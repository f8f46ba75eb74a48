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

#endif
