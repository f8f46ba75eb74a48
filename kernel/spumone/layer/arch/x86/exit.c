// SPDX-License-Identifier: GPL-2.0
/* Why Linux was left, what is done about it, and what it finds when it runs on. */
#include "x86.h"

#define EXIT_VMMCALL_LEN	3
#define EXIT_WRMSR_LEN		2

/* What the layer itself can meet. */
#define EXIT_NMI_VECTOR		2
#define EXIT_FIRST_INTERRUPT	32

_Alignas(LAYER_PAGE) u8 layer_msr_map[SVM_MSR_MAP_SIZE];
struct layer_params layer_params;

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
	} else if (vector == LAYER_BELL_VECTOR) {
		layer_apic_end();
		layer_guests_receive();
		layer_guests_ring();
	} else {
		layer_vectors_acknowledged(vector);
	}
}

/* Linux may change all of it but the bit that lets it run at all. */
static void exit_wrmsr(void)
{
	u64 value = (layer_linux.registers.rdx << 32) | (u32)layer_vmcb.save.rax;

	if ((u32)layer_linux.registers.rcx == SVM_MSR_EFER) {
		layer_vmcb.save.efer = value | SVM_EFER_SVME;
		layer_vmcb.save.rip += EXIT_WRMSR_LEN;
	} else {
		layer_vcpu_inject(&layer_linux, X86_EXCEPTION_GP, 1);
	}
}

/*
 * Without an RTOS nobody but Linux wants interrupts: they come to it as if there were no
 * layer.
 */
static void exit_own_interrupts(int own)
{
	struct svm_control *control = &layer_vmcb.control;

	layer_timer_own(own);
	if (own) {
		control->intercept_3 |= SVM_3_INTR | SVM_3_NMI;
		control->interrupt |= SVM_V_MASKING;
	} else {
		layer_vectors_put_back();
		control->intercept_3 &= ~(SVM_3_INTR | SVM_3_NMI);
		control->interrupt &= ~SVM_V_MASKING;
	}
}

/* Only Linux's kernel calls; to a program it is the invalid instruction that it always was. */
static int exit_call(void)
{
	if (layer_vmcb.save.cpl) {
		layer_vcpu_inject(&layer_linux, X86_EXCEPTION_UD, 0);
		return 0;
	}
	layer_counts()->calls++;
	layer_vmcb.save.rip += EXIT_VMMCALL_LEN;
	switch (layer_vmcb.save.rax) {
	case LAYER_CALL_LEAVE:
		exit_own_interrupts(0);
		return 1;
	case LAYER_CALL_TIMER_ON:
		exit_own_interrupts(1);
		break;
	case LAYER_CALL_TIMER_OFF:
		exit_own_interrupts(0);
		break;
	case LAYER_CALL_PROTECT:
		layer_protect(layer_linux.registers.rdi);
		break;
	case LAYER_CALL_RT_START:
		layer_guests_begin(layer_linux.registers.rdi);
		break;
	case LAYER_CALL_RT_STOP:
		layer_guests_end(layer_linux.registers.rdi);
		break;
	case LAYER_CALL_RT_CHARGE:
		layer_guests_charge(layer_linux.registers.rdi);
		break;
	case LAYER_CALL_RT_SEND:
		layer_guests_send(layer_linux.registers.rdi);
		break;
	case LAYER_CALL_RT_RECEIVE:
		layer_guests_receive();
		break;
	case LAYER_CALL_RT_PRIORITY:
		layer_guests_priority(layer_linux.registers.rdi);
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
	case SVM_EXIT_VINTR:
		return 0;	/* layer_vectors_give() sees that it can take one */
	case SVM_EXIT_MSR:
		exit_wrmsr();
		return 0;
	case SVM_EXIT_VMMCALL:
		return exit_call();
	case SVM_EXIT_VMRUN:
	case SVM_EXIT_VMLOAD ... SVM_EXIT_SVM_LAST:
		layer_vcpu_inject(&layer_linux, X86_EXCEPTION_UD, 0);	/* no virtual machines under the layer */
		return 0;
	case SVM_EXIT_NESTED_FAULT:
		layer_protect_fault();
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

/* Linux was left. */
static int exit_linux(void)
{
	struct svm_control *control = &layer_vmcb.control;

	layer_budget_linux_left();
	control->event = 0;
	control->tlb = 0;
	layer_vectors_take_back(&layer_vmcb);
	if (control->exit_event & SVM_EVENT_VALID)
		control->event = control->exit_event;
	return exit_handle(control->exit_code);
}

/*
 * The timer's interrupt waits in the APIC, though what it is for is done: it would end the
 * RTOS's turn as soon as that begins.
 */
static void exit_take_timer(void)
{
	layer_window();
	layer_vectors_gather();
	/* the RTOS has the core: whatever came is set aside */
	layer_vectors_clear_way();
}

static void exit_to_rtos(struct layer_guest *g)
{
	struct x86_guest *x = x86_guest(g);

	if (layer_current == &layer_linux)
		layer_rt_enters(g, !(layer_vmcb.save.rflags & X86_FLAGS_IF));
	else if (layer_current != &x->vcpu)
		layer_rt_enters(g, 0);
	layer_vcpu_switch(&x->vcpu);
	if (layer_timer_due())
		exit_take_timer();
	layer_timer_look(g);
	/* the last thing, for how late it is counts up to here */
	layer_rtos_give(x);
}

static void exit_to_linux(void)
{
	layer_vcpu_switch(&layer_linux);
	exit_give_nmi();
	layer_timer_look(NULL);
}

/* An RTOS, unless what Linux is about to end would keep its interrupts away. */
static void exit_to_whom(struct layer_guest *g)
{
	if (layer_vectors_clear_way()) {
		exit_to_rtos(g);
	} else {
		g->shared->rt.waited++;
		exit_to_linux();
	}
}

/* Whose turn it is. */
static void exit_next(void)
{
	struct layer_guest *g;

	layer_guests_look();
	g = layer_guests_first();
	if (g) {
		exit_to_whom(g);
		return;
	}
	exit_to_linux();
	/* a deadline may have come meanwhile: that saves an exit */
	layer_guests_look();
	g = layer_guests_first();
	if (g)
		exit_to_whom(g);
}

/**
 * layer_exit() - all that happens between two runs of Linux, or of an RTOS
 *
 * Called by entry.S, with GIF clear.
 * Return: 0 to let layer_current run, 1 to leave for good.
 */
int layer_exit(void)
{
	struct x86_guest *x = x86_current();

	layer_counts()->exits++;
	layer_counts()->of_rtos += !!x;
	if (x)
		layer_rtos_exit(x);
	else if (exit_linux())
		return 1;
	layer_vectors_gather();
	exit_next();
	if (layer_current == &layer_linux) {
		/* not before it is certain that Linux runs: what is given is taken back at its exit only */
		layer_vectors_give(&layer_vmcb);
		/* the last thing, for it is charged up to here */
		layer_rt_leaves();
	}
	return 0;
}
