// SPDX-License-Identifier: GPL-2.0
/*
 * The layer in one piece for the compiler: a deadline waits for each instruction here, and
 * every sixth was the calls' between files.
 */
#include "budget.c"
#include "late.c"
#include "rt.c"
#include "guests.c"
#include "hosts.c"
#include "tasks.c"
#include "timer.c"
#include "arch/x86/apic.c"
#include "arch/x86/fpu.c"
#include "arch/x86/state.c"
#include "arch/x86/vcpu.c"
#include "arch/x86/vectors.c"
#include "arch/x86/rtos.c"
#include "arch/x86/protect.c"
#include "arch/x86/lapic.c"
#include "arch/x86/host.c"
#include "arch/x86/user.c"
#include "arch/x86/next.c"
#include "arch/x86/exit.c"
#include "arch/x86/start.c"
