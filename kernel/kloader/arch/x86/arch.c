// SPDX-License-Identifier: GPL-2.0
/*
 * KLoader on x86-64: what a host must be, what a partition is told.
 */
#include <linux/cc_platform.h>
#include <linux/cpu.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <asm/apic.h>
#include <asm/smp.h>
#include <asm/tsc.h>
#include <shimos/compat_x86.h>

#include "arch.h"
#include "cmdline.h"
#include "guard.h"
#include "pci.h"
#include "x86.h"

/* Edge or level of the legacy interrupts: a partition's kernel rewrites them. */
#define X86_ELCR_PORT	0x4d0

static u16 x86_host_elcr;

const char kloader_arch_iommu_advice[] =
	"add iommu=pt to " X86_CMDLINE_ADVICE;
const char kloader_arch_iommu_on[] =
	"switch it on in the firmware's setup, and, for Intel's, add intel_iommu=on to " X86_CMDLINE_ADVICE;

/* A partition cannot calibrate its clock: it is told the host's, for good. */
static int x86_check_tsc(struct complaint *c)
{
	if (!tsc_khz || check_tsc_unstable())
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the host's time stamp counter is unstable or its rate unknown, and a partition has no other clock: see `dmesg | grep -i tsc`; if the host is wrong about it, add tsc=reliable to "
				     X86_CMDLINE_ADVICE);
	if (x86_host_tsc_reliable())
		return 0;	/* the user says so */
	if (!boot_cpu_has(X86_FEATURE_CONSTANT_TSC) || !boot_cpu_has(X86_FEATURE_NONSTOP_TSC))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the time stamp counter of this machine's CPUs changes its rate or stops when they sleep, and a partition has no other clock; if it does not, add tsc=reliable to "
				     X86_CMDLINE_ADVICE);
	return 0;
}

/* Firmware may have locked x2APIC mode; a partition begins in xAPIC mode. */
static bool x86_is_x2apic_locked(void)
{
	u64 value;

	if (!x2apic_enabled() || !boot_cpu_has(X86_FEATURE_ARCH_CAPABILITIES))
		return false;
	compat_rdmsrq(MSR_IA32_ARCH_CAPABILITIES, value);
	if (!(value & ARCH_CAP_XAPIC_DISABLE))
		return false;
	compat_rdmsrq(MSR_IA32_XAPIC_DISABLE_STATUS, value);
	return value & LEGACY_XAPIC_DISABLED;
}

int kloader_arch_check_host(struct complaint *c)
{
	if (x86_is_x2apic_locked())
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the firmware has locked x2APIC mode, and a partition begins in xAPIC mode: if its setup has an x2APIC opt-out, use that");
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return shimos_refuse(c, -EOPNOTSUPP, "the host is a Xen PV guest: its CPUs are not real");
	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the host encrypts its memory (SME, SEV or TDX), and a partition would read it undeciphered: add mem_encrypt=off to "
				     X86_CMDLINE_ADVICE);
	if (!x86_host_ipi_broadcast_off())
		return shimos_refuse(c, -EOPNOTSUPP,
				     "the host may send interrupts to all CPUs at once, those of partitions included: add no_ipi_broadcast=1 to "
				     X86_CMDLINE_ADVICE);
	return x86_check_tsc(c);
}

u32 kloader_arch_capabilities(void)
{
	return SHIMOS_CAN_STOP_CPUS;
}

u64 kloader_arch_hardware_id(unsigned int cpu)
{
	return per_cpu(x86_cpu_to_apicid, cpu);
}

int kloader_arch_check_cpu(unsigned int cpu, struct complaint *c)
{
	u64 apic_id = kloader_arch_hardware_id(cpu);

	/* INIT sends it to the reset vector; Linux does not offline it either */
	if (!cpu)
		return shimos_refuse(c, -EPERM, "CPU 0 booted the machine and stays with the host");
	if (apic_id >= X86_DUMMY_APIC_ID)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "CPU %u has APIC id %llu, and a partition's can be below %u only: its kernel has no interrupt remapping, without which Linux does not use x2APIC mode; take another CPU",
				     cpu, apic_id, X86_DUMMY_APIC_ID);
	return 0;
}

int kloader_arch_check_devices(struct complaint *c)
{
	return 0;
}

int kloader_arch_create(struct partition *p, struct complaint *c)
{
	struct x86_partition *x = kzalloc(sizeof(*x), GFP_KERNEL);
	int ret;

	if (!x)
		return -ENOMEM;
	x->low_memory = x86_low_memory_take(X86_LOW_PAGES);
	if (!x->low_memory) {
		kfree(x);
		return shimos_refuse(c, -ENOSPC,
				     "no memory below 1 MiB is left for its CPUs' start-up code: remove a partition first");
	}
	p->arch = x;
	if (!(p->flags & SHIMOS_CREATE_GUARDED))
		return 0;
	ret = x86_guard_create(p);
	if (ret)
		kloader_arch_destroy(p);
	return ret;
}

void kloader_arch_destroy(struct partition *p)
{
	x86_guard_destroy(p);
	x86_low_memory_give_back(x86_of(p)->low_memory, X86_LOW_PAGES);
	kfree(p->arch);
	p->arch = NULL;
}

u64 kloader_arch_host_bytes(const struct partition *p)
{
	const struct x86_guard *g = p->gone ? NULL : ((struct x86_partition *)p->arch)->guard;

	return sizeof(struct x86_partition) + X86_LOW_PAGES * PAGE_SIZE +
	       (g ? x86_guard_host_bytes(g) : 0);
}

int kloader_arch_parse_image(const void *image, u64 size, struct image *out,
			     struct complaint *c)
{
	static const struct image_format *const formats[] = { &x86_bzimage, &x86_elf };
	int i, ret;

	c->text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		ret = formats[i]->parse(image, size, out, c);
		if (ret != -ENOEXEC || c->text[0])
			return ret;
	}
	return shimos_refuse(c, -ENOEXEC, "the file is no x86-64 Linux kernel: neither bzImage nor ELF");
}

static int x86_refuse_description(struct complaint *c)
{
	return shimos_refuse(c, -EOPNOTSUPP,
			     "on x86, KLoader itself describes a partition's platform, by ACPI tables");
}

int kloader_arch_describe(struct partition *p, struct shimos_platform *out, struct complaint *c)
{
	return x86_refuse_description(c);
}

int kloader_arch_check_description(const void *description, u32 size, struct complaint *c)
{
	return x86_refuse_description(c);
}

int kloader_arch_stage(struct partition *p, struct complaint *c)
{
	int ret = x86_write_boot_params(p, c);

	if (ret)
		return ret;
	x86_write_page_tables(p);
	return x86_of(p)->guard ? x86_guard_stage(p) : 0;
}

enum shimos_cause kloader_arch_watch(struct partition *p)
{
	u8 *registers = (u8 *)p->shared + SHIMOS_PLATFORM;

	if (READ_ONCE(registers[SHIMOS_REG_RESET]) == SHIMOS_RESET_VALUE)
		return SHIMOS_CAUSE_RESET;
	if (READ_ONCE(registers[SHIMOS_REG_SLEEP]))
		return SHIMOS_CAUSE_POWEROFF;
	return SHIMOS_CAUSE_NONE;
}

static u16 x86_read_elcr(void)
{
	return inb(X86_ELCR_PORT) | inb(X86_ELCR_PORT + 1) << 8;
}

void kloader_arch_settle(struct partition *p)
{
	if (x86_host_elcr == 0xffff || x86_read_elcr() == x86_host_elcr)
		return;
	outb(x86_host_elcr & 0xff, X86_ELCR_PORT);
	outb(x86_host_elcr >> 8, X86_ELCR_PORT + 1);
}

int kloader_arch_init(void)
{
	int ret;

	x86_host_elcr = x86_read_elcr();
	ret = x86_read_host_cmdline();
	if (ret)
		return ret;
	x86_low_memory_init();
	return x86_cpu_init();
}

void kloader_arch_exit(void)
{
	x86_cpu_exit();
}
