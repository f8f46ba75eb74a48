// SPDX-License-Identifier: GPL-2.0
/*
 * The zero page of the Linux boot protocol (Documentation/arch/x86/boot.rst and
 * zero-page.rst): memory map, command line, initrd, ACPI.
 */
#include <linux/string.h>
#include <asm/bootparam.h>
#include <asm/e820/types.h>

#include "pci.h"
#include "x86.h"

#define LOADER_UNDEFINED	0xff

static void x86_add_e820(struct boot_params *bp, u64 start, u64 end, u32 type)
{
	struct boot_e820_entry *e = &bp->e820_table[bp->e820_entries++];

	e->addr = start;
	e->size = end - start;
	e->type = type;
}

/* Where its PCI devices' configuration space is, in the host's address map. */
static void x86_write_ecam(struct partition *p, struct boot_params *bp)
{
	struct passthrough *d;
	u64 ecam;

	list_for_each_entry(d, &p->passthrough, link)
		if (passthrough_first_of_bus(d) && !x86_bus_ecam(d->pdev->bus, &ecam))
			x86_add_e820(bp, ecam, ecam + X86_BUS_ECAM_LEN,
				     E820_TYPE_RESERVED);
}

static void x86_write_e820(struct partition *p, struct boot_params *bp)
{
	u64 base = partition_phys(p, 0);
	u64 low = x86_of(p)->low_memory;
	u32 i;

	x86_add_e820(bp, low, low + X86_LOW_PAGES * PAGE_SIZE, E820_TYPE_RAM);
	x86_add_e820(bp, base, base + X86_ACPI, E820_TYPE_RESERVED);
	x86_add_e820(bp, base + X86_ACPI, base + X86_ACPI + X86_ACPI_LEN, E820_TYPE_ACPI);
	x86_add_e820(bp, base + X86_ACPI + X86_ACPI_LEN, base + X86_RAM,
		     E820_TYPE_RESERVED);
	x86_add_e820(bp, base + X86_RAM, base + p->layout.stash, E820_TYPE_RAM);
	x86_add_e820(bp, base + p->layout.stash, base + p->layout.end,
		     E820_TYPE_RESERVED);
	for (i = 1; i < p->range_count; i++)
		x86_add_e820(bp, p->ranges[i].start,
			     p->ranges[i].start + p->ranges[i].size, E820_TYPE_RAM);
	x86_write_ecam(p, bp);
}

/**
 * x86_write_boot_params() - place the image, and write all that its kernel is told of the machine
 * @p: does not run
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int x86_write_boot_params(struct partition *p, struct complaint *c)
{
	struct boot_params *bp = partition_at(p, X86_BOOT_PARAMS);
	u64 cmdline = partition_phys(p, X86_CMDLINE);
	u64 initrd = p->initrd_size ? partition_phys(p, p->layout.initrd) : 0;
	int ret, len;

	memset(bp, 0, sizeof(*bp));
	ret = p->image.format->place(p, bp, c);
	if (ret)
		return ret;
	bp->hdr.type_of_loader = LOADER_UNDEFINED;
	/* no RTC, no keyboard controller, no EBDA; its real meaning is CE4100 */
	bp->hdr.hardware_subarch = X86_SUBARCH_CE4100;
	bp->hdr.cmd_line_ptr = lower_32_bits(cmdline);
	bp->ext_cmd_line_ptr = upper_32_bits(cmdline);
	/* the log begins with it: whoever finds a log knows which life's it is */
	len = snprintf(partition_at(p, X86_CMDLINE), PAGE_SIZE, "%s shimos.start=%u",
		       p->cmdline, p->starts + 1);
	if (p->more_count)
		snprintf(partition_at(p, X86_CMDLINE) + len, PAGE_SIZE - len, " maxcpus=%u",
			 p->cpu_count);
	bp->hdr.ramdisk_image = lower_32_bits(initrd);
	bp->ext_ramdisk_image = upper_32_bits(initrd);
	bp->hdr.ramdisk_size = lower_32_bits(p->initrd_size);
	bp->ext_ramdisk_size = upper_32_bits(p->initrd_size);
	x86_write_e820(p, bp);
	return x86_write_acpi(p, &bp->acpi_rsdp_addr, c);
}
