// SPDX-License-Identifier: GPL-2.0
/*
 * Handing CPUs to a partition and taking them back, by INIT and SIPI.
 *
 * INIT stops a CPU whatever it does, but the sender cannot see when.  So a CPU
 * counts as parked only after it has run the trampoline and said so there:
 * memory is never freed under a CPU that may still write to it.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <asm/apic.h>
#include <asm/pgtable_types.h>

#include "x86.h"

#define ACK_TIMEOUT_US	(6 * USEC_PER_SEC)	/* emulated CPUs may be starved */
#define SIPI_TRIES	3

struct trampoline_data {
	u32 mode;
	u32 ack;
	u64 cr3;
	u64 entry;
	u64 boot_params;
	u32 cr3_low;
	u32 far_offset;
	u16 far_segment;
	u16 gdt_limit;
	u32 gdt_base;
} __packed;

/* The page itself, then three levels of page tables that map the first 2 MiB. */
#define TRAMPOLINE_PAGES	4

static u64 trampoline;			/* physical address */
static DEFINE_MUTEX(trampoline_mutex);	/* one CPU at a time goes through it */

static struct trampoline_data *data(void)
{
	return phys_to_virt(trampoline + (kloader_trampoline_data - kloader_trampoline));
}

static void send(u32 apic_id, u32 command)
{
	unsigned long flags;

	local_irq_save(flags);
	if (apic->wait_icr_idle)
		while (apic->read(APIC_ICR) & APIC_ICR_BUSY)
			cpu_relax();
	apic->icr_write(command, apic_id);
	local_irq_restore(flags);
}

static void send_init(u32 apic_id)
{
	send(apic_id, APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT);
	send(apic_id, APIC_INT_LEVELTRIG | APIC_DM_INIT);
}

/* The time that the MP specification gives a CPU between INIT and SIPI. */
static void wait_after_init(void)
{
	usleep_range(10000, 11000);
}

/* SIPI to a CPU that was sent INIT, and its answer from the trampoline. */
static int run_trampoline(u32 apic_id, u32 mode)
{
	u32 ack;
	int try;

	lockdep_assert_held(&trampoline_mutex);
	WRITE_ONCE(data()->ack, 0);
	WRITE_ONCE(data()->mode, mode);
	for (try = 0; try < SIPI_TRIES; try++) {
		/* the CPU that starts reads, uncached, what was stored above */
		mb();
		send(apic_id, APIC_DM_STARTUP | trampoline >> PAGE_SHIFT);
		if (!read_poll_timeout(READ_ONCE, ack, ack, 20,
				       ACK_TIMEOUT_US / SIPI_TRIES, false,
				       data()->ack))
			return 0;
	}
	return -EIO;
}

/**
 * x86_cpu_start() - let the first CPU enter the partition's kernel
 *
 * Returns when it is about to.  The others wait for the partition's own SIPI.
 * May sleep.
 */
int x86_cpu_start(struct partition *p, struct complaint *c)
{
	struct x86_partition *x = to_x86(p);
	int ret;

	mutex_lock(&trampoline_mutex);
	data()->cr3 = partition_phys(p, X86_PAGE_TABLES);
	data()->boot_params = partition_phys(p, X86_BOOT_PARAMS);
	data()->entry = partition_phys(p, p->layout.kernel) + p->image.entry;
	send_init(x->apic_ids[0]);
	wait_after_init();
	ret = run_trampoline(x->apic_ids[0], TRAMPOLINE_START);
	mutex_unlock(&trampoline_mutex);
	if (ret)
		return refuse(c, ret, "CPU %u (APIC id %u) does not answer INIT and SIPI",
			      p->cpus[0], x->apic_ids[0]);
	return 0;
}

/* INIT to all of them at once: none shall run on without the rest. */
void x86_cpu_halt(struct partition *p)
{
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		send_init(to_x86(p)->apic_ids[i]);
}

int x86_cpu_park(struct partition *p)
{
	struct x86_partition *x = to_x86(p);
	int ret = 0;
	u32 i;

	mutex_lock(&trampoline_mutex);
	x86_cpu_halt(p);
	wait_after_init();
	for (i = 0; i < p->cpu_count; i++) {
		if (!run_trampoline(x->apic_ids[i], TRAMPOLINE_PARK))
			continue;
		pr_err("%s: CPU %u (APIC id %u) does not answer INIT and SIPI\n",
		       p->name, p->cpus[i], x->apic_ids[i]);
		ret = -EIO;
	}
	mutex_unlock(&trampoline_mutex);
	return ret;
}

int x86_cpu_init(void)
{
	u8 *page;
	u64 *table;
	int level;

	trampoline = x86_low_memory_take(TRAMPOLINE_PAGES);
	if (!trampoline)
		return -ENOMEM;
	page = phys_to_virt(trampoline);
	memset(page, 0, TRAMPOLINE_PAGES * PAGE_SIZE);
	memcpy(page, kloader_trampoline, kloader_trampoline_end - kloader_trampoline);
	table = (u64 *)(page + PAGE_SIZE);
	for (level = 0; level < 2; level++, table += PTRS_PER_PTE)
		table[0] = virt_to_phys(table + PTRS_PER_PTE) | _PAGE_PRESENT | _PAGE_RW;
	table[0] = _PAGE_PRESENT | _PAGE_RW | _PAGE_PSE;
	data()->cr3_low = trampoline + PAGE_SIZE;
	data()->far_offset += trampoline;
	data()->gdt_base += trampoline;
	return 0;
}

void x86_cpu_exit(void)
{
	x86_low_memory_give_back(trampoline, TRAMPOLINE_PAGES);
}
