// SPDX-License-Identifier: GPL-2.0
/* Why Linux was left, what is done about it, and what it finds when it runs on. */
#include "x86.h"

#define EXIT_UD		6	/* invalid opcode */
#define EXIT_GP		13	/* general protection, with an error code */

#define EXIT_VMMCALL_LEN	3
#define EXIT_WRMSR_LEN		2

/* What the layer itself can meet. */
#define EXIT_NMI_VECTOR		2
#define EXIT_FIRST_INTERRUPT	32

_Alignas(LAYER_PAGE) struct svm_vmcb layer_vmcb;
_Alignas(LAYER_PAGE) u8 layer_msr_map[SVM_MSR_MAP_SIZE];
struct layer_params layer_params;
struct x86_registers layer_registers;

static int layer_nmi_pending;	/* came while the layer ran; Linux's */

/* There is nobody to tell: stand still, and leave a note. */
static _Noreturn void layer_die(u64 why, u64 at, u64 info)
{
	struct layer_shared *shared = layer_shared();

	LAYER_WRITE(shared->died_at, at);
	LAYER_WRITE(shared->died_info, info);
	LAYER_WRITE(shared->died, why + 1);
	for (;;)
		asm volatile("cli; hlt");
}

/* Linux has shut this core down: so does the machine, as it would without us. */
static _Noreturn void layer_reset(void)
{
	u16 none[5] = { 0 };	/* a table of no interrupts */

	asm volatile("lidt %0; int3" : : "m"(none));
	__builtin_unreachable();
}

/**
 * layer_interrupt() - an interrupt or exception in the layer itself
 *
 * Called by entry.S. Interrupts come in layer_window() only; an exception is a fault of
 * the layer's.
 */
void layer_interrupt(u64 vector, u64 error, u64 address)
{
	if (vector == EXIT_NMI_VECTOR) {
		layer_nmi_pending = 1;
	} else if (vector < EXIT_FIRST_INTERRUPT) {
		layer_die(vector, address, error);
	} else if (vector == LAYER_VECTOR) {
		layer_apic_end();
		layer_timer_fired();
	} else {
		layer_vectors_acknowledged(vector);
	}
}

static void exit_inject(u32 vector, int has_error)
{
	layer_vmcb.control.event = SVM_EVENT_VALID | SVM_EVENT_EXCEPTION | vector |
				   (has_error ? SVM_EVENT_HAS_ERROR : 0);
}

/* Linux may change all of it but the bit that lets it run at all. */
static void exit_wrmsr(void)
{
	u64 value = (layer_registers.rdx << 32) | (u32)layer_vmcb.save.rax;

	if ((u32)layer_registers.rcx == SVM_MSR_EFER) {
		layer_vmcb.save.efer = value | SVM_EFER_SVME;
		layer_vmcb.save.rip += EXIT_WRMSR_LEN;
	} else {
		exit_inject(EXIT_GP, 1);
	}
}

/* Only Linux's kernel calls; to a program it is the invalid instruction that it always was. */
static int exit_call(void)
{
	if (layer_vmcb.save.cpl) {
		exit_inject(EXIT_UD, 0);
		return 0;
	}
	layer_counts()->calls++;
	layer_vmcb.save.rip += EXIT_VMMCALL_LEN;
	switch (layer_vmcb.save.rax) {
	case LAYER_CALL_LEAVE:
		layer_timer_own(0);
		layer_vectors_put_back();
		return 1;
	case LAYER_CALL_TIMER_ON:
		layer_timer_own(1);
		break;
	case LAYER_CALL_TIMER_OFF:
		layer_timer_own(0);
		break;
	}
	return 0;
}

static int exit_handle(u64 code)
{
	switch (code) {
	case SVM_EXIT_INTR:
		layer_counts()->interrupts++;
		if (!(layer_vmcb.save.rflags & X86_FLAGS_IF))
			layer_counts()->masked++;
		layer_window();
		return 0;
	case SVM_EXIT_NMI:
		layer_window();
		return 0;
	case SVM_EXIT_MSR:
		exit_wrmsr();
		return 0;
	case SVM_EXIT_VMMCALL:
		return exit_call();
	case SVM_EXIT_VMRUN:
	case SVM_EXIT_VMLOAD ... SVM_EXIT_SVM_LAST:
		exit_inject(EXIT_UD, 0);	/* no virtual machines under the layer */
		return 0;
	case SVM_EXIT_SHUTDOWN:
		layer_reset();
	default:
		layer_die(code, layer_vmcb.save.rip, layer_vmcb.control.exit_info_1);
	}
}

/* An NMI that came meanwhile; if something else is on its way, as soon as that is there. */
static void exit_give_nmi(void)
{
	if (!layer_nmi_pending)
		return;
	layer_nmi_pending = 0;
	layer_counts()->nmis++;
	if (layer_vmcb.control.event & SVM_EVENT_VALID)
		layer_apic_nmi();
	else
		layer_vmcb.control.event = SVM_EVENT_VALID | SVM_EVENT_NMI | EXIT_NMI_VECTOR;
}

/**
 * layer_exit() - all that happens between two runs of Linux
 *
 * Called by entry.S, with GIF clear.
 * Return: 0 to let Linux run on, 1 to leave for good.
 */
int layer_exit(void)
{
	struct svm_control *control = &layer_vmcb.control;

	layer_counts()->exits++;
	control->event = 0;
	control->tlb = 0;
	layer_vectors_take_back(&layer_vmcb);
	if (control->exit_event & SVM_EVENT_VALID)
		control->event = control->exit_event;
	if (exit_handle(control->exit_code))
		return 1;
	exit_give_nmi();
	layer_timer_look();
	layer_vectors_give(&layer_vmcb);
	return 0;
}
