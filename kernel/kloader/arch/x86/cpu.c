// SPDX-License-Identifier: GPL-2.0
/*
 * Handing CPUs to a partition and taking them back, by INIT and SIPI.
 *
 * INIT stops a CPU whatever it does, unless it is in VMX operation: then it waits
 * for the CPU to leave that (Intel SDM 3C, 24.8).  A CPU that does not answer is sent
 * an NMI, which the agent answers by leaving it.  The sender cannot see when a CPU
 * stops, so one counts as parked only after it has run the trampoline and said so
 * there: memory is never freed under a CPU that may still write to it.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <asm/desc_defs.h>
#include <asm/pgtable_types.h>
#include <asm/trapnr.h>
#include <shimos/x86_icr.h>

#include "arch.h"
#include "guard.h"
#include "x86.h"

#define X86_ACK_TIMEOUT_US	(6 * USEC_PER_SEC)	/* emulated CPUs may be starved */
#define X86_SIPI_TRIES		3
/* The time that the MP specification gives a CPU between INIT and SIPI. */
#define X86_INIT_US		10000

struct trampoline_data {
	u32 mode;
	u32 ack;
	u64 cr3;
	u64 entry;
	u64 argument;
	u64 share;
	u32 share_register;
	u32 cr3_low;
	u32 far_offset;
	u16 far_segment;
	u16 gdt_limit;
	u32 gdt_base;
	u16 idt_limit;
	u64 idt_base;
} __packed;

/* The page itself, then three levels of page tables that map the first 2 MiB. */
#define TRAMPOLINE_PAGES	4

static u64 x86_trampoline;		/* physical address */
static DEFINE_MUTEX(x86_trampoline_mutex);	/* one CPU at a time goes through it */

/* Where a label of trampoline.S is in memory: a physical address. */
static u64 x86_cpu_label(const u8 *label)
{
	return x86_trampoline + (label - kloader_trampoline);
}

static struct trampoline_data *x86_cpu_data(void)
{
	return phys_to_virt(x86_cpu_label(kloader_trampoline_data));
}

static void x86_cpu_send_init(u32 apic_id)
{
	shimos_icr_send(apic_id, APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT);
	shimos_icr_send(apic_id, APIC_INT_LEVELTRIG | APIC_DM_INIT);
}

static void x86_cpu_wait_after_init(void)
{
	usleep_range(X86_INIT_US, X86_INIT_US + 1000);
}

/* INIT, and the time it needs: then the CPU waits for SIPI. */
static void x86_cpu_stop(u32 apic_id)
{
	x86_cpu_send_init(apic_id);
	x86_cpu_wait_after_init();
}

/* SIPI and the answer from the trampoline of a CPU that has had INIT. */
static int x86_cpu_run_trampoline(u32 apic_id)
{
	u32 ack;

	lockdep_assert_held(&x86_trampoline_mutex);
	/* the CPU that starts reads, uncached, what was stored for it */
	mb();
	shimos_icr_send(apic_id, APIC_DM_STARTUP | x86_trampoline >> PAGE_SHIFT);
	return read_poll_timeout(READ_ONCE, ack, ack, 20,
				 X86_ACK_TIMEOUT_US / X86_SIPI_TRIES, false,
				 x86_cpu_data()->ack);
}

/* What the next CPU that runs the trampoline does there. */
static void x86_cpu_set_mode(u32 mode, unsigned int cpu)
{
	lockdep_assert_held(&x86_trampoline_mutex);
	x86_cpu_data()->share = x86_resctrl_share(cpu);
	x86_cpu_data()->share_register = x86_resctrl_share(cpu) ? x86_resctrl_register() : 0;
	WRITE_ONCE(x86_cpu_data()->ack, 0);
	WRITE_ONCE(x86_cpu_data()->mode, mode);
}

/* INIT, SIPI and the trampoline's answer, a few times if need be. */
static int x86_cpu_pass_trampoline(unsigned int cpu, u64 apic_id, struct complaint *c)
{
	int try;

	for (try = 0; try < X86_SIPI_TRIES; try++) {
		x86_cpu_stop(apic_id);
		if (!x86_cpu_run_trampoline(apic_id))
			return 0;
	}
	return shimos_refuse(c, -EIO, "CPU %u (APIC id %llu) does not answer INIT and SIPI", cpu,
			     apic_id);
}

/**
 * x86_cpu_trampoline() - the physical address of the trampoline's page
 *
 * Context: any; after x86_cpu_init().
 */
u64 x86_cpu_trampoline(void)
{
	return x86_trampoline;
}

/**
 * x86_cpu_start() - let a CPU enter what is to run there
 * @p: the partition
 * @i: which of its CPUs
 * @entry: what it enters
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 when it is about to, or -EIO.
 */
int x86_cpu_start(struct partition *p, u32 i, const struct x86_entry *entry, struct complaint *c)
{
	struct trampoline_data *data = x86_cpu_data();
	int ret;

	mutex_lock(&x86_trampoline_mutex);
	x86_cpu_set_mode(TRAMPOLINE_START, p->cpus[i]);
	data->cr3 = entry->cr3;
	data->argument = entry->argument;
	data->entry = entry->at;
	ret = x86_cpu_pass_trampoline(p->cpus[i], p->hardware_ids[i], c);
	mutex_unlock(&x86_trampoline_mutex);
	return ret;
}

/* The first one; the others wait for the partition's own SIPI. */
int kloader_arch_start(struct partition *p, struct complaint *c)
{
	const struct x86_entry entry = {
		.cr3		= partition_phys(p, X86_PAGE_TABLES),
		.at		= partition_phys(p, p->layout.kernel) + p->image.entry,
		.argument	= partition_phys(p, X86_BOOT_PARAMS),
	};

	if (x86_of(p)->guard)
		return x86_guard_start(p, c);
	return x86_cpu_start(p, 0, &entry, c);
}

/* INIT to all of them at once: none shall run on without the rest.  Any context. */
void kloader_arch_halt(struct partition *p)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&p->cpus_lock, flags);
	for (i = 0; i < p->cpu_count; i++)
		x86_cpu_send_init(p->hardware_ids[i]);
	spin_unlock_irqrestore(&p->cpus_lock, flags);
}

/*
 * It did not take INIT: ask its agent, which answers NMIs.  Only such a CPU is sent
 * one: to a CPU without a handler for it an NMI can mean a reset of the machine.
 */
static void x86_cpu_ask_agent(struct partition *p, u32 i)
{
	if (!p->agent)
		return;
	pr_notice("%s: CPU %u (APIC id %llu) does not answer INIT: sending it an NMI\n",
		  p->name, p->cpus[i], p->hardware_ids[i]);
	WRITE_ONCE(p->shared->stop, 1);
	wmb();	/* the agent's handler sees it */
	shimos_icr_send(p->hardware_ids[i], APIC_DM_NMI);
	x86_cpu_wait_after_init();
}

/* It has had INIT, and time: another only before it is tried again. */
static int x86_cpu_park(struct partition *p, u32 i)
{
	int try;

	for (try = 0; try < X86_SIPI_TRIES; try++) {
		x86_cpu_set_mode(TRAMPOLINE_PARK, p->cpus[i]);
		if (try)
			x86_cpu_stop(p->hardware_ids[i]);
		if (!x86_cpu_run_trampoline(p->hardware_ids[i]))
			return 0;
		x86_cpu_ask_agent(p, i);
	}
	pr_err("%s: CPU %u (APIC id %llu) does not answer INIT and SIPI\n",
	       p->name, p->cpus[i], p->hardware_ids[i]);
	return -EIO;
}

int kloader_arch_park(struct partition *p)
{
	int ret = 0;
	u32 i;

	mutex_lock(&x86_trampoline_mutex);
	kloader_arch_halt(p);
	/* again: one that was still running may have started another by SIPI meanwhile */
	kloader_arch_halt(p);
	x86_cpu_wait_after_init();
	for (i = 0; i < p->cpu_count; i++)
		ret = x86_cpu_park(p, i) ?: ret;
	mutex_unlock(&x86_trampoline_mutex);
	return ret;
}

int kloader_arch_park_cpu(struct partition *p, u32 i)
{
	int ret;

	mutex_lock(&x86_trampoline_mutex);
	x86_cpu_stop(p->hardware_ids[i]);
	ret = x86_cpu_park(p, i);
	mutex_unlock(&x86_trampoline_mutex);
	return ret;
}

/*
 * Through the trampoline once: those that its kernel starts by itself do not come by there,
 * and what they find in their registers is what they were parked with.
 */
int kloader_arch_took_cpu(unsigned int cpu, struct complaint *c)
{
	int ret;

	if (!x86_resctrl_share(cpu))
		return 0;
	mutex_lock(&x86_trampoline_mutex);
	x86_cpu_set_mode(TRAMPOLINE_PARK, cpu);
	ret = x86_cpu_pass_trampoline(cpu, kloader_arch_hardware_id(cpu), c);
	mutex_unlock(&x86_trampoline_mutex);
	return ret;
}

int kloader_arch_check_resize(struct partition *p, struct complaint *c)
{
	if (x86_of(p)->guard)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "'%s' is guarded, and a guarded kernel cannot take CPUs off and on again",
				     p->name);
	return 0;
}

static void x86_cpu_set_gate(unsigned int vector, const u8 *label)
{
	gate_desc *idt = phys_to_virt(x86_cpu_label(kloader_trampoline_idt));
	u64 addr = x86_cpu_label(label);

	idt[vector] = (gate_desc) {
		.offset_low	= addr,
		.offset_middle	= addr >> 16,
		.segment	= 0x10,
		.bits		= { .type = GATE_INTERRUPT, .p = 1 },
	};
}

static void x86_cpu_write_idt(void)
{
	unsigned int vector;

	for (vector = 0; vector < TRAMPOLINE_VECTORS; vector++)
		x86_cpu_set_gate(vector, kloader_trampoline_fault);
	x86_cpu_set_gate(X86_TRAP_NMI, kloader_trampoline_nmi);
	x86_cpu_set_gate(X86_TRAP_MC, kloader_trampoline_mce);
	x86_cpu_data()->idt_base = x86_cpu_label(kloader_trampoline_idt);
}

/**
 * x86_cpu_init() - put the trampoline below 1 MiB
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int x86_cpu_init(void)
{
	u8 *page;
	u64 *table;
	int level;

	x86_trampoline = x86_low_memory_take(TRAMPOLINE_PAGES);
	if (!x86_trampoline)
		return -ENOMEM;
	page = phys_to_virt(x86_trampoline);
	memset(page, 0, TRAMPOLINE_PAGES * PAGE_SIZE);
	memcpy(page, kloader_trampoline, kloader_trampoline_end - kloader_trampoline);
	table = (u64 *)(page + PAGE_SIZE);
	for (level = 0; level < 2; level++, table += PTRS_PER_PTE)
		table[0] = virt_to_phys(table + PTRS_PER_PTE) | _PAGE_PRESENT | _PAGE_RW;
	table[0] = _PAGE_PRESENT | _PAGE_RW | _PAGE_PSE;
	x86_cpu_data()->cr3_low = x86_trampoline + PAGE_SIZE;
	x86_cpu_data()->far_offset += x86_trampoline;
	x86_cpu_data()->gdt_base += x86_trampoline;
	x86_cpu_write_idt();
	return 0;
}

/**
 * x86_cpu_exit() - give its memory back
 *
 * Context: may sleep; no CPU is parked there.
 */
void x86_cpu_exit(void)
{
	x86_low_memory_give_back(x86_trampoline, TRAMPOLINE_PAGES);
}
