// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU's part in giving devices: a partition's kernel hands its device physical addresses,
 * and those of its memory are the only ones that lead anywhere.  An access to any other is
 * refused by the IOMMU, and stops the device.
 */
#include <linux/iommu.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <shimos/compat.h>
#include <shimos/ikc_host.h>

#include "arch.h"
#include "passthrough.h"

/*
 * Memory is entered in pieces of what it comes and goes in, for a larger page of the IOMMU's
 * would go as a whole.
 */
#define CONFINE_PIECE	SZ_128M

/* The owner of groups, as the IOMMU's core knows owners: any address of ours. */
static char confine_owner;

static int confine_refuse_translated(struct pci_dev *pdev, struct complaint *c)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);

	if (!domain || domain->type == IOMMU_DOMAIN_IDENTITY)
		return 0;
	return shimos_refuse(c, -EOPNOTSUPP,
			     "an IOMMU translates the addresses of %s, and a partition uses physical ones: give it without 'unsafe', or %s",
			     pci_name(pdev), kloader_arch_iommu_advice);
}

/**
 * confine_check() - can it be confined, or need it not be?
 * @pdev: which
 * @unsafe: its user wants it without
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP.
 */
int confine_check(struct pci_dev *pdev, bool unsafe, struct complaint *c)
{
	if (unsafe)
		return confine_refuse_translated(pdev, c);
	if (device_iommu_mapped(&pdev->dev))
		return 0;
	return shimos_refuse(c, -EOPNOTSUPP,
			     "no IOMMU keeps %s from the memory of others: %s; or give it all the same, as %s,unsafe",
			     pci_name(pdev), kloader_arch_iommu_on, pci_name(pdev));
}

/* ---- its partition's memory ---- */

static void confine_unmap(struct confinement *confinement, const struct shimos_range *range)
{
	u64 at, size, end = range->start + range->size;

	for (at = range->start; at < end; at += size) {
		size = min_t(u64, CONFINE_PIECE, end - at);
		iommu_unmap(confinement->domain, at, size);
	}
}

static int confine_map(struct confinement *confinement, const struct shimos_range *range)
{
	struct shimos_range mapped = { .start = range->start };
	u64 at, size;
	int ret;

	for (; mapped.size < range->size; mapped.size += size) {
		at = range->start + mapped.size;
		size = min_t(u64, CONFINE_PIECE, range->size - mapped.size);
		ret = compat_iommu_map(confinement->domain, at, at, size,
				       IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE);
		if (ret) {
			confine_unmap(confinement, &mapped);
			return ret;
		}
	}
	return 0;
}

static void confine_unmap_ranges(struct confinement *confinement,
				 const struct shimos_range *range, u32 count)
{
	for (; count--; range++)
		confine_unmap(confinement, range);
	confinement->mapped = false;
}

static int confine_map_ranges(struct confinement *confinement, const struct shimos_range *range,
			      u32 count)
{
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = confine_map(confinement, &range[i]);
		if (ret) {
			confine_unmap_ranges(confinement, range, i);
			return ret;
		}
	}
	confinement->mapped = true;
	return 0;
}

/**
 * confine_remove() - its devices shall not reach this any more
 * @p: whose
 * @range: a range of its, or an end of one
 *
 * Context: may sleep; p->mutex is held.
 */
void confine_remove(struct partition *p, const struct shimos_range *range)
{
	struct confinement *confinement;

	lockdep_assert_held(&p->mutex);
	list_for_each_entry(confinement, &p->confinements, link)
		if (confinement->mapped)
			confine_unmap(confinement, range);
}

/**
 * confine_add() - its devices may reach this, too
 * @p: whose
 * @range: more memory
 * @c: why not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error: then none of them can.
 */
int confine_add(struct partition *p, const struct shimos_range *range, struct complaint *c)
{
	struct confinement *confinement;
	int ret;

	lockdep_assert_held(&p->mutex);
	list_for_each_entry(confinement, &p->confinements, link) {
		ret = confinement->mapped ? confine_map(confinement, range) : 0;
		if (!ret)
			continue;
		list_for_each_entry_continue_reverse(confinement, &p->confinements, link)
			if (confinement->mapped)
				confine_unmap(confinement, range);
		return shimos_refuse(c, ret, "the IOMMU does not take more memory for the devices of '%s' (error %d): see dmesg",
				     p->name, ret);
	}
	return 0;
}

/* ---- a device that goes astray ---- */

static void confine_stop(struct work_struct *work)
{
	struct stray *stray = container_of(work, struct stray, stop);
	struct passthrough *d = container_of(stray, struct passthrough, stray);
	struct partition *p = d->p;
	bool stopped = false;

	mutex_lock(&p->mutex);
	if (d->confinement->mapped) {
		if (!READ_ONCE(d->lost))
			pci_clear_master(d->pdev);
		confine_unmap_ranges(d->confinement, p->ranges, p->range_count);
		stopped = true;
	}
	mutex_unlock(&p->mutex);
	if (stopped)
		pci_warn(d->pdev, "is stopped until '%s' starts again: it wanted to reach %#llx, which is not its own\n",
			 p->name, READ_ONCE(stray->addr));
}

/* Of IOMMUs whose drivers tell; see stray.c for the others. */
static int confine_fault(struct iommu_domain *domain, struct device *dev, unsigned long addr,
			 int flags, void *unused)
{
	stray_seen(pci_dev_id(to_pci_dev(dev)), addr);
	return -EFAULT;	/* the driver shall write it to the log all the same */
}

/* ---- as long as it is given ---- */

static int confine_attach(struct confinement *confinement, struct pci_dev *pdev,
			  struct complaint *c)
{
	int ret;

	confinement->domain = compat_iommu_domain_alloc(&pdev->dev);
	if (IS_ERR_OR_NULL(confinement->domain)) {
		ret = confinement->domain ? PTR_ERR(confinement->domain) : -ENOMEM;
	} else {
		iommu_set_fault_handler(confinement->domain, confine_fault, NULL);
		ret = iommu_attach_group(confinement->domain, confinement->group);
		if (!ret)
			return 0;
		iommu_domain_free(confinement->domain);
	}
	return shimos_refuse(c, ret, "the IOMMU cannot confine %s (error %d): see dmesg; or give it all the same, as %s,unsafe",
			     pci_name(pdev), ret, pci_name(pdev));
}

static int confine_claim(struct confinement *confinement, struct pci_dev *pdev,
			 struct complaint *c)
{
	int ret = iommu_group_claim_dma_owner(confinement->group, &confine_owner);

	if (ret)
		return shimos_refuse(c, ret, "the IOMMU cannot tell %s from other devices, which the host uses: see /sys/bus/pci/devices/%s/iommu_group/devices",
				     pci_name(pdev), pci_name(pdev));
	ret = confine_attach(confinement, pdev, c);
	if (ret)
		iommu_group_release_dma_owner(confinement->group);
	return ret;
}

/* Of this group of devices; there may be one already. */
static struct confinement *confine_get(struct partition *p, struct iommu_group *group,
				       struct pci_dev *pdev, struct complaint *c)
{
	struct confinement *confinement;
	int ret;

	list_for_each_entry(confinement, &p->confinements, link)
		if (confinement->group == group)
			return confinement;
	confinement = kzalloc(sizeof(*confinement), GFP_KERNEL);
	if (!confinement)
		return ERR_PTR(-ENOMEM);
	confinement->group = iommu_group_ref_get(group);
	ret = confine_claim(confinement, pdev, c);
	if (ret) {
		iommu_group_put(confinement->group);
		kfree(confinement);
		return ERR_PTR(ret);
	}
	list_add_tail(&confinement->link, &p->confinements);
	return confinement;
}

/* From now on it reaches what is in there. */
static int confine_begin(struct passthrough *d, struct complaint *c)
{
	struct confinement *confinement;
	struct iommu_group *group = iommu_group_get(&d->pdev->dev);

	if (!group)
		return shimos_refuse(c, -ENODEV, "%s has just been unplugged", pci_name(d->pdev));
	confinement = confine_get(d->p, group, d->pdev, c);
	iommu_group_put(group);
	if (IS_ERR(confinement))
		return PTR_ERR(confinement);
	confinement->users++;
	d->confinement = confinement;
	d->stray.requester = pci_dev_id(d->pdev);
	INIT_WORK(&d->stray.stop, confine_stop);
	stray_watch(&d->stray);
	ikc_host_confine(d->p->ikc_kernel);
	return 0;
}

/**
 * confine_prepare() - it is about to start: its devices reach its memory and no other
 * @p: has all of its devices; one that was stopped can go on
 * @c: why not
 *
 * Not when they are given, for some may be one to the IOMMU: none of these is the host's by now.
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0 or an error: then they reach nothing.
 */
int confine_prepare(struct partition *p, struct complaint *c)
{
	struct confinement *confinement;
	struct passthrough *d;
	int ret;

	lockdep_assert_held(&p->mutex);
	list_for_each_entry(d, &p->passthrough, link) {
		ret = d->unsafe || d->confinement ? 0 : confine_begin(d, c);
		if (ret)
			return ret;
	}
	list_for_each_entry(confinement, &p->confinements, link) {
		if (confinement->mapped)
			continue;
		ret = confine_map_ranges(confinement, p->ranges, p->range_count);
		if (ret)
			return shimos_refuse(c, ret, "the IOMMU does not take the memory of '%s' (error %d): see dmesg",
					     p->name, ret);
	}
	return 0;
}

/**
 * confine_end() - the device reaches what the host's drivers let it
 * @d: stands still, and its partition is gone for everybody else
 *
 * Context: may sleep.
 */
void confine_end(struct passthrough *d)
{
	struct confinement *confinement = d->confinement;

	if (!confinement)
		return;
	stray_forget(&d->stray);
	cancel_work_sync(&d->stray.stop);
	d->confinement = NULL;
	if (--confinement->users)
		return;
	list_del(&confinement->link);
	iommu_detach_group(confinement->domain, confinement->group);
	iommu_domain_free(confinement->domain);
	iommu_group_release_dma_owner(confinement->group);
	iommu_group_put(confinement->group);
	kfree(confinement);
}
