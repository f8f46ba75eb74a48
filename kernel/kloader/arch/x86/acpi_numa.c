// SPDX-License-Identifier: GPL-2.0
/*
 * What a partition is told of the host's nodes (ACPI 6.5, 5.2.16 and 5.2.17), if its CPUs and its
 * memory are in several: its scheduler and its allocator keep together what is near.
 */
#include <linux/sizes.h>
#include <linux/topology.h>

#include "acpi.h"

/* Those that it has something of, as they come: its first CPU's is domain 0. */
struct x86_numa {
	int nid[SHIMOS_MAX_CPUS + SHIMOS_MAX_RANGES];
	unsigned int count;
};

static u32 x86_numa_domain(struct x86_numa *n, int nid)
{
	unsigned int i;

	for (i = 0; i < n->count; i++)
		if (n->nid[i] == nid)
			return i;
	n->nid[n->count] = nid;
	return n->count++;
}

static u32 x86_numa_of_cpu(struct x86_numa *n, const struct partition *p, u32 i)
{
	int nid = cpu_to_node(p->cpus[i]);

	return x86_numa_domain(n, nid == NUMA_NO_NODE ? first_online_node : nid);
}

static u32 x86_numa_of_range(struct x86_numa *n, const struct shimos_range *range)
{
	return x86_numa_domain(n, page_to_nid(pfn_to_page(PHYS_PFN(range->start))));
}

static void x86_numa_find(struct x86_numa *n, const struct partition *p)
{
	u32 i;

	n->count = 0;
	for (i = 0; i < p->cpu_count; i++)
		x86_numa_of_cpu(n, p, i);
	for (i = 0; i < p->range_count; i++)
		x86_numa_of_range(n, &p->ranges[i]);
}

static void x86_numa_memory(struct acpi_srat_mem_affinity *entry, u32 domain, u64 start, u64 size)
{
	entry->header.type = ACPI_SRAT_TYPE_MEMORY_AFFINITY;
	entry->header.length = sizeof(*entry);
	entry->proximity_domain = domain;
	entry->base_address = start;
	entry->length = size;
	entry->flags = ACPI_SRAT_MEM_ENABLED;
}

static u64 x86_numa_write_srat(struct x86_acpi_builder *b, struct x86_numa *n)
{
	const struct partition *p = b->p;
	struct acpi_srat_mem_affinity *memory;
	struct acpi_srat_cpu_affinity *cpu;
	struct acpi_table_srat *srat;
	u32 len = sizeof(*srat) + p->cpu_count * sizeof(*cpu) +
		  (p->range_count + 1) * sizeof(*memory);
	u32 i;

	srat = x86_acpi_new_table(b, len);
	srat->table_revision = 1;
	cpu = (void *)(srat + 1);
	for (i = 0; i < p->cpu_count; i++, cpu++) {
		cpu->header.type = ACPI_SRAT_TYPE_CPU_AFFINITY;
		cpu->header.length = sizeof(*cpu);
		cpu->proximity_domain_lo = x86_numa_of_cpu(n, p, i);
		cpu->apic_id = p->hardware_ids[i];
		cpu->flags = ACPI_SRAT_CPU_ENABLED;
	}
	memory = (void *)cpu;
	/* its few pages for starting CPUs */
	x86_numa_memory(memory++, 0, 0, SZ_1M);
	for (i = 0; i < p->range_count; i++)
		x86_numa_memory(memory++, x86_numa_of_range(n, &p->ranges[i]),
				p->ranges[i].start, p->ranges[i].size);
	return x86_acpi_finish(b, &srat->header, ACPI_SIG_SRAT, 3, len);
}

static u64 x86_numa_write_slit(struct x86_acpi_builder *b, const struct x86_numa *n)
{
	u32 len = offsetof(struct acpi_table_slit, entry) + n->count * n->count;
	struct acpi_table_slit *slit = x86_acpi_new_table(b, len);
	u8 *entry = slit->entry;
	unsigned int i, j;

	slit->locality_count = n->count;
	for (i = 0; i < n->count; i++)
		for (j = 0; j < n->count; j++)
			*entry++ = node_distance(n->nid[i], n->nid[j]);
	return x86_acpi_finish(b, &slit->header, ACPI_SIG_SLIT, 1, len);
}

/**
 * x86_acpi_add_numa() - add SRAT and SLIT if the partition is in several nodes
 * @b: the tables so far
 */
void x86_acpi_add_numa(struct x86_acpi_builder *b)
{
	struct x86_numa n;

	x86_numa_find(&n, b->p);
	if (n.count == 1)
		return;
	b->tables[b->count++] = x86_numa_write_srat(b, &n);
	b->tables[b->count++] = x86_numa_write_slit(b, &n);
}
