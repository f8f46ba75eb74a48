// SPDX-License-Identifier: GPL-2.0
/* KLoader on arm64: what a host must be, what a partition is told. */
#include <linux/cpuhotplug.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <shimos/arm64_sgi.h>

#include "arch.h"
#include "arm64.h"

const char kloader_arch_iommu_advice[] =
	"boot the host with iommu.passthrough=1";
const char kloader_arch_iommu_on[] =
	"switch it on in the firmware's setup";

/* Their drivers tell who owns the domain. */
bool kloader_arch_read_iommu_fault(const char *text, size_t len, u16 *requester, u64 *addr)
{
	return false;
}

/* What a device tree begins with, and where it says how long it is; both big-endian. */
#define ARM64_TREE_MAGIC	0xd00dfeed

struct arm64_tree_header {
	__be32 magic;
	__be32 size;
};

/* Known of each CPU that has been online since we are here. */
static DEFINE_PER_CPU(u64, arm64_hardware_id);
static int arm64_hotplug_state;

static int arm64_cpu_online(unsigned int cpu)
{
	per_cpu(arm64_hardware_id, cpu) = shimos_sgi_this_cpu();
	return 0;
}

int kloader_arch_check_host(struct complaint *c)
{
	return arm64_gic_check(c) ?: arm64_psci_check(c);
}

u32 kloader_arch_capabilities(void)
{
	return SHIMOS_NEEDS_DESCRIPTION;
}

u64 kloader_arch_hardware_id(unsigned int cpu)
{
	return per_cpu(arm64_hardware_id, cpu);
}

int kloader_arch_check_cpu(unsigned int cpu, struct complaint *c)
{
	if (!shimos_sgi_reaches(kloader_arch_hardware_id(cpu)))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "CPU %u (MPIDR %#llx) cannot be sent interrupts by this machine's others",
				     cpu, kloader_arch_hardware_id(cpu));
	return 0;
}

int kloader_arch_check_devices(struct complaint *c)
{
	return shimos_refuse(c, -EOPNOTSUPP,
			     "on arm64 no device can be given to a partition, for its interrupts go through the host's interrupt controller: share it instead");
}

int kloader_arch_check_pci(struct pci_dev *pdev, struct complaint *c)
{
	return kloader_arch_check_devices(c);
}

int kloader_arch_open_interrupts(struct passthrough *d, struct complaint *c)
{
	return kloader_arch_check_devices(c);
}

void kloader_arch_close_interrupts(struct passthrough *d)
{
}

/* ---- partitions ---- */

int kloader_arch_create(struct partition *p, struct complaint *c)
{
	int ret;

	p->arch = kzalloc(sizeof(struct arm64_partition), GFP_KERNEL);
	if (!p->arch)
		return -ENOMEM;
	ret = arm64_gic_find_frames(p, c);
	if (ret)
		kloader_arch_destroy(p);
	return ret;
}

void kloader_arch_destroy(struct partition *p)
{
	kfree(p->arch);
	p->arch = NULL;
}

u64 kloader_arch_host_bytes(const struct partition *p)
{
	return sizeof(struct arm64_partition);
}

/* All but where what it boots and the shared area are. */
static void arm64_describe_memory(struct partition *p, struct shimos_platform *out)
{
	memset(out->ranges, 0, sizeof(out->ranges));
	memcpy(out->ranges, p->ranges, p->range_count * sizeof(p->ranges[0]));
	out->ranges[0].start += ARM64_RAM;
	out->ranges[0].size = p->layout.stash - ARM64_RAM;
	out->range_count = p->range_count;
}

int kloader_arch_describe(struct partition *p, struct shimos_platform *out, struct complaint *c)
{
	const struct arm64_partition *a = arm64_of(p);

	if (arm64_timer_describe(out))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the firmware does not say by which interrupts the CPUs' timers come");
	out->conduit = arm64_psci_conduit() == SMCCC_CONDUIT_HVC ? SHIMOS_CONDUIT_HVC :
								   SHIMOS_CONDUIT_SMC;
	out->distributor = partition_phys(p, ARM64_DISTRIBUTOR);
	out->distributor_size = ARM64_DISTRIBUTOR_LEN;
	out->redistributors = a->frames;
	out->redistributors_size = a->frames_end - a->frames;
	arm64_describe_memory(p, out);
	return 0;
}

int kloader_arch_check_description(const void *description, u32 size, struct complaint *c)
{
	const struct arm64_tree_header *h = description;

	if (size < sizeof(*h) || be32_to_cpu(h->magic) != ARM64_TREE_MAGIC)
		return shimos_refuse(c, -EINVAL, "the platform description is no device tree");
	if (be32_to_cpu(h->size) != size)
		return shimos_refuse(c, -EINVAL,
				     "the device tree says that it has %u bytes, and was given with %u",
				     be32_to_cpu(h->size), size);
	return 0;
}

static void arm64_write_entry(struct partition *p)
{
	void *entry = partition_at(p, ARM64_ENTRY);
	u64 kernel = partition_phys(p, p->layout.kernel) + p->image.entry;

	memcpy(entry, kloader_entry, kloader_entry_end - kloader_entry);
	memcpy(entry + (kloader_entry_kernel - kloader_entry), &kernel, sizeof(kernel));
	arm64_cache_clean(entry, kloader_entry_end - kloader_entry);
}

static void arm64_write_kernel(struct partition *p)
{
	const void *image = partition_at(p, p->layout.stash);
	struct arm64_partition *a = arm64_of(p);

	image_copy_pages(partition_at(p, p->layout.kernel), image, PAGE_ALIGN(p->image.size));
	/* all that it takes, for it also writes there before its caches are on */
	arm64_cache_clean(partition_at(p, p->layout.kernel), p->layout.kernel_room);
	arm64_image_text(image, p->image.size, &a->text, &a->text_end);
}

int kloader_arch_stage(struct partition *p, struct complaint *c)
{
	arm64_write_entry(p);
	arm64_write_kernel(p);
	arm64_gic_write_distributor(p);
	description_copy(p, ARM64_DESCRIPTION);
	arm64_cache_clean(partition_at(p, ARM64_DESCRIPTION), SHIMOS_DESCRIPTION_MAX);
	arm64_cache_forget_code();
	return 0;
}

/* What all share, no kernel reaches: it takes memory of its own for that. */
void kloader_arch_settle(struct partition *p)
{
}

int kloader_arch_init(void)
{
	int ret;

	arm64_psci_init();
	arm64_gic_init();
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "shimos:id", arm64_cpu_online, NULL);
	if (ret < 0)
		return ret;
	arm64_hotplug_state = ret;
	return 0;
}

void kloader_arch_exit(void)
{
	cpuhp_remove_state(arm64_hotplug_state);
}
