// SPDX-License-Identifier: GPL-2.0
/* What the drivers of x86's IOMMUs write to the kernel's log. */
#include <linux/kernel.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "arch.h"

#define IOMMU_MARK	"DMAR: [DMA "
#define IOMMU_DEVICE	"Request device ["

/* What is longer is cut off; all that matters is in it. */
#define IOMMU_LINE	160

/* As dmar_fault_do_one() in drivers/iommu/intel/dmar.c writes it, in 6.1 to 7.3. */
bool kloader_arch_read_iommu_fault(const char *text, size_t len, u16 *requester, u64 *addr)
{
	unsigned int bus, slot, function;
	char line[IOMMU_LINE];
	const char *device;

	/* most of what is written is something else */
	if (len < strlen(IOMMU_MARK) || memcmp(text, IOMMU_MARK, strlen(IOMMU_MARK)))
		return false;
	strscpy(line, text, min(len + 1, sizeof(line)));
	device = strstr(line, IOMMU_DEVICE);
	if (!device || sscanf(device, IOMMU_DEVICE "%x:%x.%x] fault addr %llx", &bus, &slot,
			      &function, addr) != 4)
		return false;
	*requester = PCI_DEVID(bus, PCI_DEVFN(slot, function));
	return true;
}
