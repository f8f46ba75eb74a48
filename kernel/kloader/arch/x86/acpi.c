// SPDX-License-Identifier: GPL-2.0
/*
 * The ACPI tables a partition finds: no legacy hardware, its own CPUs, a reset
 * and a sleep register in memory, and where the area shared with KLoader is.
 * Names and layouts are those of ACPI 6.5, chapter 5.
 */
#include <linux/acpi.h>

#include "acpi.h"
#include "aml.h"
#include "pci.h"
#include "x86.h"

/* Tables with AML come first and leave the others enough. */
#define AML_END		(X86_ACPI_LEN / 2)

/* Version 0 of struct acpi_madt_multiproc_wakeup, which has other names in each kernel. */
struct x86_acpi_wakeup {
	struct acpi_subtable_header header;
	u16 version;
	u32 reserved;
	u64 mailbox;
} __packed;

/**
 * x86_acpi_new_table() - begin a table where the last one ended
 * @b: the tables so far
 * @len: bytes, of which as many are zeroed
 *
 * Return: where it is.
 */
void *x86_acpi_new_table(struct x86_acpi_builder *b, size_t len)
{
	void *table = partition_at(b->p, b->next);

	memset(table, 0, len);
	return table;
}

static u8 x86_acpi_checksum(const void *table, size_t len)
{
	const u8 *byte = table;
	u8 sum = 0;

	while (len--)
		sum += *byte++;
	return -sum;
}

/**
 * x86_acpi_finish() - fill in the header of the table made last
 * @b: the tables so far
 * @h: its header
 * @signature: four characters
 * @revision: of the table's layout
 * @len: bytes, the header included
 *
 * Return: its physical address.
 */
u64 x86_acpi_finish(struct x86_acpi_builder *b, struct acpi_table_header *h,
		    const char *signature, u8 revision, u32 len)
{
	u64 addr = partition_phys(b->p, b->next);

	memcpy(h->signature, signature, ACPI_NAMESEG_SIZE);
	h->length = len;
	h->revision = revision;
	memcpy(h->oem_id, "SHIMOS", ACPI_OEM_ID_SIZE);
	memcpy(h->oem_table_id, "KLOADER ", ACPI_OEM_TABLE_ID_SIZE);
	h->oem_revision = SHIMOS_SHARED_VERSION;
	memcpy(h->asl_compiler_id, "SHIM", ACPI_NAMESEG_SIZE);
	h->asl_compiler_revision = 1;
	h->checksum = x86_acpi_checksum(h, len);
	b->next += ALIGN(len, 16);
	return addr;
}

/* Name (_S5, Package { 5, 5, 0, 0 }): sleep type 5 switches off. */
static void x86_acpi_add_sleep(struct aml *aml)
{
	static const u8 types[] = { 5, 5, 0, 0 };

	aml_name_bytes(aml, "_S5_", types, ARRAY_SIZE(types));
}

/* What its kernel finds when it boots. */
static void x86_acpi_add_all(struct partition *p, struct aml *aml)
{
	x86_acpi_add_sleep(aml);
	x86_add_pci(p, aml);
}

static u64 x86_acpi_write_aml(struct x86_acpi_builder *b, const char *signature,
			      void (*add)(struct partition *p, struct aml *aml),
			      struct complaint *c)
{
	struct acpi_table_header *header = x86_acpi_new_table(b, sizeof(*header));
	struct aml aml = {
		.buf = (u8 *)(header + 1),
		.room = X86_ACPI + AML_END - b->next - sizeof(*header),
	};

	add(b->p, &aml);
	if (aml.overflow) {
		shimos_refuse(c, -ENOSPC, "the description of its PCI devices takes too much room: give it fewer");
		return 0;
	}
	return x86_acpi_finish(b, header, signature, 2, sizeof(*header) + aml.len);
}

/* Through memory only, and only the buses on which all is the partition's. */
static u64 x86_acpi_write_mcfg(struct x86_acpi_builder *b)
{
	u32 len = sizeof(struct acpi_table_mcfg);
	struct acpi_table_mcfg *mcfg = x86_acpi_new_table(b, len);
	struct acpi_mcfg_allocation *entry = (void *)(mcfg + 1);
	struct passthrough *d;

	list_for_each_entry(d, &b->p->passthrough, link) {
		if (!passthrough_first_of_bus(d))
			continue;
		x86_describe_ecam(d->pdev->bus, entry++);
		len += sizeof(*entry);
	}
	return x86_acpi_finish(b, &mcfg->header, ACPI_SIG_MCFG, 1, len);
}

static struct acpi_generic_address x86_acpi_register(struct x86_acpi_builder *b, u64 offset)
{
	return (struct acpi_generic_address) {
		.space_id = ACPI_ADR_SPACE_SYSTEM_MEMORY,
		.bit_width = 8,
		.access_width = 1,
		.address = partition_phys(b->p, b->p->layout.shared +
					  SHIMOS_PLATFORM + offset),
	};
}

static u64 x86_acpi_write_fadt(struct x86_acpi_builder *b, u64 dsdt)
{
	struct acpi_table_fadt *fadt = x86_acpi_new_table(b, sizeof(*fadt));

	fadt->Xdsdt = dsdt;
	fadt->boot_flags = ACPI_FADT_NO_VGA | ACPI_FADT_NO_CMOS_RTC |
			   ACPI_FADT_NO_ASPM;
	fadt->flags = ACPI_FADT_HW_REDUCED | ACPI_FADT_RESET_REGISTER |
		      ACPI_FADT_APIC_PHYSICAL | ACPI_FADT_WBINVD;
	fadt->minor_revision = 5;
	fadt->reset_register = x86_acpi_register(b, SHIMOS_REG_RESET);
	fadt->reset_value = SHIMOS_RESET_VALUE;
	fadt->sleep_control = x86_acpi_register(b, SHIMOS_REG_SLEEP);
	fadt->sleep_status = x86_acpi_register(b, SHIMOS_REG_SLEEP_STATUS);
	return x86_acpi_finish(b, &fadt->header, ACPI_SIG_FADT, 6, sizeof(*fadt));
}

/* A guarded kernel starts its CPUs by a mailbox (ACPI 6.5, 5.2.12.19), and not by SIPI. */
static void x86_acpi_add_mailbox(struct x86_acpi_builder *b,
				 struct x86_acpi_wakeup *wakeup)
{
	wakeup->header.type = ACPI_MADT_TYPE_MULTIPROC_WAKEUP;
	wakeup->header.length = sizeof(*wakeup);
	wakeup->mailbox = partition_phys(b->p, X86_MAILBOX);
}

/*
 * The ids of the CPUs that it knows of: its own, and then those that it may get later,
 * which maxcpus= keeps off when it boots.  Returns how many; @ids has room for all.
 *
 * Linux 6.9 and later take a first APIC id that is not the boot CPU's for the
 * machine's boot CPU seen from a crash kernel, and keep off it: give them one
 * that does not exist.
 */
static u32 x86_acpi_cpus(const struct partition *p, u64 *ids)
{
	u32 i, j, count = 0;

	ids[count++] = X86_DUMMY_APIC_ID;
	for (i = 0; i < p->cpu_count; i++)
		ids[count++] = p->hardware_ids[i];
	for (i = 0; i < p->more_count; i++) {
		u64 id;

		cpus_hardware_ids(&p->more[i], 1, &id);
		for (j = 0; j < count && ids[j] != id; j++)
			;
		if (j == count)
			ids[count++] = id;
	}
	return count;
}

static u64 x86_acpi_write_madt(struct x86_acpi_builder *b)
{
	struct acpi_madt_local_apic *lapic;
	struct acpi_table_madt *madt;
	u32 wakeup = x86_of(b->p)->guard ? sizeof(struct x86_acpi_wakeup) : 0;
	u64 ids[1 + 2 * SHIMOS_MAX_CPUS];
	u32 count = x86_acpi_cpus(b->p, ids), i;
	u32 len = sizeof(*madt) + count * sizeof(*lapic) + wakeup;

	madt = x86_acpi_new_table(b, len);
	madt->address = 0xfee00000;
	lapic = (void *)(madt + 1);
	for (i = 0; i < count; i++, lapic++) {
		lapic->header.type = ACPI_MADT_TYPE_LOCAL_APIC;
		lapic->header.length = sizeof(*lapic);
		lapic->processor_id = i;
		lapic->id = ids[i];
		lapic->lapic_flags = ACPI_MADT_ENABLED;
	}
	if (wakeup)
		x86_acpi_add_mailbox(b, (void *)lapic);
	return x86_acpi_finish(b, &madt->header, ACPI_SIG_MADT, 5, len);
}

static u64 x86_acpi_write_shim(struct x86_acpi_builder *b)
{
	struct shimos_acpi_table *shim = x86_acpi_new_table(b, sizeof(*shim));

	shim->shared = partition_phys(b->p, b->p->layout.shared);
	shim->size = SHIMOS_SHARED_SIZE;
	return x86_acpi_finish(b, (void *)shim, SHIMOS_ACPI_SIGNATURE, 1, sizeof(*shim));
}

static u64 x86_acpi_write_xsdt(struct x86_acpi_builder *b)
{
	u32 len = sizeof(struct acpi_table_header) + b->count * sizeof(u64);
	struct acpi_table_header *xsdt = x86_acpi_new_table(b, len);

	memcpy(xsdt + 1, b->tables, b->count * sizeof(u64));
	return x86_acpi_finish(b, xsdt, ACPI_SIG_XSDT, 1, len);
}

static u64 x86_acpi_write_rsdp(struct x86_acpi_builder *b, u64 xsdt)
{
	struct acpi_table_rsdp *rsdp = x86_acpi_new_table(b, sizeof(*rsdp));

	memcpy(rsdp->signature, ACPI_SIG_RSDP, sizeof(rsdp->signature));
	memcpy(rsdp->oem_id, "SHIMOS", ACPI_OEM_ID_SIZE);
	rsdp->revision = 2;
	rsdp->length = sizeof(*rsdp);
	rsdp->xsdt_physical_address = xsdt;
	rsdp->checksum = x86_acpi_checksum(rsdp, ACPI_RSDP_CHECKSUM_LENGTH);
	rsdp->extended_checksum = x86_acpi_checksum(rsdp, sizeof(*rsdp));
	return partition_phys(b->p, b->next);
}

/**
 * x86_write_acpi() - write the ACPI tables that its kernel reads
 * @p: does not run
 * @rsdp: gets the physical address of the RSDP
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0; -ENOSPC: they do not fit.
 */
int x86_write_acpi(struct partition *p, u64 *rsdp, struct complaint *c)
{
	struct x86_acpi_builder b = { .p = p, .next = X86_ACPI };
	u64 dsdt, ssdt;

	memset(partition_at(p, X86_ACPI), 0, X86_ACPI_LEN);
	dsdt = x86_acpi_write_aml(&b, ACPI_SIG_DSDT, x86_acpi_add_all, c);
	if (!dsdt)
		return -ENOSPC;
	if (x86_remap_has_any(p)) {
		ssdt = x86_acpi_write_aml(&b, ACPI_SIG_SSDT, x86_add_pci_buses, c);
		if (!ssdt)
			return -ENOSPC;
		x86_remap_describe(p, ssdt);
	}
	b.tables[b.count++] = x86_acpi_write_fadt(&b, dsdt);
	b.tables[b.count++] = x86_acpi_write_madt(&b);
	b.tables[b.count++] = x86_acpi_write_shim(&b);
	if (p->passthrough_count)
		b.tables[b.count++] = x86_acpi_write_mcfg(&b);
	x86_acpi_add_numa(&b);
	*rsdp = x86_acpi_write_rsdp(&b, x86_acpi_write_xsdt(&b));
	return 0;
}
