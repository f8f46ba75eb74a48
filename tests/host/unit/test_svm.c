// SPDX-License-Identifier: GPL-2.0
/* Where the guard and the layer are refused, and what is said then. */
#include <shimos/x86_svm.h>
#include "test.h"

static struct {
	bool svm, encrypts;
	int error;		/* of reading the register */
	u64 vm_cr;
} here;

bool boot_cpu_has(int feature)
{
	return here.svm && feature == X86_FEATURE_SVM;
}

bool cc_platform_has(int attribute)
{
	return here.encrypts && attribute == CC_ATTR_MEM_ENCRYPT;
}

int rdmsrl_safe_on_cpu(unsigned int cpu, u32 msr, u64 *value)
{
	*value = cpu == 3 && msr == MSR_VM_CR ? here.vm_cr : 0;
	return here.error;
}

static bool refused(int error, const char *word)
{
	struct complaint c = {};

	return shimos_svm_check(3, &c) == error && strstr(c.text, word);
}

void test_svm(void)
{
	here.svm = true;
	CHECK(refused(0, ""));
	here.encrypts = true;
	CHECK(refused(-ENODEV, "mem_encrypt=off"));
	here.encrypts = false;
	here.vm_cr = 1 << 4;
	CHECK(refused(-EPERM, "the firmware has locked SVM"));
	here.vm_cr = 0;
	here.error = -EIO;
	CHECK(refused(-EPERM, "the firmware has locked SVM"));
	here.svm = false;
	CHECK(refused(-ENODEV, "'SVM mode' in the firmware's settings"));
}
