// SPDX-License-Identifier: GPL-2.0
/* Why Linux was left, what is done about it, and what it finds when it runs on. */
#include "x86.h"

#define EXIT_VMMCALL_LEN	3
#define EXIT_WRMSR_LEN		2
#define EXIT_HLT_LEN		1
#define EXIT_PAUSE_LEN		2
#define EXIT_MWAIT_LEN		3

/* What becomes of Linux. */
#define EXIT_RUNS_ON	1	/* nobody else can want the core */
#define EXIT_LEAVES	2	/* the layer */

/* What the layer itself can meet. */
#define EXIT_FIRST_INTERRUPT	32

_Alignas(LAYER_PAGE) u8 layer_msr_map[SVM_MSR_MAP_SIZE];
struct layer_params layer_params;

int layer_nmi_pending;

int layer_came;

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

/* So the machine is reset, as it would be without us. */
static _Noreturn void layer_reset(void)
{
	u16 none[5] = { 0 };	/* a table of no interrupts */

	asm volatile("lidt %0; int3" : : "m"(none));
	__builtin_unreachable();
}

/* Does it change nothing but what Linux's own CPU gets when it goes on here? */
static int exit_is_only_linuxs(u64 vector)
{
	return vector != LAYER_VECTOR && vector != LAYER_BELL_VECTOR &&
	       vector != LAYER_HOST_VECTOR && layer_hosts_alone() && !layer_user_only() &&
	       !layer_tasks_any();
}

/**
 * layer_interrupt() - an interrupt or exception in the layer itself
 * @vector: which
 * @error: of an exception that has one
 * @address: of the instruction that it came at
 *
 * Called by entry.S. Interrupts come in layer_window() and layer_idle() only, and an NMI in this,
 * too; an exception is a fault of the layer's.
 *
 * Return: 1 to let no other one in, 0 to let those in that are pending.
 */
int layer_interrupt(u64 vector, u64 error, u64 address)
{
	/* set in one store: an NMI may come into this, too */
	if (vector < EXIT_FIRST_INTERRUPT || !exit_is_only_linuxs(vector))
		layer_came = 1;
	/* first what a deadline waits for, and the others come after that */
	if (vector == LAYER_VECTOR) {
		layer_apic_end();
		layer_timer_fired();
		return 1;
	}
	if (vector == X86_EXCEPTION_NMI) {
		if (layer_hosts_own_away())
			layer_host_nmi();
		else
			layer_nmi_pending = 1;
	} else if (vector < EXIT_FIRST_INTERRUPT) {
		layer_die(vector, address, error);
	} else if (vector == LAYER_BELL_VECTOR) {
		layer_apic_end();
		layer_guests_receive();
		layer_guests_ring();
	} else if (vector == LAYER_HOST_VECTOR) {
		layer_apic_end();
		layer_hosts_receive();
	} else if (layer_hosts_own_away()) {
		layer_host_interrupt(vector);
	} else {
		layer_vectors_acknowledged(vector);
		layer_hosts_own_wakes();
	}
	return 0;
}

/* Linux may change all of it but the bit that lets it run at all. */
static void exit_wrmsr(struct x86_vcpu *v)
{
	struct svm_save *save = &v->vmcb->save;
	u64 value = (v->registers.rdx << 32) | (u32)save->rax;

	if ((u32)v->registers.rcx == SVM_MSR_EFER) {
		save->efer = value | SVM_EFER_SVME;
		save->rip += EXIT_WRMSR_LEN;
	} else {
		layer_vcpu_inject(v, X86_EXCEPTION_GP, 1);
	}
}

/*
 * Without an RTOS nobody but Linux wants interrupts: they come to it as if there were no
 * layer.  It asks in a thread, so it owes no end.
 */
static void exit_own_interrupts(int own)
{
	struct svm_control *control = &layer_vmcb.control;

	layer_timer_own(own);
	if (own) {
		control->intercept_3 |= SVM_3_INTR | SVM_3_NMI;
		control->interrupt |= SVM_V_MASKING;
	} else {
		layer_vectors_settle();
		control->intercept_3 &= ~(SVM_3_INTR | SVM_3_NMI | SVM_3_IRET);
		control->interrupt &= ~SVM_V_MASKING;
	}
}

/* Elsewhere it asks for nothing but its timer, and for another core. */
static void exit_call_of_visitor(struct x86_host *x)
{
	if (x->vmcb.save.rax == LAYER_CALL_HOST_MOVE)
		layer_host_send(x, x->vcpu.registers.rdi);
}

static int exit_call_of_own(void)
{
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
	case LAYER_CALL_HOST_MOVE:
		layer_host_send(NULL, layer_linux.registers.rdi);
		break;
	case LAYER_CALL_HOST_EXPECT:
		layer_host_expect(layer_linux.registers.rdi != 0);
		break;
	}
	return 0;
}

/* Only Linux's kernel calls; to a program it is the invalid instruction that it always was. */
static int exit_call(struct x86_vcpu *v)
{
	if (v->vmcb->save.cpl) {
		layer_vcpu_inject(v, X86_EXCEPTION_UD, 0);
		return 0;
	}
	layer_counts()->calls++;
	v->vmcb->save.rip += EXIT_VMMCALL_LEN;
	if (!v->host)
		return exit_call_of_own();
	exit_call_of_visitor(v->host);
	return 0;
}

/* It waits for an interrupt, where another one could have the core. */
static void exit_halt(struct x86_vcpu *v)
{
	v->vmcb->save.rip += EXIT_HLT_LEN;
	v->vmcb->control.shadow = 0;
	layer_hosts_halts(v->host ? &v->host->h : NULL);
}

/*
 * It waits for something that we do not see, so for a moment; perhaps for who has rung here, and
 * is not heard: see layer_host_share().
 */
static void exit_pause(struct x86_vcpu *v, u64 length)
{
	v->vmcb->save.rip += length;
	v->vmcb->control.shadow = 0;
	layer_hosts_receive();
	layer_hosts_yields();
}

static void exit_nested_fault(struct x86_vcpu *v)
{
	if (v->host && layer_host_faulted(v->host))
		layer_host_step(v->host);
	else
		layer_protect_fault(v);
}

static void exit_interrupted(struct x86_vcpu *v)
{
	layer_counts()->interrupts++;
	if (!(v->vmcb->save.rflags & X86_FLAGS_IF))
		layer_counts()->masked++;
}

/*
 * Linux has shut this CPU down: nobody knows any more what it was doing.  With an RTOS
 * anywhere the machine goes on, for it has no part in that.
 */
static void exit_shutdown(struct x86_vcpu *v)
{
	if (!layer_guests_any())
		layer_reset();
	/* of what is for Linux only the highest class gets in, and is set aside */
	if (!v->host)
		layer_vcpu_priority((X86_TOP_CLASS - 1) << 4);
	layer_hosts_lost(v->host ? &v->host->h : NULL, v->vmcb->save.rip);
}

static int exit_handle(struct x86_vcpu *v, u64 code)
{
	switch (code) {
	case SVM_EXIT_NMI:
		return 0;	/* it comes into the window */
	case SVM_EXIT_VINTR:
		return 0;	/* layer_vectors_give() sees that it can take one */
	case SVM_EXIT_MSR:
		exit_wrmsr(v);
		return 0;
	case SVM_EXIT_VMMCALL:
		return exit_call(v);
	case SVM_EXIT_VMRUN:
	case SVM_EXIT_VMLOAD ... SVM_EXIT_SVM_LAST:
		layer_vcpu_inject(v, X86_EXCEPTION_UD, 0);	/* no virtual machines under the layer */
		return 0;
	case SVM_EXIT_NESTED_FAULT:
		exit_nested_fault(v);
		return 0;
	case SVM_EXIT_EXCEPTION + X86_EXCEPTION_DB:
		return 0;	/* layer_host_exit() has seen it */
	case SVM_EXIT_IRET:
		layer_vcpu_ends_nmi(v);
		layer_next_returns();
		return 0;
	case SVM_EXIT_HLT:
		exit_halt(v);
		return 0;
	case SVM_EXIT_PAUSE:
		exit_pause(v, EXIT_PAUSE_LEN);
		return 0;
	case SVM_EXIT_MWAIT:
	case SVM_EXIT_MWAIT_ARMED:
		exit_pause(v, EXIT_MWAIT_LEN);
		return 0;
	case SVM_EXIT_SHUTDOWN:
		exit_shutdown(v);
		return 0;
	default:
		layer_die(code, v->vmcb->save.rip, v->vmcb->control.exit_info_1);
	}
}

/*
 * This core's own takes its interrupts itself.  So none is let in here: it would be a virtual
 * one, and the emulator forgets a virtual one when Linux takes another by itself before it.
 */
static int exit_is_native(const struct x86_vcpu *v)
{
	return v == &layer_linux && !(layer_vmcb.control.interrupt & SVM_V_MASKING) &&
	       !layer_hosts_own_gone();
}

/* Linux was left.  Returns 0 to look whose turn it is, or EXIT_*. */
static int exit_linux(struct x86_vcpu *v)
{
	struct svm_control *control = &v->vmcb->control;

	layer_budget_linux_left();
	control->event = 0;
	control->tlb = 0;
	if (v->host)
		layer_host_exit(v->host);
	else
		layer_vectors_take_back(&layer_vmcb);
	if (control->exit_event & SVM_EVENT_VALID)
		control->event = control->exit_event;
	if (!v->host && layer_user_exit())
		return 0;
	/* a deadline waits for this one: it is not looked up among all others */
	if (control->exit_code == SVM_EXIT_INTR) {
		exit_interrupted(v);
		return 0;
	}
	if (exit_handle(v, control->exit_code))
		return EXIT_LEAVES;
	if (!exit_is_native(v))
		return 0;
	/* one whose delivery the exit came into */
	layer_vectors_give(&layer_vmcb);
	return EXIT_RUNS_ON;
}

/**
 * layer_exit() - all that happens between two runs of Linux, or of an RTOS
 *
 * Called by entry.S, with GIF clear.
 * Return: 0 to let layer_current run, 1 to leave for good.
 */
X86_KEEPS_NOTHING int layer_exit(void)
{
	struct x86_guest *x = x86_current();
	int again = 0, done;

	layer_counts()->exits++;
	layer_counts()->of_rtos += !!x;
	if (x) {
		layer_rtos_exit(x);
	} else {
		done = exit_linux(layer_current);
		if (done)
			return done == EXIT_LEAVES;
	}
	layer_window();
	do {
		layer_next();
		if (layer_current->guest)
			return 0;
		/* a deadline that has come meanwhile, and is seen, saves an exit */
	} while (layer_timer_due() && !again++);
	if (layer_current == &layer_linux)
		layer_vectors_give(&layer_vmcb);
	if (layer_nmi_pending && layer_current == &layer_linux)
		layer_next_late_nmi();
	/* the last thing, for it is charged up to here */
	layer_rt_leaves();
	return 0;
}
