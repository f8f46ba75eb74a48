// SPDX-License-Identifier: GPL-2.0
/*
 * Which PCIe devices can be given to a partition.  Its kernel finds them on a
 * root bus of its own and sees every function of that bus; nothing routes their
 * legacy interrupts to it, and it knows of no IOMMU.
 */

#include "arch.h"
#include "passthrough.h"

static int passthrough_check_kind(struct pci_dev *pdev, struct complaint *c)
{
	if (pdev->hdr_type != PCI_HEADER_TYPE_NORMAL)
		return shimos_refuse(c, -EINVAL, "%s is a bridge: give the devices behind it",
				     pci_name(pdev));
	if (pdev->is_virtfn || pci_num_vf(pdev))
		return shimos_refuse(c, -EOPNOTSUPP,
				     "%s has or is a virtual function (SR-IOV), which cannot be given by itself",
				     pci_name(pdev));
	if (!pci_is_pcie(pdev))
		return shimos_refuse(c, -EOPNOTSUPP, "%s is no PCI Express device", pci_name(pdev));
	return 0;
}

/* A bus below a port carries the functions of one device and nothing else. */
static int passthrough_check_place(struct pci_dev *pdev, struct complaint *c)
{
	struct pci_dev *port = pci_is_root_bus(pdev->bus) ? NULL : pdev->bus->self;

	if (!port)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "%s is on the root bus, together with devices that the host needs: only a device behind a PCIe port can be given",
				     pci_name(pdev));
	if (pci_pcie_type(port) != PCI_EXP_TYPE_ROOT_PORT &&
	    pci_pcie_type(port) != PCI_EXP_TYPE_DOWNSTREAM)
		return shimos_refuse(c, -EOPNOTSUPP, "%s is behind %s, which is no PCIe port",
				     pci_name(pdev), pci_name(port));
	return 0;
}

static int passthrough_check_bars(struct pci_dev *pdev, struct complaint *c)
{
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		struct resource *bar = &pdev->resource[i];

		if (bar->flags & IORESOURCE_MEM && bar->flags & IORESOURCE_UNSET)
			return shimos_refuse(c, -ENXIO,
					     "the firmware and the host gave BAR %d of %s no address",
					     i, pci_name(pdev));
	}
	return 0;
}

/**
 * passthrough_check_device() - can this device be given to a partition?
 * @pdev: which
 * @unsafe: whatever it may reach
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int passthrough_check_device(struct pci_dev *pdev, bool unsafe, struct complaint *c)
{
	int ret;

	ret = passthrough_check_kind(pdev, c) ?: passthrough_check_place(pdev, c);
	if (ret)
		return ret;
	if (!pdev->msi_cap && !pdev->msix_cap)
		return shimos_refuse(c, -EOPNOTSUPP,
				     "%s has neither MSI nor MSI-X, and its interrupt line cannot reach a partition",
				     pci_name(pdev));
	ret = passthrough_check_bars(pdev, c) ?: confine_check(pdev, unsafe, c);
	if (ret)
		return ret;
	return kloader_arch_check_pci(pdev, c);
}

/* What a walk over a bus looks for. */
struct stranger {
	struct partition *p;
	struct pci_dev *found;
};

static int passthrough_find_stranger(struct pci_dev *pdev, void *data)
{
	struct stranger *stranger = data;
	struct passthrough *d;

	list_for_each_entry(d, &stranger->p->passthrough, link)
		if (d->pdev == pdev)
			return 0;
	stranger->found = pdev;
	return 1;
}

/**
 * passthrough_check_buses() - does the partition have all that it would see?
 * @p: whose devices
 * @c: what it has not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or -EBUSY.
 */
int passthrough_check_buses(struct partition *p, struct complaint *c)
{
	struct stranger stranger = { .p = p };
	struct passthrough *d;

	list_for_each_entry(d, &p->passthrough, link) {
		pci_walk_bus(d->pdev->bus, passthrough_find_stranger, &stranger);
		if (stranger.found)
			return shimos_refuse(c, -EBUSY,
					     "'%s' has %s and would see %s on the same bus: give it both",
					     p->name, pci_name(d->pdev),
					     pci_name(stranger.found));
	}
	return 0;
}
