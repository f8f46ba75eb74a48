// SPDX-License-Identifier: GPL-2.0
/*
 * What a partition on x86 is told of its PCI devices: each bus is a root bus of
 * a segment that is not 0, for which no kernel uses ports 0xcf8 and 0xcfc.
 */
#include <linux/io.h>

#include "arch.h"
#include "aml.h"
#include "pci.h"

static bool x86_pci_covers(const struct acpi_mcfg_allocation *entry, struct pci_bus *bus)
{
	return entry->pci_segment == pci_domain_nr(bus) &&
	       entry->start_bus_number <= bus->number &&
	       entry->end_bus_number >= bus->number;
}

/**
 * x86_bus_ecam() - where configuration space of a bus is in memory, as the firmware says
 * @bus: which
 * @addr: gets the physical address of X86_BUS_ECAM_LEN bytes
 *
 * Context: may sleep.
 * Return: 0 or -ENOENT.
 */
int x86_bus_ecam(struct pci_bus *bus, u64 *addr)
{
	const struct acpi_mcfg_allocation *entry;
	struct acpi_table_header *header;
	int ret = -ENOENT;
	void *end;

	if (ACPI_FAILURE(acpi_get_table(ACPI_SIG_MCFG, 0, &header)))
		return -ENOENT;
	end = (void *)header + header->length;
	entry = (void *)header + sizeof(struct acpi_table_mcfg);
	for (; (void *)(entry + 1) <= end; entry++) {
		if (!x86_pci_covers(entry, bus))
			continue;
		*addr = entry->address + (u64)bus->number * X86_BUS_ECAM_LEN;
		ret = 0;
		break;
	}
	acpi_put_table(header);
	return ret;
}

/* Firmware tables have been wrong: is the device really there? */
static bool x86_pci_ecam_shows(struct pci_dev *pdev, u64 ecam)
{
	void __iomem *config = ioremap(ecam + pdev->devfn * SZ_4K, SZ_4K);
	u32 id;

	if (!config)
		return false;
	id = readl(config + PCI_VENDOR_ID);
	iounmap(config);
	return id == (pdev->vendor | pdev->device << 16);
}

int kloader_arch_check_pci(struct pci_dev *pdev, struct complaint *c)
{
	u64 ecam;

	if (x86_bus_ecam(pdev->bus, &ecam) || pci_domain_nr(pdev->bus) >= U16_MAX)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the firmware names no memory-mapped configuration space (ACPI table MCFG) for %s, and a partition has no other way to it",
				     pci_name(pdev));
	if (!x86_pci_ecam_shows(pdev, ecam))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "%s is not where the firmware's table MCFG says, at %#llx",
				     pci_name(pdev), ecam + pdev->devfn * SZ_4K);
	return x86_remap_check(pdev, c);
}

/**
 * x86_describe_ecam() - a bus's row of the ACPI table MCFG
 * @bus: has a device that was given
 * @entry: gets it
 *
 * In MCFG the address is that of bus 0, wherever the range begins.
 *
 * Context: may sleep.
 */
void x86_describe_ecam(struct pci_bus *bus, struct acpi_mcfg_allocation *entry)
{
	u64 ecam = 0;

	x86_bus_ecam(bus, &ecam);	/* was there when the device was given */
	*entry = (struct acpi_mcfg_allocation) {
		.address = ecam - (u64)bus->number * X86_BUS_ECAM_LEN,
		.pci_segment = x86_pci_segment_of(bus),
		.start_bus_number = bus->number,
		.end_bus_number = bus->number,
	};
}

/* Exactly what its BARs have, so that nothing else can be put beside them. */
static void x86_pci_add_windows(struct pci_dev *pdev, struct aml *aml)
{
	int i;

	for (i = 0; i <= PCI_ROM_RESOURCE; i++) {
		struct resource *bar = &pdev->resource[i];

		if (!bar->flags || bar->flags & IORESOURCE_UNSET || !bar->start)
			continue;
		if (bar->flags & IORESOURCE_MEM)
			aml_memory(aml, bar->start, bar->end, false);
		else if (bar->flags & IORESOURCE_IO)
			aml_ports(aml, bar->start, bar->end);
	}
}

/* A root bridge; without _OSC and _PRT it has neither hot-plug nor lines. */
static void x86_pci_add_bus(struct partition *p, struct pci_bus *bus, unsigned int number,
			    struct aml *aml)
{
	struct aml_mark device, resources;
	struct passthrough *d;
	char name[5];

	snprintf(name, sizeof(name), "PC%02X", number);
	device = aml_begin_device(aml, name);
	aml_name_id(aml, "_HID", "PNP0A08");
	aml_name_id(aml, "_CID", "PNP0A03");
	aml_name_integer(aml, "_UID", number);
	aml_name_integer(aml, "_SEG", x86_pci_segment_of(bus));
	aml_name_integer(aml, "_BBN", bus->number);
	resources = aml_begin_resources(aml, "_CRS");
	aml_buses(aml, bus->number, bus->number);
	list_for_each_entry(d, &p->passthrough, link)
		if (d->pdev->bus == bus)
			x86_pci_add_windows(d->pdev, aml);
	aml_end_resources(aml, resources);
	aml_end(aml, device);
}

/* Linux believes MCFG only if a motherboard device reserves the range, too. */
static void x86_pci_add_motherboard(struct partition *p, struct aml *aml)
{
	struct aml_mark device, resources;
	struct passthrough *d;
	u64 ecam;

	device = aml_begin_device(aml, "ECAM");
	aml_name_id(aml, "_HID", "PNP0C02");
	aml_name_integer(aml, "_UID", 0);
	resources = aml_begin_resources(aml, "_CRS");
	list_for_each_entry(d, &p->passthrough, link)
		if (passthrough_first_of_bus(d) && !x86_bus_ecam(d->pdev->bus, &ecam))
			aml_memory(aml, ecam, ecam + X86_BUS_ECAM_LEN - 1, true);
	aml_end_resources(aml, resources);
	aml_end(aml, device);
}

static void x86_pci_add_all_buses(struct partition *p, struct aml *aml)
{
	unsigned int number = 0;
	struct passthrough *d;

	list_for_each_entry(d, &p->passthrough, link)
		if (passthrough_first_of_bus(d))
			x86_pci_add_bus(p, d->pdev->bus, number++, aml);
}

/**
 * x86_add_pci() - what a partition finds of its devices when it boots
 * @p: whose
 * @aml: written to
 *
 * Without buses, if the devices' interrupts are known to the agent only: a driver that is built
 * in would have its device before.
 *
 * Context: may sleep; p->mutex is held.
 */
void x86_add_pci(struct partition *p, struct aml *aml)
{
	struct aml_mark scope;

	if (!p->passthrough_count)
		return;
	scope = aml_begin_scope(aml, "_SB_");
	if (!x86_remap_has_any(p))
		x86_pci_add_all_buses(p, aml);
	x86_pci_add_motherboard(p, aml);
	aml_end(aml, scope);
}

/**
 * x86_add_pci_buses() - what its agent loads later: the buses
 * @p: whose
 * @aml: written to
 *
 * Context: may sleep; p->mutex is held.
 */
void x86_add_pci_buses(struct partition *p, struct aml *aml)
{
	struct aml_mark scope = aml_begin_scope(aml, "_SB_");

	x86_pci_add_all_buses(p, aml);
	aml_end(aml, scope);
}
