// SPDX-License-Identifier: GPL-2.0
/*
 * A guarded partition's life on x86: what its CPUs enter instead of the kernel, and how they
 * ended.  INIT takes a CPU out of guest mode as it takes any other; SVM is off after it.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <asm/desc_defs.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <shimos/compat_x86.h>
#include <shimos/x86_svm.h>

#include "../../arch.h"
#include "guard.h"
#include "../../guard/guard.h"

#define X86_GUEST_CS		0x10	/* as the boot protocol has them */
#define X86_GUEST_DS		0x18
#define X86_GUEST_SEGMENTS	4

static int x86_guard_check_processor(struct complaint *c)
{
	int ret = shimos_svm_check(raw_smp_processor_id(), c);

	if (!ret && !boot_cpu_has(X86_FEATURE_NPT))
		ret = shimos_refuse(c, -ENODEV,
				    "this processor has no nested page tables, take one that has");
	return ret;
}

int kloader_arch_check_guard(struct complaint *c)
{
	struct complaint why;
	int ret = x86_guard_check_processor(&why);

	if (ret)
		shimos_refuse(c, ret, "a partition cannot be guarded here: %s; or run it without --guarded",
			      why.text);
	return ret;
}

/* ---- memory ---- */

static void *x86_guard_pages(unsigned int order)
{
	return (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, order);
}

static void x86_guard_free(struct x86_guard *g)
{
	u32 i;

	x86_guard_free_tables(g);
	for (i = 0; i < g->cpu_count; i++)
		free_pages((unsigned long)g->cpu[i], GUARD_CPU_ORDER);
	free_page((unsigned long)g->blank);
	free_pages((unsigned long)g->registers, get_order(SVM_MSR_MAP_SIZE));
	free_pages((unsigned long)g->ports, get_order(SVM_PORT_MAP_SIZE));
	free_page((unsigned long)g->idt);
	free_pages((unsigned long)g->image, g->image_order);
	kfree(g);
}

static bool x86_guard_take_memory(struct x86_guard *g)
{
	u32 i;

	g->image_order = get_order(kloader_guard_image_end - kloader_guard_image);
	g->image = x86_guard_pages(g->image_order);
	g->idt = x86_guard_pages(0);
	g->ports = x86_guard_pages(get_order(SVM_PORT_MAP_SIZE));
	g->registers = x86_guard_pages(get_order(SVM_MSR_MAP_SIZE));
	g->blank = x86_guard_pages(0);
	for (i = 0; i < g->cpu_count; i++) {
		g->cpu[i] = x86_guard_pages(GUARD_CPU_ORDER);
		if (!g->cpu[i])
			return false;
	}
	return g->image && g->idt && g->ports && g->registers && g->blank;
}

/**
 * x86_guard_host_bytes() - host memory spent on a guard
 * @g: of x86_guard_create()
 *
 * Context: any.
 * Return: bytes.
 */
u64 x86_guard_host_bytes(const struct x86_guard *g)
{
	return sizeof(*g) + (PAGE_SIZE << g->image_order) + 2 * PAGE_SIZE +
	       (PAGE_SIZE << get_order(SVM_PORT_MAP_SIZE)) +
	       (PAGE_SIZE << get_order(SVM_MSR_MAP_SIZE)) +
	       g->cpu_count * (PAGE_SIZE << GUARD_CPU_ORDER) +
	       (u64)(g->own.count + READ_ONCE(g->seen.count)) * PAGE_SIZE;
}

static const struct guard_header *x86_guard_header(void)
{
	return (const void *)kloader_guard_image;
}

static void x86_guard_fill_idt(struct x86_guard *g)
{
	u64 stub = __pa(g->image) + x86_guard_header()->stubs;
	gate_desc *idt = g->idt;
	unsigned int vector;

	for (vector = 0; vector < GUARD_VECTORS; vector++, stub += GUARD_STUB_SIZE)
		idt[vector] = (gate_desc) {
			.offset_low	= stub,
			.offset_middle	= stub >> 16,
			.offset_high	= stub >> 32,
			.segment	= GUARD_CS,
			.bits		= { .type = GATE_INTERRUPT, .p = 1 },
		};
}

/**
 * x86_guard_create() - make a partition's guard
 * @p: its CPUs and memory are known
 *
 * kloader_arch_check_guard() has nothing against it.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int x86_guard_create(struct partition *p)
{
	struct x86_guard *g;
	int ret;

	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	INIT_LIST_HEAD(&g->link);
	INIT_LIST_HEAD(&g->own.pages);
	INIT_LIST_HEAD(&g->seen.pages);
	g->cpu_count = p->cpu_count;
	ret = x86_guard_take_memory(g) ? x86_guard_make_tables(g, p) : -ENOMEM;
	if (ret) {
		x86_guard_free(g);
		return ret;
	}
	memcpy(g->image, kloader_guard_image, kloader_guard_image_end - kloader_guard_image);
	x86_guard_fill_idt(g);
	x86_guard_fill_maps(g);
	x86_of(p)->guard = g;
	return 0;
}

/* INIT leaves there where the guard's state was.  If something else has the CPU now, it is its. */
static void x86_guard_forget(void *arg)
{
	struct x86_guard *g = arg;
	u64 place;
	u32 i;

	compat_rdmsrq(MSR_VM_HSAVE_PA, place);
	for (i = 0; i < g->cpu_count; i++)
		if (place == __pa(g->cpu[i]) + GUARD_SAVE)
			compat_wrmsrq(MSR_VM_HSAVE_PA, 0);
}

/**
 * x86_guard_destroy() - undo x86_guard_create(), if there is a guard
 * @p: its CPUs are the host's again
 *
 * Context: may sleep.
 */
void x86_guard_destroy(struct partition *p)
{
	struct x86_guard *g = x86_of(p)->guard;
	u32 i;

	if (!g)
		return;
	for (i = 0; i < p->cpu_count; i++)
		smp_call_function_single(p->cpus[i], x86_guard_forget, g, 1);
	x86_guard_free(g);
}

/* ---- a start ---- */

static void x86_guard_segment(struct svm_segment *s, u16 selector, u16 attributes)
{
	*s = (struct svm_segment) {
		.selector	= selector,
		.attributes	= attributes,
		.limit		= U32_MAX,
	};
}

static void x86_guard_fill_control(struct x86_guard *g, struct svm_control *control)
{
	control->intercept_3 = SVM_3_PORTS | SVM_3_MSR | SVM_3_SHUTDOWN | SVM_3_INVLPGA |
			       SVM_3_INVD;
	control->intercept_4 = SVM_4_VMRUN | SVM_4_VMMCALL | SVM_4_VMLOAD | SVM_4_VMSAVE |
			       SVM_4_STGI | SVM_4_CLGI | SVM_4_SKINIT;
	control->io_map = __pa(g->ports);
	control->msr_map = __pa(g->registers);
	control->asid = 1;
	control->tlb = SVM_TLB_FLUSH_ALL;
	control->nested = SVM_NESTED_PAGING;
	control->nested_cr3 = g->seen.root;
}

/*
 * As the trampoline leaves a CPU whose kernel is not guarded, but for the place of the GDT; and
 * with no-execute on: a 6.12 takes a CPU at the mailbox straight to page tables that have that
 * bit, unless its paging has other levels than the kernel wants.
 */
static void x86_guard_fill_state(struct partition *p, struct svm_save *save)
{
	x86_guard_segment(&save->cs, X86_GUEST_CS, SVM_ATTRIBUTES_CODE);
	x86_guard_segment(&save->ss, X86_GUEST_DS, SVM_ATTRIBUTES_DATA);
	x86_guard_segment(&save->ds, X86_GUEST_DS, SVM_ATTRIBUTES_DATA);
	x86_guard_segment(&save->es, X86_GUEST_DS, SVM_ATTRIBUTES_DATA);
	save->gdtr.base = partition_phys(p, X86_GUEST_GDT);
	save->gdtr.limit = X86_GUEST_SEGMENTS * sizeof(u64) - 1;
	save->efer = EFER_LME | EFER_LMA | EFER_SVME |
		     (boot_cpu_has(X86_FEATURE_NX) ? EFER_NX : 0);
	save->cr0 = X86_CR0_PE | X86_CR0_ET | X86_CR0_NE | X86_CR0_PG;
	save->cr3 = partition_phys(p, X86_PAGE_TABLES);
	save->cr4 = X86_CR4_PAE;
	save->dr6 = 0xffff0ff0;
	save->dr7 = 0x400;
	save->rflags = X86_EFLAGS_FIXED;
	compat_rdmsrq(MSR_IA32_CR_PAT, save->pat);
}

static void x86_guard_fill_cpu(struct partition *p, u32 i)
{
	struct x86_guard *g = x86_of(p)->guard;
	struct guard_cpu *cpu = g->cpu[i];
	struct svm_vmcb *vmcb = (void *)cpu + GUARD_VMCB;

	memset(cpu, 0, PAGE_SIZE << GUARD_CPU_ORDER);
	cpu->idt = __pa(g->idt);
	cpu->mailbox = i ? partition_phys(p, X86_MAILBOX) : 0;
	cpu->apic_id = p->hardware_ids[i];
	x86_guard_fill_control(g, &vmcb->control);
	x86_guard_fill_state(p, &vmcb->save);
	if (i)
		return;
	cpu->registers.rsi = partition_phys(p, X86_BOOT_PARAMS);
	vmcb->save.rip = partition_phys(p, p->layout.kernel) + p->image.entry;
}

/**
 * x86_guard_stage() - write everything that a start needs, anew
 * @p: does not run
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or -ENOMEM.
 */
int x86_guard_stage(struct partition *p)
{
	u64 *gdt = partition_at(p, X86_GUEST_GDT);
	u32 i;

	memset(gdt, 0, PAGE_SIZE);
	gdt[X86_GUEST_CS / sizeof(u64)] = 0x00af9b000000ffff;
	gdt[X86_GUEST_DS / sizeof(u64)] = 0x00cf93000000ffff;
	memset(partition_at(p, X86_MAILBOX), 0, PAGE_SIZE);
	memset(x86_of(p)->guard->blank, 0, PAGE_SIZE);
	x86_of(p)->guard->reason[0] = '\0';
	for (i = 0; i < p->cpu_count; i++)
		x86_guard_fill_cpu(p, i);
	return x86_guard_show_devices(x86_of(p)->guard, p);
}

/**
 * x86_guard_start() - let all CPUs enter the guard
 * @p: staged
 * @c: why not
 *
 * The first one comes last: it finds the others at the mailbox.
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error.
 */
int x86_guard_start(struct partition *p, struct complaint *c)
{
	struct x86_guard *g = x86_of(p)->guard;
	struct x86_entry entry = {
		.cr3	= g->own.root,
		.at	= __pa(g->image) + x86_guard_header()->enter,
	};
	u32 i = p->cpu_count;
	int ret = 0;

	while (!ret && i--) {
		entry.argument = __pa(g->cpu[i]);
		ret = x86_cpu_start(p, i, &entry, c);
	}
	return ret;
}

/* ---- how it is, and how it ended ---- */

static const char *x86_guard_why(u32 why)
{
	switch (why) {
	case GUARD_SHUTDOWN:
		return "triple fault: it could not handle an exception";
	case GUARD_STRAY:
		return "its tables or stacks led to memory that is not its own";
	case GUARD_INVALID:
		return "it brought the processor into a state that cannot be";
	case GUARD_FAULT:
		return "the guard itself failed";
	}
	return "it was left for no reason that the guard knows";
}

static void x86_guard_describe(struct partition *p, u32 i, u32 why)
{
	struct x86_guard *g = x86_of(p)->guard;
	struct guard_cpu *cpu = g->cpu[i];
	u64 strays = READ_ONCE(cpu->counts.strays);
	int used;

	used = scnprintf(g->reason, sizeof(g->reason), "%s; CPU %u, instruction at 0x%llx",
			 x86_guard_why(why), p->cpus[i], READ_ONCE(cpu->at));
	if (why == GUARD_EXIT || why == GUARD_FAULT)
		used += scnprintf(g->reason + used, sizeof(g->reason) - used, ", code 0x%llx",
				  READ_ONCE(cpu->info));
	if (strays)
		scnprintf(g->reason + used, sizeof(g->reason) - used,
			  "; it last went astray to 0x%llx, by the instruction at 0x%llx",
			  READ_ONCE(cpu->stray), READ_ONCE(cpu->stray_at));
}

/* One that has ended stands still; the guard says so itself, not its kernel.  Any context. */
bool kloader_arch_guard_ended(struct partition *p)
{
	struct x86_guard *g = x86_of(p)->guard;
	u32 i;

	for (i = 0; g && i < g->cpu_count; i++)
		if (smp_load_acquire(&g->cpu[i]->why))	/* pairs with exit_end()'s release */
			return true;
	return false;
}

/* Its CPUs are parked. */
const char *kloader_arch_guard_words(struct partition *p)
{
	struct x86_guard *g = x86_of(p)->guard;
	u32 i, why;

	for (i = 0; g && i < g->cpu_count; i++) {
		/* pairs with exit_end()'s release */
		why = smp_load_acquire(&g->cpu[i]->why);
		if (why) {
			x86_guard_describe(p, i, why);
			return g->reason;
		}
	}
	return NULL;
}

void kloader_arch_guard_counts(struct partition *p, u64 *exits, u64 *strays)
{
	struct x86_guard *g = p->gone ? NULL : x86_of(p)->guard;
	u32 i;

	*exits = *strays = 0;
	for (i = 0; g && i < g->cpu_count; i++) {
		*exits += READ_ONCE(g->cpu[i]->counts.exits);
		*strays += READ_ONCE(g->cpu[i]->counts.strays);
	}
}
