// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux sees of memory: all of it, or what is left by nested page tables.  Those are
 * the module's; all instances have the same.
 */
#include "x86.h"

/**
 * layer_protect() - what Linux sees of memory, from its next instruction on
 * @root: physical address of page tables; 0: all
 *
 * Whatever the processor has remembered is forgotten.
 */
void layer_protect(u64 root)
{
	struct svm_control *control = &layer_vmcb.control;

	control->nested = root ? SVM_NESTED_PAGING : 0;
	control->nested_cr3 = root;
	control->tlb = SVM_TLB_FLUSH_ALL;
}

/**
 * layer_protect_fault() - Linux touched what it does not see
 * @v: the one that did
 *
 * The writer meets an exception that its kernel takes for a fault of the writer's; a page fault
 * would be looked up in Linux's own tables, found to be none, and tried again.
 */
void layer_protect_fault(struct x86_vcpu *v)
{
	layer_counts()->faults++;
	layer_vcpu_inject(v, X86_EXCEPTION_GP, 1);
}
