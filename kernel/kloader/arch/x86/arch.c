// SPDX-License-Identifier: GPL-2.0
/*
 * KLoader on x86-64: what a host must be, what a partition is told.
 */
#include <linux/cpu.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <asm/apic.h>
#include <asm/smp.h>
#include <asm/tsc.h>

#include "cmdline.h"
#include "pci.h"
#include "x86.h"

/* Edge or level of the legacy interrupts: a partition's kernel rewrites them. */
#define ELCR_PORT	0x4d0

static u16 host_elcr;

static int x86_check_host(struct complaint *c)
{
	if (x2apic_enabled())
		return refuse(c, -EOPNOTSUPP,
			      "the host runs its APICs in x2APIC mode, which a partition cannot take over: add nox2apic intremap=off to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and restart the machine");
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return refuse(c, -EOPNOTSUPP, "the host is a Xen PV guest: its CPUs are not real");
	if (!x86_host_ipi_broadcast_off())
		return refuse(c, -EOPNOTSUPP,
			      "the host may send interrupts to all CPUs at once, those of partitions included: add no_ipi_broadcast=1 to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and restart the machine");
	return 0;
}

static int x86_check_cpu(unsigned int cpu, struct complaint *c)
{
	u32 apic_id = per_cpu(x86_cpu_to_apicid, cpu);

	/* INIT sends it to the reset vector; Linux does not offline it either */
	if (!cpu)
		return refuse(c, -EPERM, "CPU 0 booted the machine and stays with the host");
	if (apic_id >= X86_DUMMY_APIC_ID)
		return refuse(c, -EOPNOTSUPP, "CPU %u has APIC id %u; below %u is supported",
			      cpu, apic_id, X86_DUMMY_APIC_ID);
	return 0;
}

static int x86_create(struct partition *p, struct complaint *c)
{
	struct x86_partition *x = kzalloc(sizeof(*x), GFP_KERNEL);
	u32 i;

	if (!x)
		return -ENOMEM;
	x->low_memory = x86_low_memory_take(X86_LOW_PAGES);
	if (!x->low_memory) {
		kfree(x);
		return refuse(c, -ENOSPC,
			      "no memory below 1 MiB is left for its CPUs' start-up code: remove a partition first");
	}
	for (i = 0; i < p->cpu_count; i++)
		x->apic_ids[i] = per_cpu(x86_cpu_to_apicid, p->cpus[i]);
	p->arch = x;
	return 0;
}

static void x86_destroy(struct partition *p)
{
	x86_low_memory_give_back(to_x86(p)->low_memory, X86_LOW_PAGES);
	kfree(p->arch);
	p->arch = NULL;
}

static u64 x86_host_bytes(const struct partition *p)
{
	return sizeof(struct x86_partition) + X86_LOW_PAGES * PAGE_SIZE;
}

static int x86_parse_image(const void *image, u64 size, struct image *out,
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
	return refuse(c, -ENOEXEC, "the file is no x86-64 Linux kernel: neither bzImage nor ELF");
}

static int x86_stage(struct partition *p, struct complaint *c)
{
	int ret = x86_write_boot_params(p, c);

	if (ret)
		return ret;
	x86_write_page_tables(p);
	return 0;
}

static bool x86_owns_cpu(struct partition *p, u32 apic_id)
{
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		if (to_x86(p)->apic_ids[i] == apic_id)
			return true;
	return false;
}

static enum shimos_cause x86_reset_requested(struct partition *p)
{
	u8 *registers = (u8 *)p->shared + SHIMOS_REGISTERS;

	if (READ_ONCE(registers[SHIMOS_REG_RESET]) == SHIMOS_RESET_VALUE)
		return SHIMOS_CAUSE_RESET;
	if (READ_ONCE(registers[SHIMOS_REG_SLEEP]))
		return SHIMOS_CAUSE_POWEROFF;
	return SHIMOS_CAUSE_NONE;
}

static u16 read_elcr(void)
{
	return inb(ELCR_PORT) | inb(ELCR_PORT + 1) << 8;
}

static void x86_restore_legacy(void)
{
	if (host_elcr == 0xffff || read_elcr() == host_elcr)
		return;
	outb(host_elcr & 0xff, ELCR_PORT);
	outb(host_elcr >> 8, ELCR_PORT + 1);
}

static int x86_arch_init(void)
{
	int ret;

	host_elcr = read_elcr();
	ret = x86_read_host_cmdline();
	if (ret)
		return ret;
	x86_low_memory_init();
	return x86_cpu_init();
}

static void x86_arch_exit(void)
{
	x86_cpu_exit();
}

static const struct kloader_arch x86_arch = {
	.name			= "x86-64",
	.init			= x86_arch_init,
	.exit			= x86_arch_exit,
	.check_host		= x86_check_host,
	.check_cpu		= x86_check_cpu,
	.check_pci		= x86_check_pci,
	.check_cmdline		= x86_check_cmdline,
	.create			= x86_create,
	.destroy		= x86_destroy,
	.host_bytes		= x86_host_bytes,
	.parse_image		= x86_parse_image,
	.append_cmdline		= x86_append_cmdline,
	.stage			= x86_stage,
	.start			= x86_cpu_start,
	.halt			= x86_cpu_halt,
	.park			= x86_cpu_park,
	.restore_legacy		= x86_restore_legacy,
	.owns_cpu		= x86_owns_cpu,
	.reset_requested	= x86_reset_requested,
};

const struct kloader_arch *const kloader_arch = &x86_arch;
