// SPDX-License-Identifier: GPL-2.0
/* What the drivers of x86's IOMMUs write to the kernel's log. */
#include <linux/kernel.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "arch.h"

#define IOMMU_MARK	"DMAR: [DMA "
#define IOMMU_DEVICE	"Request device ["

bool kloader_arch_is_iommu_fault(const char *text, size_t len)
{
	return len > strlen(IOMMU_MARK) && !memcmp(text, IOMMU_MARK, strlen(IOMMU_MARK));
}

/* As dmar_fault_do_one() in drivers/iommu/intel/dmar.c writes it, in 6.1 to 7.3. */
bool kloader_arch_read_iommu_fault(const char *line, u16 *requester, u64 *addr)
{
	const char *device = strstr(line, IOMMU_DEVICE);
	unsigned int bus, slot, function;

	if (!device || sscanf(device, IOMMU_DEVICE "%x:%x.%x] fault addr %llx", &bus, &slot,
			      &function, addr) != 4)
		return false;
	*requester = PCI_DEVID(bus, PCI_DEVFN(slot, function));
	return true;
}
