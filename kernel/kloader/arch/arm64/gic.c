// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt controller, a GICv3: one distributor that is the host's, and for each CPU a
 * frame of registers, its redistributor.
 *
 * A stock kernel sets the distributor up anew when it boots, which would stop the host's
 * devices.  So a partition is told that a page of its own memory is the distributor: it
 * reads there what the real one is, but for all that is not a CPU's own, and what it
 * writes there means nothing.  It is told of the redistributors from the first of its own on,
 * for it looks at one after the other until one says that it is the last.
 */
#include <linux/acpi.h>
#include <linux/io.h>
#include <linux/irqchip/arm-gic-v3.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <shimos/arm64_sgi.h>

#include "arm64.h"

#define GIC_REGIONS		16
#define GIC_FRAME		SZ_128K	/* without virtual LPIs: then it is twice as large */
#define GIC_SGI_FRAME		SZ_64K	/* where registers about SGIs begin in it */
#define GIC_SGIS		16
/* What the real distributor can do for devices; in the lower bits, how many interrupts. */
#define GIC_TYPER_NMI		BIT(9)
#define GIC_TYPER_DEVICES	(GENMASK(4, 0) | GICD_TYPER_MBIS | GICD_TYPER_LPIS | \
				 GICD_TYPER_ESPI | GENMASK(31, 27) | GIC_TYPER_NMI)

struct arm64_gic_region {
	u64 start, size;
};

/* As the firmware says; constant. */
static u64 arm64_gic_distributor;	/* physical address; 0: there is no GICv3 */
static struct arm64_gic_region arm64_gic_regions[GIC_REGIONS];
static unsigned int arm64_gic_region_count;

/* ---- finding it ---- */

static void arm64_gic_add_region(u64 start, u64 size)
{
	if (arm64_gic_region_count < GIC_REGIONS)
		arm64_gic_regions[arm64_gic_region_count++] =
			(struct arm64_gic_region){ start, size };
}

static void arm64_gic_find_in_tree(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "arm,gic-v3");
	struct resource at;
	u32 count = 1, i;

	if (!node)
		return;
	if (!of_address_to_resource(node, 0, &at))
		arm64_gic_distributor = at.start;
	of_property_read_u32(node, "#redistributor-regions", &count);
	for (i = 0; i < count && !of_address_to_resource(node, 1 + i, &at); i++)
		arm64_gic_add_region(at.start, resource_size(&at));
	of_node_put(node);
}

static void arm64_gic_read_entry(const struct acpi_subtable_header *entry)
{
	const struct acpi_madt_generic_redistributor *frames = (void *)entry;
	const struct acpi_madt_generic_distributor *gicd = (void *)entry;

	switch (entry->type) {
	case ACPI_MADT_TYPE_GENERIC_DISTRIBUTOR:
		if (gicd->version >= ACPI_MADT_GIC_VERSION_V3)
			arm64_gic_distributor = gicd->base_address;
		break;
	case ACPI_MADT_TYPE_GENERIC_REDISTRIBUTOR:
		arm64_gic_add_region(frames->base_address, frames->length);
		break;
	}
}

static void arm64_gic_find_in_acpi(void)
{
	const struct acpi_subtable_header *entry;
	struct acpi_table_header *madt;
	void *end;

	if (ACPI_FAILURE(acpi_get_table(ACPI_SIG_MADT, 0, &madt)))
		return;
	end = (void *)madt + madt->length;
	entry = (void *)madt + sizeof(struct acpi_table_madt);
	while ((void *)(entry + 1) <= end && entry->length) {
		arm64_gic_read_entry(entry);
		entry = (void *)entry + entry->length;
	}
	acpi_put_table(madt);
}

/**
 * arm64_gic_init() - find the interrupt controller, as the firmware describes it
 *
 * Context: may sleep.
 */
void arm64_gic_init(void)
{
	if (acpi_disabled)
		arm64_gic_find_in_tree();
	else
		arm64_gic_find_in_acpi();
}

/* Does the kernel use it by system registers, which is what partitions do? */
static bool arm64_gic_has_registers(void)
{
	u64 features = read_sysreg_s(SYS_ID_AA64PFR0_EL1);

	return features & GENMASK_ULL(27, 24) && read_sysreg_s(SYS_ICC_SRE_EL1) & ICC_SRE_EL1_SRE;
}

/**
 * arm64_gic_check() - can kernels share this interrupt controller?
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EOPNOTSUPP.
 */
int arm64_gic_check(struct complaint *c)
{
	if (!arm64_gic_distributor || !arm64_gic_has_registers())
		return shimos_refuse(c, -EOPNOTSUPP,
				     "this machine's interrupt controller is no GICv3, and kernels can share no older one; an emulated machine has one with -M virt,gic-version=3");
	if (!arm64_gic_region_count)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the firmware names each CPU's part of the interrupt controller by itself, and a partition can be told of one range of them only");
	return 0;
}

/* ---- redistributors ---- */

static u64 arm64_gic_frame_size(u64 typer)
{
	return typer & GICR_TYPER_VLPIS ? 2 * GIC_FRAME : GIC_FRAME;
}

static u64 arm64_gic_frame_cpu(u64 typer)
{
	u64 affinity = typer >> 32;

	return (affinity & GENMASK_ULL(23, 0)) | (affinity & GENMASK_ULL(31, 24)) << 8;
}

/* Those of a partition's CPUs that are in this region, and where it ends. */
static u32 arm64_gic_look_in(struct partition *p, const struct arm64_gic_region *region,
			     const void __iomem *frames)
{
	struct arm64_partition *a = arm64_of(p);
	u64 at = 0, typer;
	u32 found = 0, i;

	do {
		typer = readq(frames + at + GICR_TYPER);
		for (i = 0; i < p->cpu_count; i++) {
			if (p->hardware_ids[i] != arm64_gic_frame_cpu(typer))
				continue;
			a->frame[i] = region->start + at;
			if (!found++)
				a->frames = region->start + at;
		}
		at += arm64_gic_frame_size(typer);
	} while (!(typer & GICR_TYPER_LAST) && at + GIC_FRAME <= region->size);
	a->frames_end = region->start + at;
	return found;
}

/**
 * arm64_gic_find_frames() - find the redistributors of a partition's CPUs
 * @p: its CPUs are known
 * @c: why not
 *
 * They have to be in one region: more than one range cannot be told.
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM or -EOPNOTSUPP.
 */
int arm64_gic_find_frames(struct partition *p, struct complaint *c)
{
	unsigned int i;
	u32 found;

	for (i = 0; i < arm64_gic_region_count; i++) {
		const struct arm64_gic_region *region = &arm64_gic_regions[i];
		void __iomem *frames = ioremap(region->start, region->size);

		if (!frames)
			return -ENOMEM;
		found = arm64_gic_look_in(p, region, frames);
		iounmap(frames);
		if (found == p->cpu_count)
			return 0;
		if (found)
			break;
	}
	return shimos_refuse(c, -EOPNOTSUPP,
			     "the interrupt controller's registers of these CPUs are not in one range, and a partition can be told of one only: choose CPUs next to each other");
}

/* Where registers about a CPU's own interrupts are; NULL: no memory. */
static void __iomem *arm64_gic_map_sgis(struct partition *p, u32 i)
{
	return ioremap(arm64_of(p)->frame[i] + GIC_SGI_FRAME, SZ_64K);
}

/**
 * arm64_gic_forget() - what was sent to its CPUs meanwhile is nobody's
 * @p: its CPUs are off
 *
 * Context: may sleep.
 */
void arm64_gic_forget(struct partition *p)
{
	void __iomem *sgis;
	u32 i;

	for (i = 0; i < p->cpu_count; i++) {
		sgis = arm64_gic_map_sgis(p, i);
		if (!sgis)
			continue;
		writel(GENMASK(GIC_SGIS - 1, 0), sgis + GICR_ICPENDR0);
		writel(GENMASK(GIC_SGIS - 1, SHIMOS_SGI_FIRST), sgis + GICR_ICENABLER0);
		iounmap(sgis);
	}
}

/**
 * arm64_gic_press() - interrupt a CPU that does not hear
 * @p: whose CPU it is
 * @i: the CPU, an index of p->cpus
 *
 * By one that it has not just taken, more urgent than all that it may have taken, so that it at
 * least wakes up.  Firmware may keep some for itself.
 *
 * Context: may sleep.
 */
void arm64_gic_press(struct partition *p, u32 i)
{
	void __iomem *sgis = arm64_gic_map_sgis(p, i);
	u32 usable, sgi;

	if (!sgis)
		return;
	usable = readl(sgis + GICR_IGROUPR0) & ~readl(sgis + GICR_ISACTIVER0) &
		 GENMASK(GIC_SGIS - 1, 0);
	if (usable) {
		sgi = __fls(usable);
		writeb(0, sgis + GICR_IPRIORITYR0 + sgi);
		writel(BIT(sgi), sgis + GICR_ISENABLER0);
		shimos_sgi_send(p->hardware_ids[i], sgi);
	}
	iounmap(sgis);
}

/* ---- the distributor ---- */

/**
 * arm64_gic_write_distributor() - write what a partition takes for the distributor
 * @p: does not run
 *
 * With no devices' interrupts, and plain memory.
 *
 * Context: may sleep.
 */
void arm64_gic_write_distributor(struct partition *p)
{
	void __iomem *real = ioremap(arm64_gic_distributor, ARM64_DISTRIBUTOR_LEN);
	void *fake = partition_at(p, ARM64_DISTRIBUTOR);

	memset(fake, 0, ARM64_DISTRIBUTOR_LEN);
	if (real) {
		*(u32 *)(fake + GICD_CTLR) = readl(real + GICD_CTLR) & GICD_CTLR_DS;
		*(u32 *)(fake + GICD_TYPER) = readl(real + GICD_TYPER) & ~GIC_TYPER_DEVICES;
		*(u32 *)(fake + GICD_IIDR) = readl(real + GICD_IIDR);
		*(u32 *)(fake + GICD_PIDR2) = readl(real + GICD_PIDR2);
		iounmap(real);
	}
	arm64_cache_clean(fake, ARM64_DISTRIBUTOR_LEN);
}
