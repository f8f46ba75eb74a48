/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How devices get a domain that makes their messages: before 6.3 there is one for all that
 * have the same, since then each device has its own, of one that is its parent.
 * One file at a time includes it.
 */
#ifndef _SHIMOS_COMPAT_X86_MSI_H
#define _SHIMOS_COMPAT_X86_MSI_H

#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)

/**
 * compat_msi_get_hwirq() - which interrupt of the domain is meant
 * @info: the domain's
 * @arg: of compat_msi_set_desc()
 *
 * Context: any.
 */
static irq_hw_number_t compat_msi_get_hwirq(struct msi_domain_info *info, msi_alloc_info_t *arg)
{
	return arg->hwirq;
}

/**
 * compat_msi_set_desc() - name the interrupt of a message
 * @arg: gets its number, one that no other message has
 * @desc: the message's
 *
 * Context: any.
 */
static void compat_msi_set_desc(msi_alloc_info_t *arg, struct msi_desc *desc)
{
	struct pci_dev *pdev = msi_desc_to_pci_dev(desc);

	arg->desc = desc;
	arg->hwirq = (irq_hw_number_t)pci_domain_nr(pdev->bus) << 27 | pci_dev_id(pdev) << 11 |
		     desc->msi_index;
}

static struct msi_domain_ops compat_msi_ops = {
	.get_hwirq	= compat_msi_get_hwirq,
	.set_desc	= compat_msi_set_desc,
};

static struct irq_chip compat_msi_chip = {
	.name		= "PCI-MSI",
	.irq_ack	= irq_chip_ack_parent,
	.flags		= IRQCHIP_SKIP_SET_WAKE,
};

static struct msi_domain_info compat_msi_info = {
	.flags	= MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS | MSI_FLAG_PCI_MSIX,
	.ops	= &compat_msi_ops,
	.chip	= &compat_msi_chip,
};

/**
 * compat_create_msi_domain() - have a domain for PCI devices, see dev_set_msi_domain()
 * @fwnode: its name
 * @count: how many interrupts there are
 * @ops: their allocation
 *
 * Context: may sleep.
 * Return: it or NULL.
 */
static inline struct irq_domain *compat_create_msi_domain(struct fwnode_handle *fwnode,
							  unsigned int count,
							  const struct irq_domain_ops *ops)
{
	struct irq_domain *of_all = irq_domain_create_linear(fwnode, count, ops, NULL);
	struct irq_domain *of_pci;

	if (!of_all)
		return NULL;
	of_pci = pci_msi_create_irq_domain(fwnode, &compat_msi_info, of_all);
	if (!of_pci)
		irq_domain_remove(of_all);
	return of_pci;
}

/**
 * compat_remove_msi_domain() - undo compat_create_msi_domain()
 * @domain: nobody has it
 *
 * Context: may sleep.
 */
static inline void compat_remove_msi_domain(struct irq_domain *domain)
{
	struct irq_domain *of_all = domain->parent;

	irq_domain_remove(domain);
	irq_domain_remove(of_all);
}

#else

/**
 * compat_msi_init() - fill in what a device's own domain does
 * @dev: the device
 * @domain: of compat_create_msi_domain()
 * @parent: the same
 * @info: of the device's domain
 *
 * Context: may sleep.
 * Return: true, for it can always be made.
 */
static bool compat_msi_init(struct device *dev, struct irq_domain *domain,
			    struct irq_domain *parent, struct msi_domain_info *info)
{
	info->flags &= MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX;
	info->flags |= MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS;
	info->chip->irq_ack = irq_chip_ack_parent;
	return true;
}

static const struct msi_parent_ops compat_msi_ops = {
	.supported_flags	= MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX,
	.init_dev_msi_info	= compat_msi_init,
};

/**
 * compat_create_msi_domain() - have a domain for PCI devices, see dev_set_msi_domain()
 * @fwnode: its name
 * @count: how many interrupts there are
 * @ops: their allocation
 *
 * Context: may sleep.
 * Return: it or NULL.
 */
static inline struct irq_domain *compat_create_msi_domain(struct fwnode_handle *fwnode,
							  unsigned int count,
							  const struct irq_domain_ops *ops)
{
	struct irq_domain *domain = irq_domain_create_linear(fwnode, count, ops, NULL);

	if (!domain)
		return NULL;
	domain->flags |= IRQ_DOMAIN_FLAG_MSI_PARENT;
	domain->msi_parent_ops = &compat_msi_ops;
	return domain;
}

/**
 * compat_remove_msi_domain() - undo compat_create_msi_domain()
 * @domain: nobody has it
 *
 * Context: may sleep.
 */
static inline void compat_remove_msi_domain(struct irq_domain *domain)
{
	irq_domain_remove(domain);
}

#endif

#endif
