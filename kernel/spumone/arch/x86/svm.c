// SPDX-License-Identifier: GPL-2.0
/*
 * Putting the layer under a running CPU by AMD's SVM, and taking it away (AMD64 APM
 * volume 2, chapter 15).
 */
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/apicdef.h>
#include <asm/cpufeature.h>
#include <asm/desc.h>
#include <asm/debugreg.h>
#include <asm/msr.h>
#include <asm/special_insns.h>
#include <asm/smp.h>
#include <shimos/compat_x86.h>
#include <shimos/x86_icr.h>
#include <shimos/x86_svm.h>
#include <uapi/shimos_ikc.h>

#include "../../spumone.h"
#include "call.h"
#include "../../layer/arch/x86/svm.h"

#define SVM_CPUID_XSAVE	0xd

const char *spumone_arch_timer(void)
{
	return "lapic";
}

static int svm_check_here(void)
{
	u64 value;

	compat_rdmsrq(MSR_VM_CR, value);
	if (value & SHIMOS_VM_CR_DISABLED)
		return -EPERM;
	compat_rdmsrq(MSR_EFER, value);
	return value & EFER_SVME ? -EBUSY : 0;
}

static void svm_check_there(void *ret)
{
	*(int *)ret = svm_check_here();
}

/* Bytes that XSAVE needs for what Linux has enabled; FXSAVE, without it, has 512. */
static u32 svm_fpu_size(void)
{
	return boot_cpu_has(X86_FEATURE_XSAVE) ? cpuid_ebx(SVM_CPUID_XSAVE) : 512;
}

int spumone_arch_check(unsigned int cpu, struct complaint *c)
{
	int ret = shimos_svm_check(cpu, c);

	if (ret)
		return ret;
	if (!boot_cpu_has(X86_FEATURE_ARAT))
		return shimos_refuse(c, -ENODEV,
				     "this processor's local timer stops in deep sleep (no ARAT)");
	if (boot_cpu_has(X86_FEATURE_TSC_DEADLINE_TIMER))
		return shimos_refuse(c, -ENODEV,
				     "this kernel uses the local timer's TSC deadline mode, which is not supported yet: boot it with lapic=notscdeadline");
	if (svm_fpu_size() > LAYER_FPU_SIZE)
		return shimos_refuse(c, -ENODEV,
				     "this processor's registers of floating point need %u bytes, and the layer has %u for them: boot with noxsave",
				     svm_fpu_size(), LAYER_FPU_SIZE);
	smp_call_function_single(cpu, svm_check_there, &ret, 1);
	if (ret == -EBUSY)
		return shimos_refuse(c, ret,
				     "virtual machines run on this host (kvm_amd): stop them, or: rmmod kvm_amd");
	return 0;
}

/* A copy of the page in which the switch is, at its address. */
int spumone_arch_map_switch(struct spumone_cpu *s)
{
	u64 page = (u64)spumone_arch_switch_in & PAGE_MASK;

	memcpy(s->code, (void *)page, PAGE_SIZE);
	return spumone_arch_map(&s->tables, page, __pa(s->code), SPUMONE_RUN);
}

u64 spumone_arch_leave_address(void)
{
	return (u64)spumone_arch_switch_out;
}

u64 spumone_arch_controller(void)
{
	u64 value;

	compat_rdmsrq(MSR_IA32_APICBASE, value);
	return value & X2APIC_ENABLE ? 0 : value & MSR_IA32_APICBASE_BASE;
}

static void svm_segment(struct svm_segment *s, u16 selector, u16 attributes)
{
	s->selector = selector;
	s->attributes = attributes;
	s->limit = attributes ? U32_MAX : 0;
	s->base = 0;
}

static void svm_fill_intercepts(struct svm_vmcb *vmcb, u64 msr_map)
{
	vmcb->control.intercept_3 = SVM_3_MSR | SVM_3_SHUTDOWN;
	vmcb->control.intercept_4 = SVM_4_VMRUN | SVM_4_VMMCALL | SVM_4_VMLOAD | SVM_4_VMSAVE |
				    SVM_4_STGI | SVM_4_CLGI | SVM_4_SKINIT;
	vmcb->control.msr_map = msr_map;
	vmcb->control.asid = 1;
	vmcb->control.tlb = SVM_TLB_FLUSH_ALL;
}

/* Linux as it is just now; where it goes on is filled in by the layer's entry. */
static void svm_fill_state(struct svm_vmcb *vmcb, u64 efer)
{
	struct desc_ptr gdt, idt;

	native_store_gdt(&gdt);
	store_idt(&idt);
	svm_segment(&vmcb->save.cs, __KERNEL_CS, SVM_ATTRIBUTES_CODE);
	svm_segment(&vmcb->save.ss, __KERNEL_DS, SVM_ATTRIBUTES_DATA);
	svm_segment(&vmcb->save.ds, 0, 0);
	svm_segment(&vmcb->save.es, 0, 0);
	vmcb->save.gdtr.limit = gdt.size;
	vmcb->save.gdtr.base = gdt.address;
	vmcb->save.idtr.limit = idt.size;
	vmcb->save.idtr.base = idt.address;
	vmcb->save.cpl = 0;
	vmcb->save.efer = efer;
	vmcb->save.cr0 = read_cr0();
	vmcb->save.cr2 = native_read_cr2();
	vmcb->save.cr3 = __read_cr3();
	vmcb->save.cr4 = __read_cr4();
	/* looked at with nested page tables only */
	compat_rdmsrq(MSR_IA32_CR_PAT, vmcb->save.pat);
	get_debugreg(vmcb->save.dr6, 6);
	get_debugreg(vmcb->save.dr7, 7);
}

int spumone_arch_enter(struct spumone_cpu *s)
{
	struct svm_vmcb *vmcb = s->state;
	int ret = svm_check_here();
	u64 efer;

	if (ret)
		return ret;
	compat_rdmsrq(MSR_EFER, efer);
	efer |= EFER_SVME;
	memset(vmcb, 0, sizeof(*vmcb));
	svm_fill_intercepts(vmcb, __pa(s->watched));
	svm_fill_state(vmcb, efer);
	compat_wrmsrq(MSR_EFER, efer);
	compat_wrmsrq(MSR_VM_HSAVE_PA, __pa(s->arch));
	vmcb->save.rflags = X86_EFLAGS_FIXED;
	spumone_arch_switch_in(s->tables.root, s->enter);
	return 0;
}

void spumone_arch_leave(struct spumone_cpu *s)
{
	u64 efer;

	spumone_arch_call_leave();
	compat_wrmsrq(MSR_VM_HSAVE_PA, 0);
	compat_rdmsrq(MSR_EFER, efer);
	compat_wrmsrq(MSR_EFER, efer & ~EFER_SVME);
}

void spumone_arch_call(enum layer_call call, u64 argument)
{
	unsigned long number = call;

	asm volatile("vmmcall" : "+a"(number) : "D"(argument) : "memory");
}

int spumone_arch_check_protect(struct complaint *c)
{
	if (!boot_cpu_has(X86_FEATURE_NPT) || !boot_cpu_has(X86_FEATURE_GBPAGES))
		return shimos_refuse(c, -ENODEV,
				     "this processor has no nested page tables, or none with pages of 1 GiB: nothing can be protected from the host here");
	return 0;
}

/* Shadow stacks and the like are state that XSAVE leaves out. */
static bool svm_has_supervisor_state(void)
{
	u64 value = 0;

	if (boot_cpu_has(X86_FEATURE_XSAVES))
		compat_rdmsrq(MSR_IA32_XSS, value);
	return value;
}

int spumone_arch_check_visits(struct complaint *c)
{
	if (!spumone_arch_controller())
		return shimos_refuse(c, -ENODEV,
				     "the host's own CPUs cannot move in x2APIC mode yet: boot it with nox2apic");
	if (svm_has_supervisor_state())
		return shimos_refuse(c, -ENODEV,
				     "the host's own CPUs cannot move while it uses shadow stacks: boot it with nousershstk");
	return spumone_arch_check_protect(c);
}

void spumone_arch_host_registers(u32 numbers[LAYER_HOST_MSRS])
{
	if (boot_cpu_has(X86_FEATURE_RDTSCP) || boot_cpu_has(X86_FEATURE_RDPID))
		*numbers++ = MSR_TSC_AUX;
	if (boot_cpu_has(X86_FEATURE_MSR_SPEC_CTRL))
		*numbers++ = MSR_IA32_SPEC_CTRL;
}

u64 spumone_arch_host_bell(unsigned int cpu)
{
	return spumone_arch_bell(SHIMOS_BELL(per_cpu(x86_cpu_to_apicid, cpu), LAYER_HOST_VECTOR));
}

void spumone_arch_host_peers(u64 peers[LAYER_APIC_IDS / 64])
{
	unsigned int cpu, id;

	memset(peers, 0, LAYER_APIC_IDS / 8);
	for_each_online_cpu(cpu) {
		id = per_cpu(x86_cpu_to_apicid, cpu);
		if (id < LAYER_APIC_IDS)
			peers[id / 64] |= BIT_ULL(id % 64);
	}
}

void spumone_arch_protect(u64 root)
{
	spumone_arch_call(LAYER_CALL_PROTECT, root);
}

void spumone_arch_halt(void)
{
	native_safe_halt();
}

void spumone_arch_ring(unsigned int cpu)
{
	/* what it shall see is there before the interrupt */
	wmb();
	shimos_icr_send(per_cpu(x86_cpu_to_apicid, cpu),
			APIC_DM_FIXED | APIC_DEST_PHYSICAL | LAYER_BELL_VECTOR);
}

u64 spumone_arch_rt_bell(unsigned int cpu)
{
	return SHIMOS_BELL(per_cpu(x86_cpu_to_apicid, cpu), LAYER_BELL_VECTOR);
}

/* As one word of 64 bits, whose upper half the APIC's registers in memory shift by 24. */
u64 spumone_arch_bell(u64 bell)
{
	u64 cpu = SHIMOS_BELL_CPU(bell);

	if (!(bell & SHIMOS_BELL_READY))
		return 0;
	return (spumone_arch_controller() ? cpu << 24 : cpu) << 32 | APIC_INT_ASSERT |
	       SHIMOS_BELL_VECTOR(bell);
}

static const char *svm_exit_name(u64 code)
{
	switch (code) {
	case SVM_EXIT_CR ... SVM_EXIT_CR_LAST:
		return "it used a control register that is not its own";
	case SVM_EXIT_DR ... SVM_EXIT_DR_LAST:
		return "it used a debug register";
	case SVM_EXIT_HLT:
		return "it halted for ever, with interrupts off";
	case SVM_EXIT_SHUTDOWN:
		return "triple fault: it could not handle an exception";
	case SVM_EXIT_INVALID:
		return "it brought the processor into a state that cannot be";
	}
	return "it used an instruction that is not its own";
}

void spumone_arch_reason(const struct layer_rt *rt, char *to, size_t size)
{
	if (rt->why == SVM_EXIT_NESTED_FAULT)
		snprintf(to, size,
			 "it touched address 0x%llx, which is not its own or not for that; instruction at 0x%llx",
			 rt->info, rt->at);
	else
		snprintf(to, size, "%s; instruction at 0x%llx, exit 0x%llx",
			 svm_exit_name(rt->why), rt->at, rt->why);
}
